/*
 * why.c - explains an entry point: its provider, shadowing, target, freshness and policy.
 */
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "indexer/verb.h"
#include "indexer/verbs/causes.h"

/* Entry points of one name: the .pth files of a site multiply them. */
#define EXPLAINED_MAX ((size_t)4096)

/* Everything known about one entry point. */
struct facts {
	const entrydb_entry_point *entry_point;
	const char *database, *state, *reason; /* of its path entry */
	entrydb_target *target;                /* NULL: it cannot be examined */
	entrydb_verdict *verdict;
	char *problem; /* why it would fail to load; NULL: none found */
};

static void facts_free(struct facts *facts)
{
	entrydb_target_free(facts->target);
	entrydb_verdict_free(facts->verdict);
	free(facts->problem);
}

/* Entry points are in the order of the path, so the search starts at *from, the last result. */
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

static const char *or_else(const char *text, const char *otherwise)
{
	return text ? text : otherwise;
}

static void print_leads_to(const entrydb_target *target)
{
	bool is_good = target && entrydb_target_state(target) == ENTRYDB_STATE_OK;
	enum style style = is_good ? STYLE_PLAIN : STYLE_BAD;

	if (!target)
		print_line(style, "  leads to     unknown");
	else if (is_good && entrydb_target_kind(target) == ENTRYDB_KIND_PYTHON)
		print_line(style, "  leads to     Python code, whose module was found");
	else
		print_line(style, "  leads to     %s, %s",
		           entrydb_kind_name(entrydb_target_kind(target)),
		           entrydb_state_name(entrydb_target_state(target)));
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
	print_leads_to(facts->target);
	if (facts->target)
		target_print(facts->target);
	if (facts->problem)
		print_line(STYLE_BAD, "  problem      %s", facts->problem);
	print_line(STYLE_PLAIN, "  known from   %s: %s", or_else(facts->database, "the disk"),
	           facts->state);
	print_line(STYLE_FAINT, "               (%s)", facts->reason);
	if (entrydb_verdict_allowed(facts->verdict))
		print_line(STYLE_PLAIN, "  allowed      yes");
	else
		print_line(STYLE_BAD, "  allowed      no: %s",
		           entrydb_verdict_reason(facts->verdict));
}

static const struct column columns[] = {
        ENTRY_KEY("group", FIELD(GROUP)),
        ENTRY_KEY("name", FIELD(NAME)),
        ENTRY_KEY("value", FIELD(VALUE)),
        ENTRY_KEY("distribution", FIELD(DISTRIBUTION)),
        ENTRY_KEY("version", FIELD(VERSION)),
        ENTRY_KEY("path", FIELD(PATH)),
        ENTRY_KEY("file", FIELD(FILE)),
        ENTRY_KEY("shadowed_by", FIELD(SHADOWED_BY)),
        ENTRY_KEY("kind", CELL_KIND),
        ENTRY_KEY("state", CELL_STATE),
        ENTRY_KEY("object", TARGET(OBJECT)),
        ENTRY_KEY("symbol", TARGET(SYMBOL)),
        KEY("database"),
        KEY("freshness"),
        KEY("reason"),
        KEY("allowed"),
        KEY("problem"),
        TARGET_COLUMNS,
};

static void put(struct output *output, const struct facts *facts)
{
	entry_put(output, facts->entry_point, facts->target);
	output_string(output, facts->database);
	output_string(output, facts->state);
	output_string(output, facts->reason);
	output_string(output, entrydb_verdict_allowed(facts->verdict) ? "yes" : "no");
	output_string(output, facts->problem);
	entry_put(output, facts->entry_point, facts->target);
}

static int print_all(const struct options *options, const struct question *found,
                     struct error *error)
{
	struct output output = OUTPUT_BEGIN(columns, true);
	size_t from = 0, count = entrydb_set_count(found->set);
	int code = 0;

	for (size_t i = 0; code == 0 && i < count && i < EXPLAINED_MAX; i++) {
		const entrydb_entry_point *e = entrydb_set_get(found->set, i);
		const entrydb_path_entry *entry = find_path_entry(found->path, e, &from);
		CLEANUP(facts_free)
		struct facts facts = {.entry_point = e, .state = "unknown", .reason = ""};

		if (entry) { /* else it is not on the path any more */
			facts.database = entrydb_path_entry_database(entry);
			facts.state = entrydb_path_state_name(entrydb_path_entry_state(entry));
			facts.reason = entrydb_path_entry_reason(entry);
		}
		code = find_target(found->db, e, &facts.target, error);
		if (code == 0)
			code = causes_find(options->sysroot, e, facts.target, &facts.problem,
			                   error);
		if (code == 0)
			code = find_verdict(found->db, e, &facts.verdict, error);
		if (code == 0 && options->json)
			put(&output, &facts);
		else if (code == 0)
			print_text(&facts);
	}
	output_end(&output, NULL);
	if (code == 0 && count > EXPLAINED_MAX)
		message("%zu more of that name are not explained", count - EXPLAINED_MAX);
	return code;
}

/* If nothing was found, print the searched places. */
static void print_searched(const struct options *options, const struct question *found)
{
	say_not_found(options, found->db, options->arguments[0], options->arguments[1]);
	for (size_t i = 0; i < entrydb_path_count(found->path); i++) {
		const entrydb_path_entry *entry = entrydb_path_get(found->path, i);

		message("searched %s: %s (%s)", entrydb_path_entry_path(entry),
		        entrydb_path_state_name(entrydb_path_entry_state(entry)),
		        entrydb_path_entry_reason(entry));
	}
}

int command_why(const struct options *options, struct error *error)
{
	CLEANUP(question_free) struct question found = {0};
	int code = select_by(options, entrydb_explain, options->arguments[0], options->arguments[1],
	                     &found, error);

	if (code == 0)
		code = question_describe(&found, error);
	if (code == 0)
		code = print_all(options, &found, error);
	if (code < 0)
		return code;
	if (entrydb_set_count(found.set) == 0) {
		print_searched(options, &found);
		code = STATUS_NOT_FOUND;
	}
	report_problems(found.set);
	return code;
}
