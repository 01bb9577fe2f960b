/*
 * host.cpp - a libtorch program that finds a device by its entry point, without Python.
 *
 * usage: host SITE_DIRECTORY
 */
#include <fstream>
#include <iostream>
#include <string>

#include <ATen/ops/ones.h>
#include <ATen/ops/sum.h>

#include "libquery/entrydb.h"

namespace
{

/* Call the plugin with that group and name in that directory. */
bool register_device(const char *site, const char *group, const char *name)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb *db = nullptr;
	entrydb_set *found = nullptr;
	void (*plugin)() = nullptr;

	if (entrydb_open(&site, 1, nullptr, &db, &error) == 0 &&
	    entrydb_select(db, group, name, &found, &error) == 0 && entrydb_set_count(found) > 0 &&
	    entrydb_load(db, entrydb_set_get(found, 0), reinterpret_cast<void **>(&plugin),
	                 &error) == 0)
		plugin();
	else
		std::cerr << entrydb_error_message(&error) << '\n';
	entrydb_error_clear(&error);
	entrydb_set_free(found);
	entrydb_close(db);
	return plugin != nullptr;
}

bool is_mapped(const std::string &library)
{
	std::ifstream maps("/proc/self/maps");

	for (std::string line; std::getline(maps, line);)
		if (line.find(library) != std::string::npos)
			return true;
	return false;
}

} // namespace

int main(int count, char **arguments)
{
	if (count != 2 || !register_device(arguments[1], "torch.backends.native", "openreg"))
		return 1;

	at::Tensor tensor = at::ones({3}, at::Device("openreg"));

	std::cout << tensor.device() << ' ' << tensor.sum().item<float>() << '\n';
	std::cout << (is_mapped("libpython") ? "with Python\n" : "without Python\n");
	return 0;
}
