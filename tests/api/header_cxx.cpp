/*
 * header_cxx.cpp - the public header compiles alone as C++11 and C++17; its functions have C
 * linkage, and its initialisers are valid C++.
 */
#include <entrydb.h>

#include <memory>

namespace
{

struct Close {
	void operator()(entrydb *db) const
	{
		entrydb_close(db);
	}
	void operator()(entrydb_set *set) const
	{
		entrydb_set_free(set);
	}
};

} // namespace

int main()
{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb *db = nullptr;
	entrydb_set *set = nullptr;

	options.fresh = ENTRYDB_FRESH_EXACT;
	if (entrydb_open(nullptr, 0, &options, &db, &error) != ENTRYDB_OK)
		return 1;
	std::unique_ptr<entrydb, Close> handle(db);
	if (entrydb_select(handle.get(), "console_scripts", nullptr, &set, &error) != ENTRYDB_OK)
		return 1;
	std::unique_ptr<entrydb_set, Close> answer(set);
	for (std::size_t i = 0; i < entrydb_set_count(answer.get()); i++)
		if (!entrydb_entry_point_name(entrydb_set_get(answer.get(), i)))
			return 1;
	entrydb_error_clear(&error);
	return 0;
}
