/*
 * report.c - findings for people, and one a line for programs.
 *
 * For people, notes of one kind are told together: an environment has a hundred plugins
 * of pytest, and one line says so. Errors and warnings are told one by one.
 */
#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/text.h"
#include "indexer/audit/findings.h"
#include "indexer/command.h"
#include "indexer/output.h"

#define TOGETHER 3 /* notes of one kind that are still told one by one */
#define NAMED    6 /* distributions that are named where they are told together */

/* --- text --- */

static char *label(const struct finding *finding)
{
	if (slice_is_null(finding->name))
		return strdup("");
	return text_format("%.*s/%.*s", (int)finding->group.len, finding->group.ptr,
	                   (int)finding->name.len, finding->name.ptr);
}

static void put_row(struct output *output, const struct rule *rule, const char *distribution,
                    const char *entry_point, struct slice what, struct slice where)
{
	output->failed |= !distribution || !entry_point;
	output_string(output, level_name(rule->level));
	output_text(output, rule->name);
	output_string(output, distribution);
	output_string(output, entry_point);
	output_text(output, what);
	output_text(output, where);
}

static void put_one(struct output *output, const struct findings *findings,
                    const struct finding *finding)
{
	CLEANUP(cleanup_free)
	char *distribution = text_format("%.*s%s%.*s", (int)finding->distribution.len,
	                                 finding->distribution.ptr ? finding->distribution.ptr : "",
	                                 finding->version.len ? " " : "", (int)finding->version.len,
	                                 finding->version.ptr ? finding->version.ptr : "");
	CLEANUP(cleanup_free) char *entry_point = label(finding);

	put_row(output, &findings->rules[finding->rule], distribution, entry_point,
	        finding->message, finding->prefix);
}

/* "opentelemetry" of "opentelemetry_context": groups of one host are one kind of note. */
static struct slice family(struct slice group)
{
	size_t len = 0;

	while (len < group.len && group.ptr[len] != '.' && group.ptr[len] != '_')
		len++;
	return slice_first(group, len);
}

static bool same_kind(const struct findings *findings, const struct finding *a,
                      const struct finding *b)
{
	if (a->rule != b->rule || a->site != b->site)
		return false;
	if (findings->rules[a->rule].level == LEVEL_NOTE)
		return slice_equal(family(a->group), family(b->group));
	return findings->rules[a->rule].level == LEVEL_WARNING &&
	       slice_equal(a->distribution, b->distribution) && slice_equal(a->group, b->group);
}

/* Some that are told in one line. */
struct kind {
	const struct findings *findings;
	size_t first, end, unknown;
};

/* The distributions of notes, the first few; the names of warnings, all of them. */
static struct slice title(const struct kind *kind, size_t i)
{
	const struct finding *finding = &kind->findings->items[i];

	return kind->findings->rules[finding->rule].level == LEVEL_NOTE ? finding->distribution
	                                                                : finding->name;
}

/* *count: how many there are, each once. malloc'd; NULL without memory. */
static char *list_titles(const struct kind *kind, bool is_note, size_t *count)
{
	CLEANUP(name_map_free) struct name_map seen = {0};
	bool failed = false;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	for (size_t i = kind->first; stream && i < kind->end; i++) {
		struct slice next = title(kind, i);

		if (kind->findings->items[i].is_known ||
		    name_map_put(&seen, next, (uint32_t)i, &failed) != i)
			continue;
		if (!is_note || seen.count <= NAMED)
			fprintf(stream, "%s%.*s", seen.count > 1 ? ", " : "", (int)next.len,
			        next.ptr ? next.ptr : "");
	}
	if (stream && is_note)
		fprintf(stream, "%s (--json lists all)", seen.count > NAMED ? ", ..." : "");
	*count = seen.count;
	if (!stream || !text_close(stream, &text))
		return NULL;
	if (failed)
		free(take(text));
	return text;
}

