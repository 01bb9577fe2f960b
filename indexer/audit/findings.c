/*
 * findings.c - see findings.h.
 */
#include "indexer/audit/findings.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/sha256.h"
#include "db/base/small_file.h"
#include "db/base/text.h"

#define BASELINE_MAX ((size_t)64 << 20) /* bytes */

static const char *const levels[] = {
        [LEVEL_NOTE] = "note",
        [LEVEL_WARNING] = "warning",
        [LEVEL_ERROR] = "error",
        [LEVEL_NONE] = "none",
};

const char *level_name(enum level level)
{
	return levels[level];
}

bool level_find(struct slice name, enum level *out)
{
	for (enum level level = LEVEL_NOTE; level <= LEVEL_NONE; level++)
		if (slice_equal(name, slice_of(levels[level]))) {
			*out = level;
			return true;
		}
	return false;
}

void findings_free(struct findings *findings)
{
	free(findings->sites);
	free(findings->rules);
	free(findings->items);
	arena_free(&findings->texts);
	*findings = (struct findings){0};
}

/* --- rules --- */

static bool keep_rule(struct findings *findings, struct worksheet_query *row)
{
	struct rule rule;
	bool failed = !array_grow(&findings->rules, findings->rule_count, sizeof(*findings->rules),
	                          &findings->rule_room);

	if (failed || !level_find(worksheet_column(row, 1), &rule.level))
		return false;
	rule.name = arena_copy(&findings->texts, worksheet_column(row, 0), &failed);
	rule.what = arena_copy(&findings->texts, worksheet_column(row, 2), &failed);
	rule.remedy = arena_copy(&findings->texts, worksheet_column(row, 3), &failed);
	findings->rules[findings->rule_count++] = rule;
	return !failed;
}

int findings_rules(struct worksheet *sheet, struct findings *out, struct error *error)
{
	struct worksheet_query *row = worksheet_ask(
	        sheet, "SELECT name, level, what, remedy FROM rule ORDER BY position");

	while (worksheet_next(row))
		if (!keep_rule(out, row))
			return error_nomem(error);
	return worksheet_failure(sheet, error);
}

/* --- findings --- */

static bool keep_site(struct findings *findings, struct worksheet_query *row)
{
	bool failed = !array_grow(&findings->sites, findings->site_count, sizeof(*findings->sites),
	                          &findings->site_room);
	struct slice prefix = arena_copy(&findings->texts, worksheet_column(row, 1), &failed);

	if (!failed)
		findings->sites[findings->site_count++] =
		        (struct finding_site){worksheet_integer(row, 0), prefix};
	return !failed;
}

/* Columns of the query below. */
enum { RULE, SITE, PATH, PREFIX, DISTRIBUTION, VERSION, GROUP, NAME, FILE_, EVIDENCE, MESSAGE };

static const char question[] =
        "SELECT r.position, s.id, s.path, s.prefix, d.title, d.version, e.group_name, e.name, "
        "f.file, f.evidence, f.message "
        "FROM finding f JOIN rule r ON r.name = f.rule JOIN site s ON s.id = f.site "
        "LEFT JOIN distribution d ON d.id = f.distribution "
        "LEFT JOIN entry_point e ON e.id = f.entry_point "
        "ORDER BY CASE r.level WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, r.position, "
        "s.id, e.group_name, d.title, d.id, e.name, f.file, f.message";

/* What is below the prefix keeps its name when the environment is moved. */
static struct slice below(struct slice path, struct slice prefix)
{
	return slice_starts(path, prefix) ? slice_from(path, prefix.len) : path;
}

/*
 * What tells the finding from all others, for as long as nothing changes: neither where
 * the environment is, nor when something was installed, nor a version.
 */
static bool put_fingerprint(struct worksheet_query *row, struct slice rule, struct finding *finding)
{
	struct slice prefix = worksheet_column(row, PREFIX);
	const struct slice parts[] = {
	        rule,
	        below(worksheet_column(row, PATH), prefix),
	        worksheet_column(row, DISTRIBUTION),
	        worksheet_column(row, GROUP),
	        worksheet_column(row, NAME),
	        below(worksheet_column(row, FILE_), prefix),
	        worksheet_column(row, EVIDENCE),
	};
	CLEANUP(cleanup_free) char *text = NULL;
	char hex[SHA256_HEX_SIZE + 1];
	uint8_t digest[SHA256_SIZE];
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		fprintf(stream, "%zu:", parts[i].len); /* so that no two can run together */
		if (parts[i].len > 0)
			fwrite(parts[i].ptr, 1, parts[i].len, stream);
	}
	if (!text_close(stream, &text))
		return false;
	sha256_of(text, size, digest);
	sha256_hex(digest, hex);
	memcpy(finding->fingerprint, hex, FINGERPRINT_SIZE);
	finding->fingerprint[FINGERPRINT_SIZE] = '\0';
	return true;
}

