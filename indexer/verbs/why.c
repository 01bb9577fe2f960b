/*
 * why.c - who provides an entry point, who else claims it, and how that is known.
 */
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/suggest.h"
#include "indexer/target_output.h"
#include "indexer/verb.h"
#include "indexer/verbs/causes.h"

static const char *or_else(const char *text, const char *otherwise)
{
	return text ? text : otherwise;
}

/* All that is known about one entry point. */
struct facts {
	const entrydb_entry_point *entry_point;
	const entrydb_path_entry *path_entry; /* NULL: it is not on the path any more */
	entrydb_target *target;               /* NULL: there is nothing that can be looked at */
	entrydb_verdict *verdict;
	struct sites causes; /* why it would fail to load */
};

/* Entry points come in the order of the path: the search goes on at *from, where the last ended. */
static const entrydb_path_entry *
find_path_entry(const entrydb_path *path, const entrydb_entry_point *entry_point, size_t *from)
{
	size_t count = entrydb_path_count(path);

	for (size_t i = 0; i < count; i++) {
		const entrydb_path_entry *candidate = entrydb_path_get(path, (*from + i) % count);

		if (strcmp(entrydb_path_entry_path(candidate),
		           entrydb_entry_point_path(entry_point)) != 0)
			continue;
		*from = (*from + i) % count;
		return candidate;
	}
	return NULL;
}

static int gather(const struct options *options, entrydb *db, const entrydb_path *path,
                  const entrydb_entry_point *entry_point, size_t *from, struct facts *facts,
                  struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code;

	*facts = (struct facts){
	        .entry_point = entry_point,
	        .path_entry = find_path_entry(path, entry_point, from),
	};
	code = find_target(db, entry_point, &facts->target, error);
	if (code == 0)
		code = causes_find(options->sysroot, entry_point, facts->target, &facts->causes,
		                   error);
	if (code < 0)
		return code;
	code = entrydb_check_policy(db, entrydb_entry_point_group(entry_point),
	                            entrydb_entry_point_name(entry_point),
	                            entrydb_entry_point_distribution(entry_point),
	                            entrydb_entry_point_path(entry_point), &facts->verdict, &own);
	return code < 0 ? take_error(code, &own, error) : 0;
}

static void facts_free(struct facts *facts)
{
	entrydb_target_free(facts->target);
	entrydb_verdict_free(facts->verdict);
	sites_free(&facts->causes);
}

static const char *state_of(const entrydb_path_entry *entry)
{
	return entry ? entrydb_path_state_name(entrydb_path_entry_state(entry)) : "unknown";
}

static const char *reason_of(const entrydb_path_entry *entry)
{
	return entry ? entrydb_path_entry_reason(entry) : "";
}

static const char *database_of(const entrydb_path_entry *entry)
{
	return entry ? entrydb_path_entry_database(entry) : NULL;
}

/* --- text --- */

static void print_target(const entrydb_target *target)
{
	if (!target) {
		print_line(STYLE_BAD, "  leads to     nothing that can be looked at");
		return;
	}
	print_line(entrydb_target_state(target) == ENTRYDB_STATE_OK ? STYLE_PLAIN : STYLE_BAD,
	           "  leads to     %s, %s", entrydb_kind_name(entrydb_target_kind(target)),
	           entrydb_state_name(entrydb_target_state(target)));
	if (entrydb_target_object(target))
		print_line(STYLE_PLAIN, "  object       %s", entrydb_target_object(target));
	if (entrydb_target_symbol(target))
		print_line(STYLE_PLAIN, "  symbol       %s", entrydb_target_symbol(target));
	target_print(target);
}

static void print_text(const struct facts *facts)
{
	const entrydb_entry_point *e = facts->entry_point;
	const char *shadow = entrydb_entry_point_shadowed_by(e);

	print_line(STYLE_NAME, "%s = %s [%s]", entrydb_entry_point_name(e),
	           entrydb_entry_point_value(e), entrydb_entry_point_group(e));
	print_line(STYLE_PLAIN, "  provided by  %s %s",
	           or_else(entrydb_entry_point_distribution(e), "(no name)"),
	           or_else(entrydb_entry_point_version(e), "(no version)"));
	print_line(STYLE_PLAIN, "  file         %s/entry_points.txt", entrydb_entry_point_file(e));
	if (shadow)
		print_line(STYLE_BAD, "  shadowed by  %s, which comes first", shadow);
	print_target(facts->target);
	for (size_t i = 0; i < facts->causes.count; i++)
		print_line(STYLE_BAD, "  problem      %s", facts->causes.paths[i]);
	print_line(STYLE_PLAIN, "  known from   %s: %s (%s)",
	           or_else(database_of(facts->path_entry), "the disk"), state_of(facts->path_entry),
	           reason_of(facts->path_entry));
	if (entrydb_verdict_allowed(facts->verdict))
		print_line(STYLE_PLAIN, "  allowed      yes");
	else
		print_line(STYLE_BAD, "  allowed      no: %s",
		           entrydb_verdict_reason(facts->verdict));
}

