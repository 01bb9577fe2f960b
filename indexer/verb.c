/*
 * Opens the library as the options of a verb ask for it.
 */
#include "indexer/verb.h"

#include "db/base/cleanup.h"

void report_problems(const entrydb_set *set)
{
	for (size_t i = 0; i < entrydb_set_problem_count(set); i++)
		message("%s", entrydb_set_problem(set, i));
}

int default_sites(const struct options *options, struct sites *out, struct error *error)
{
	const char *version =
	        options->python && options->rules != ENTRYDB_IM_10_1 ? options->python : NULL;

	return sites_default(out, version, options->sysroot, error);
}

int open_handle(const struct options *options, entrydb **out, struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	entrydb_options how = ENTRYDB_OPTIONS_INIT;
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code;

	how.rules = options->rules;
	how.fresh = options->fresh;
	how.database = options->database;
	how.sysroot = options->sysroot;
	how.program = options->program;
	if (options->path_count > 0) {
		code = entrydb_open(options->path, options->path_count, &how, out, &own);
	} else if (options->database) {
		code = entrydb_open_file(options->database, &how, out, &own);
	} else {
		code = default_sites(options, &sites, error);
		if (code < 0)
			return code;
		code = entrydb_open((const char *const *)sites.paths, sites.count, &how, out, &own);
	}
	return code < 0 ? take_error(code, &own, error) : 0;
}

int find_target(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **target,
                struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code;

	*target = NULL;
	code = entrydb_resolve(db, entry_point, target, &own);
	code = error_is_failure(code) ? take_error(code, &own, error) : 0;
	entrydb_error_clear(&own);
	return code;
}

int find_verdict(entrydb *db, const entrydb_entry_point *entry_point, entrydb_verdict **verdict,
                 struct error *error)
{
	const entrydb_entry_point *e = entry_point;
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code = entrydb_check_policy(
	        db, entrydb_entry_point_group(e), entrydb_entry_point_name(e),
	        entrydb_entry_point_distribution(e), entrydb_entry_point_path(e), verdict, &own);

	return code < 0 ? take_error(code, &own, error) : 0;
}

int select_by(const struct options *options, const char *group, const char *name,
              struct selection *out, struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code = open_handle(options, &out->db, error);

	if (code < 0)
		return code;
	code = options->allowed ? entrydb_select_allowed(out->db, group, name, &out->set, &own)
	                        : entrydb_select(out->db, group, name, &out->set, &own);
	return code < 0 ? take_error(code, &own, error) : 0;
}

void selection_free(struct selection *selection)
{
	entrydb_set_free(selection->set);
	entrydb_close(selection->db);
}

struct slice field_of(const entrydb_entry_point *entry_point, enum entrydb_field field)
{
	size_t len = 0;
	const char *text = entrydb_entry_point_text(entry_point, field, &len);

	return (struct slice){text, len};
}

const char *provider_of(const entrydb_entry_point *entry_point)
{
	const char *distribution = entrydb_entry_point_distribution(entry_point);

	return distribution ? distribution : entrydb_entry_point_file(entry_point);
}

int load_kinds(const struct options *options, struct plugin_kinds **out, struct error *error)
{
	struct error problem = {0};
	int code = site_kinds_load(options->sysroot, out, &problem, error);

	if (problem.code)
		message("%s; the kinds of plugins in it are not looked for", error_text(&problem));
	error_clear(&problem);
	return code;
}
