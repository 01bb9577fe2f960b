/*
 * pyproject.cpp - parses pyproject.toml; the only C++ file, and the only one that uses the TOML
 * parser: without one it returns PYPROJECT_NONE.
 */
#include "indexer/archive/pyproject.h"

#include <cstdio>

#ifdef HAVE_TOMLPLUSPLUS

#include <algorithm>
#include <map>
#include <new>
#include <stdexcept>
#include <string>

/*
 * Use the parser's headers, not its library: hostile text leads version 3.3 into branches that it
 * asserts, or tells the compiler, to be unreachable. Without these claims it continues and finds
 * the error itself.
 */
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#if __has_include(<toml++/impl/unicode.h>)
#include <toml++/impl/forward_declarations.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE                                                                           \
	return                                                                                     \
	{                                                                                          \
	}
#include <toml++/impl/unicode.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE __builtin_unreachable()
#endif
#include <toml++/toml.h>

namespace
{

/*
 * The parser's stack is as deep as a dotted key is long, and it searches a list of all tables: limit
 * the characters that make them.
 */
constexpr std::ptrdiff_t marks_max = 50000;

/* A violation of the specification of pyproject.toml, or of this limit. */
struct bad_project : std::runtime_error {
	using std::runtime_error::runtime_error;
};

pyproject_text text_of(std::string_view text)
{
	return {text.data(), text.size()};
}

/* The table at @key, or NULL; throws if it is anything else. */
const toml::table *table_at(const toml::table &parent, std::string_view key,
                            const std::string &path)
{
	const toml::node *node = parent.get(key);

	if (node && !node->is_table())
		throw bad_project(path + " is not a table");
	return node ? node->as_table() : nullptr;
}

struct reader {
	const pyproject_sink *sink;

	void read(const toml::table &document) const
	{
		const toml::table *build = table_at(document, "build-system", "build-system");
		const toml::table *project = table_at(document, "project", "project");

		if (build)
			read_string(*build, "build-backend", PYPROJECT_BACKEND);
		if (project)
			read_project(*project);
		/* Poetry adds these to [project], without "dynamic". */
		if (document["tool"]["poetry"]["scripts"] || document["tool"]["poetry"]["plugins"])
			tell(PYPROJECT_DYNAMIC, "");
	}

	void tell(pyproject_fact fact, std::string_view text) const
	{
		if (sink->fact(sink->payload, fact, text_of(text)) != 0)
			throw std::bad_alloc(); /* the sink is out of memory */
	}

	void read_string(const toml::table &table, std::string_view key, pyproject_fact fact) const
	{
		const toml::node *node = table.get(key);

		if (node && node->is_string())
			tell(fact, node->as_string()->get());
	}

	void read_project(const toml::table &project) const
	{
		tell(PYPROJECT_PROJECT, "");
		read_string(project, "name", PYPROJECT_NAME);
		read_string(project, "version", PYPROJECT_VERSION);
		read_dynamic(project);
		read_groups(project);
	}

	void read_dynamic(const toml::table &project) const
	{
		const toml::node *node = project.get("dynamic");

		if (!node)
			return;
		if (!node->is_array())
			throw bad_project("project.dynamic is not an array");
		for (const toml::node &item : *node->as_array()) {
			std::string_view name = item.value_or(std::string_view());

			if (!item.is_string())
				throw bad_project(
				        "project.dynamic contains something other than strings");
			if (name == "entry-points" || name == "scripts" || name == "gui-scripts")
				tell(PYPROJECT_DYNAMIC, "");
		}
	}

	/* Sorted by name, as in a build. */
	void read_groups(const toml::table &project) const
	{
		const toml::table *others =
		        table_at(project, "entry-points", "project.entry-points");
		std::map<std::string, const toml::table *> groups = {
		        {"console_scripts", table_at(project, "scripts", "project.scripts")},
		        {"gui_scripts", table_at(project, "gui-scripts", "project.gui-scripts")},
		};

		if (others)
			for (auto &&[key, node] : *others) {
				std::string group(key.str()),
				        path = "project.entry-points." + group;

				if (groups.count(group))
					throw bad_project(path + " is not allowed: use " +
					                  path_of(group));
				groups[group] = table_at(*others, group, path);
			}
		for (auto &&[group, table] : groups)
			if (table)
				read_group(*table, group);
	}

	static std::string path_of(const std::string &group)
	{
		return group == "console_scripts" ? "project.scripts"
		       : group == "gui_scripts"   ? "project.gui-scripts"
		                                  : "project.entry-points." + group;
	}

	void read_group(const toml::table &table, const std::string &group) const
	{
		for (auto &&[key, node] : table) {
			if (!node.is_string())
				throw bad_project(path_of(group) + "." + std::string(key.str()) +
				                  " is not a string");
			if (sink->entry_point(sink->payload, text_of(group), text_of(key.str()),
			                      text_of(node.as_string()->get())) != 0)
				throw std::bad_alloc(); /* the sink is out of memory */
		}
	}
};

} // namespace

pyproject_status pyproject_read(const char *text, size_t length, const pyproject_sink *sink,
                                char problem[PYPROJECT_PROBLEM_SIZE])
try {
	if (std::count_if(text, text + length, [](char c) { return c == '.' || c == '['; }) >
	    marks_max)
		throw bad_project("more than 50,000 dots and brackets");
	reader{sink}.read(toml::parse(std::string_view(text, length)));
	return PYPROJECT_OK;
} catch (const toml::parse_error &error) {
	std::snprintf(problem, PYPROJECT_PROBLEM_SIZE, "line %u: %.*s",
	              static_cast<unsigned>(error.source().begin.line),
	              static_cast<int>(error.description().size()), error.description().data());
	return PYPROJECT_BAD;
} catch (const std::bad_alloc &) {
	std::snprintf(problem, PYPROJECT_PROBLEM_SIZE, "out of memory");
	return PYPROJECT_NOMEM;
} catch (const std::exception &error) {
	std::snprintf(problem, PYPROJECT_PROBLEM_SIZE, "%s", error.what());
	return PYPROJECT_BAD;
}

#else

pyproject_status pyproject_read(const char *, size_t, const pyproject_sink *,
                                char problem[PYPROJECT_PROBLEM_SIZE])
{
	std::snprintf(problem, PYPROJECT_PROBLEM_SIZE,
	              "this entrydb was built without a TOML parser and cannot read it");
	return PYPROJECT_NONE;
}

#endif