/* --- JSON --- */

static const struct column columns[] = {
        KEY("group"),   KEY("name"),    KEY("value"),       KEY("distribution"), KEY("version"),
        KEY("path"),    KEY("file"),    KEY("shadowed_by"), KEY("kind"),         KEY("state"),
        KEY("object"),  KEY("symbol"),  KEY("database"),    KEY("freshness"),    KEY("reason"),
        KEY("allowed"), KEY("problem"), TARGET_COLUMNS,
};

static void put(struct output *output, const struct facts *facts, const char *problem)
{
	const entrydb_entry_point *e = facts->entry_point;
	const entrydb_target *target = facts->target;

	output_string(output, entrydb_entry_point_group(e));
	output_string(output, entrydb_entry_point_name(e));
	output_string(output, entrydb_entry_point_value(e));
	output_string(output, entrydb_entry_point_distribution(e));
	output_string(output, entrydb_entry_point_version(e));
	output_string(output, entrydb_entry_point_path(e));
	output_string(output, entrydb_entry_point_file(e));
	output_string(output, entrydb_entry_point_shadowed_by(e));
	output_string(output, target_kind(target));
	output_string(output, target_state(target));
	output_string(output, target_object(target));
	output_string(output, target ? entrydb_target_symbol(target) : NULL);
	output_string(output, database_of(facts->path_entry));
	output_string(output, state_of(facts->path_entry));
	output_string(output, reason_of(facts->path_entry));
	output_string(output, entrydb_verdict_allowed(facts->verdict) ? "yes" : "no");
	output_string(output, problem);
	target_put(output, target);
}

/* --- the whole --- */

static int print_one(const struct options *options, struct output *output,
                     const struct facts *facts, struct error *error)
{
	CLEANUP(cleanup_free) char *problem = NULL;

	if (!options->json) {
		print_text(facts);
		return 0;
	}
	for (size_t i = 0; i < facts->causes.count; i++) {
		CLEANUP(cleanup_free) char *before = take(problem);

		problem = text_format("%s%s%s", before ? before : "", before ? "; " : "",
		                      facts->causes.paths[i]);
		if (!problem)
			return error_nomem(error);
	}
	put(output, facts, problem);
	return 0;
}

static int print_all(const struct options *options, entrydb *db, const entrydb_path *path,
                     const entrydb_set *set, struct error *error)
{
	struct output output = OUTPUT_BEGIN(columns, true);
	size_t from = 0;
	int code = 0;

	for (size_t i = 0; code == 0 && i < entrydb_set_count(set); i++) {
		CLEANUP(facts_free) struct facts facts;

		code = gather(options, db, path, entrydb_set_get(set, i), &from, &facts, error);
		if (code == 0)
			code = print_one(options, &output, &facts, error);
	}
	output_end(&output, NULL);
	return code;
}

/* That nothing was found is explained as well, by what was searched. */
static void print_searched(const struct options *options, entrydb *db, const entrydb_path *path)
{
	const char *group = options->arguments[0], *name = options->arguments[1];

	say_not_found(options, db, group, name);
	for (size_t i = 0; i < entrydb_path_count(path); i++) {
		const entrydb_path_entry *entry = entrydb_path_get(path, i);

		message("searched %s: %s (%s)", entrydb_path_entry_path(entry), state_of(entry),
		        reason_of(entry));
	}
}

static enum status explain(const struct options *options, const struct selection *found,
                           const entrydb_path *path)
{
	struct error error = {0};

	if (entrydb_set_count(found->set) == 0) {
		print_searched(options, found->db, path);
		return STATUS_NOT_FOUND;
	}
	return print_all(options, found->db, path, found->set, &error) < 0 ? fail(&error)
	                                                                   : STATUS_DONE;
}

enum status command_why(const struct options *options)
{
	CLEANUP(selection_free) struct selection found = {0};
	entrydb_error own = ENTRYDB_ERROR_INIT;
	struct error error = {0};
	entrydb_path *path = NULL;
	enum status status;
	int code;

	if (open_handle(options, &found.db, &error) < 0)
		return fail(&error);
	code = entrydb_explain(found.db, options->arguments[0], options->arguments[1], &found.set,
	                       &own);
	if (code == 0)
		code = entrydb_describe_path(found.db, &path, &own);
	if (code < 0) {
		take_error(code, &own, &error);
		status = fail(&error);
	} else {
		status = explain(options, &found, path);
	}
	if (found.set)
		report_problems(found.set);
	entrydb_path_free(path);
	return status;
}