static void put_together(struct output *output, const struct kind *kind)
{
	const struct finding *first = &kind->findings->items[kind->first];
	const struct rule *rule = &kind->findings->rules[first->rule];
	bool is_note = rule->level == LEVEL_NOTE;
	struct slice group = is_note ? family(first->group) : first->group;
	size_t count;
	CLEANUP(cleanup_free) char *titles = list_titles(kind, is_note, &count);
	CLEANUP(cleanup_free)
	char *owner =
	        is_note ? text_format(count == 1 ? "%zu distribution" : "%zu distributions", count)
	                : strndup(first->distribution.ptr, first->distribution.len);
	CLEANUP(cleanup_free)
	char *entry = text_format("%.*s%s%s(%zu)", (int)group.len, group.ptr ? group.ptr : "",
	                          is_note && group.len < first->group.len ? "*" : "",
	                          group.len ? " " : "", kind->unknown);

	output->failed |= !titles;
	put_row(output, rule, owner, entry, slice_of(titles), first->prefix);
}

static void put_kind(struct output *output, const struct kind *kind)
{
	if (kind->unknown > TOGETHER &&
	    (!slice_is_null(kind->findings->items[kind->first].group) ||
	     kind->findings->rules[kind->findings->items[kind->first].rule].level == LEVEL_NOTE)) {
		put_together(output, kind);
		return;
	}
	for (size_t i = kind->first; i < kind->end; i++)
		if (!kind->findings->items[i].is_known)
			put_one(output, kind->findings, &kind->findings->items[i]);
}

int report_text(const struct findings *findings, struct error *error)
{
	static const struct column columns[] = {
	        HEADING("LEVEL", STYLE_PLAIN),       HEADING("RULE", STYLE_PLAIN),
	        HEADING("DISTRIBUTION", STYLE_NAME), HEADING("ENTRY POINT", STYLE_NAME),
	        HEADING("WHAT", STYLE_PLAIN),        HEADING("ENVIRONMENT", STYLE_FAINT),
	};
	struct output output = OUTPUT_BEGIN(columns, false);
	struct kind kind = {.findings = findings};

	for (; kind.first < findings->count; kind.first = kind.end) {
		const struct finding *first = &findings->items[kind.first];

		kind.unknown = 0;
		for (kind.end = kind.first;
		     kind.end < findings->count &&
		     (kind.end == kind.first ||
		      same_kind(findings, first, &findings->items[kind.end]));
		     kind.end++)
			kind.unknown += !findings->items[kind.end].is_known;
		put_kind(&output, &kind);
	}
	return output_end(&output, error);
}

/* --- JSON --- */

int report_json(const struct findings *findings, struct error *error)
{
	static const struct column columns[] = {
	        KEY("rule"), KEY("level"), KEY("distribution"), KEY("version"),     KEY("group"),
	        KEY("name"), KEY("file"),  KEY("message"),      KEY("fingerprint"),
	};
	struct output output = OUTPUT_BEGIN(columns, true);

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];
		const struct rule *rule = &findings->rules[finding->rule];

		if (finding->is_known)
			continue;
		output_text(&output, rule->name);
		output_string(&output, level_name(rule->level));
		output_text(&output, finding->distribution);
		output_text(&output, finding->version);
		output_text(&output, finding->group);
		output_text(&output, finding->name);
		output_text(&output, finding->file);
		output_text(&output, finding->message);
		output_string(&output, finding->fingerprint);
	}
	return output_end(&output, error);
}

/* --- the rules themselves --- */

static int rules_as_json(const struct findings *findings, struct error *error)
{
	static const struct column columns[] = {
	        KEY("rule"),
	        KEY("level"),
	        KEY("what"),
	        KEY("remedy"),
	};
	struct output output = OUTPUT_BEGIN(columns, true);

	for (size_t i = 0; i < findings->rule_count; i++) {
		const struct rule *rule = &findings->rules[i];

		output_text(&output, rule->name);
		output_string(&output, level_name(rule->level));
		output_text(&output, rule->what);
		output_text(&output, rule->remedy);
	}
	return output_end(&output, error);
}

int report_rules(const struct findings *findings, bool json, struct error *error)
{
	if (json)
		return rules_as_json(findings, error);
	for (size_t i = 0; i < findings->rule_count; i++) {
		const struct rule *rule = &findings->rules[i];

		print_line(STYLE_NAME, "%s (%s)", rule->name.ptr, level_name(rule->level));
		print_line(STYLE_PLAIN, "  %s", rule->what.ptr);
		print_line(STYLE_PLAIN, "  %s", rule->remedy.ptr);
	}
	return 0;
}