/* Without the version of a dist-info directory: an upgrade is not another finding. */
static struct slice absolute(struct arena *arena, struct slice site, struct slice file,
                             bool *failed)
{
	CLEANUP(cleanup_free) char *path = NULL;

	if (slice_is_null(file) || slice_starts(file, SLICE("/")))
		return arena_copy(arena, slice_is_null(file) ? site : file, failed);
	path = text_format("%.*s/%.*s", (int)site.len, site.ptr, (int)file.len, file.ptr);
	*failed |= !path;
	return arena_copy(arena, slice_of(path), failed);
}

static bool keep_finding(struct findings *findings, struct worksheet_query *row)
{
	struct finding finding = {
	        .rule = (size_t)worksheet_integer(row, RULE) - 1,
	        .site = worksheet_integer(row, SITE),
	};
	const struct {
		struct slice *text;
		int column;
	} texts[] = {
	        {&finding.prefix, PREFIX},   {&finding.distribution, DISTRIBUTION},
	        {&finding.version, VERSION}, {&finding.group, GROUP},
	        {&finding.name, NAME},       {&finding.message, MESSAGE},
	};
	bool failed = !array_grow(&findings->items, findings->count, sizeof(*findings->items),
	                          &findings->room);

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		*texts[i].text = arena_copy(&findings->texts,
		                            worksheet_column(row, texts[i].column), &failed);
	finding.file = absolute(&findings->texts, worksheet_column(row, PATH),
	                        worksheet_column(row, FILE_), &failed);
	if (failed || !put_fingerprint(row, findings->rules[finding.rule].name, &finding))
		return false;
	findings->items[findings->count++] = finding;
	return true;
}

int findings_read(struct worksheet *sheet, struct findings *out, struct error *error)
{
	struct worksheet_query *row;
	int code = findings_rules(sheet, out, error);

	row = code == 0 ? worksheet_ask(sheet, "SELECT id, prefix FROM site ORDER BY id") : NULL;
	while (worksheet_next(row))
		if (!keep_site(out, row))
			return error_nomem(error);
	row = code == 0 ? worksheet_ask(sheet, question) : NULL;
	while (worksheet_next(row))
		if (!keep_finding(out, row))
			return error_nomem(error);
	return code < 0 ? code : worksheet_failure(sheet, error);
}

/* --- the baseline --- */

/* The line's fingerprint into @known; false where it has none. */
static bool read_line(struct worksheet *sheet, struct slice line, struct arena *texts,
                      struct name_map *known, bool *failed)
{
	struct worksheet_query *row =
	        worksheet_ask(sheet, "SELECT CASE WHEN json_valid(?1) AND json_type(?1) = 'object' "
	                             "THEN json_extract(?1, '$.fingerprint') END");
	struct slice fingerprint;

	worksheet_text(row, line);
	if (!worksheet_next(row))
		return false;
	fingerprint = arena_copy(texts, worksheet_column(row, 0), failed);
	worksheet_run(row);
	if (fingerprint.len != FINGERPRINT_SIZE || *failed)
		return false;
	name_map_put(known, fingerprint, 0, failed);
	return true;
}

static int read_baseline(struct worksheet *sheet, const char *file, struct slice text,
                         struct arena *texts, struct name_map *known, struct error *error)
{
	bool failed = false;

	for (size_t number = 1; text.len > 0; number++) {
		const char *end = memchr(text.ptr, '\n', text.len);
		struct slice line = end ? slice_between(text.ptr, end) : text;

		text = slice_from(text, line.len + (end != NULL));
		if (line.len == 0 || read_line(sheet, line, texts, known, &failed))
			continue;
		if (failed)
			return error_nomem(error);
		return error_set(
		        error, ERROR_FORMAT,
		        "%s: line %zu is not a finding as 'entrydb audit --json' writes it", file,
		        number);
	}
	return failed ? error_nomem(error) : 0;
}

int findings_compare(struct findings *findings, struct worksheet *sheet, const char *file,
                     struct error *error)
{
	CLEANUP(arena_free) struct arena texts = ARENA_INIT;
	CLEANUP(name_map_free) struct name_map known = {0};
	CLEANUP(cleanup_free) char *text = NULL;
	size_t len = 0;
	int code = small_file_read(file, BASELINE_MAX, &text, &len, error);

	if (code == 0)
		return error_set(error, ERROR_NOTFOUND, "%s: no file that can be read", file);
	if (code > 0 && len == BASELINE_MAX)
		return error_set(error, ERROR_LIMIT, "%s: larger than %zu bytes", file,
		                 BASELINE_MAX);
	if (code > 0)
		code = read_baseline(sheet, file, (struct slice){text, len}, &texts, &known, error);
	for (size_t i = 0; code == 0 && i < findings->count; i++)
		findings->items[i].is_known =
		        name_map_get(&known, slice_of(findings->items[i].fingerprint)) !=
		        NAME_MAP_NONE;
	return code;
}
