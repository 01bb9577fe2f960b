/*
 * findings.c - takes what the rules say out of the worksheet, and knows it again by fingerprints.
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

static bool keep_rule(struct findings *findings, struct worksheet_rows *row)
{
	struct rule rule;
	bool failed = !array_grow(&findings->rules, findings->rule_count, sizeof(*findings->rules),
	                          &findings->rule_room);

	if (failed || !level_find(worksheet_text(row, 2), &rule.level))
		return false;
	rule.name = arena_copy(&findings->texts, worksheet_text(row, 1), &failed);
	rule.what = arena_copy(&findings->texts, worksheet_text(row, 3), &failed);
	rule.remedy = arena_copy(&findings->texts, worksheet_text(row, 4), &failed);
	findings->rules[findings->rule_count++] = rule;
	return !failed;
}

static bool keep_site(struct findings *findings, struct worksheet_rows *row)
{
	bool failed = !array_grow(&findings->sites, findings->site_count, sizeof(*findings->sites),
	                          &findings->site_room);
	struct slice prefix = arena_copy(&findings->texts, worksheet_text(row, 2), &failed);

	if (!failed)
		findings->sites[findings->site_count++] =
		        (struct finding_site){worksheet_number(row, 0), prefix};
	return !failed;
}

/* --- findings --- */

/* Columns of the view "report". */
enum { RULE, SITE, PATH, PREFIX, DISTRIBUTION, VERSION, GROUP, NAME, FILE_, EVIDENCE, MESSAGE };

/* What is below the prefix keeps its name when the environment is moved. */
static struct slice below(struct slice path, struct slice prefix)
{
	return slice_starts(path, prefix) ? slice_from(path, prefix.len) : path;
}

/*
 * What tells the finding from all others, for as long as nothing changes: neither where
 * the environment is, nor when something was installed, nor a version.
 */
static bool put_fingerprint(struct worksheet_rows *row, struct slice rule, struct finding *finding)
{
	struct slice prefix = worksheet_text(row, PREFIX);
	const struct slice parts[] = {
	        rule,
	        below(worksheet_text(row, PATH), prefix),
	        worksheet_text(row, DISTRIBUTION),
	        worksheet_text(row, GROUP),
	        worksheet_text(row, NAME),
	        below(worksheet_text(row, FILE_), prefix),
	        worksheet_text(row, EVIDENCE),
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

static bool keep_finding(struct findings *findings, struct worksheet_rows *row)
{
	struct finding finding = {
	        .rule = (size_t)worksheet_number(row, RULE) - 1,
	        .site = worksheet_number(row, SITE),
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
		*texts[i].text =
		        arena_copy(&findings->texts, worksheet_text(row, texts[i].column), &failed);
	finding.file = absolute(&findings->texts, worksheet_text(row, PATH),
	                        worksheet_text(row, FILE_), &failed);
	if (failed || !put_fingerprint(row, findings->rules[finding.rule].name, &finding))
		return false;
	findings->items[findings->count++] = finding;
	return true;
}

/* --- reading them --- */

static int read_view(struct worksheet *sheet, const char *view,
                     bool (*keep)(struct findings *, struct worksheet_rows *), struct findings *out,
                     struct error *error)
{
	struct worksheet_rows *row = worksheet_walk(sheet, view, NULL);

	while (worksheet_next(row))
		if (!keep(out, row))
			return error_nomem(error);
	return worksheet_failure(sheet, error);
}

int findings_rules(struct worksheet *sheet, struct findings *out, struct error *error)
{
	return read_view(sheet, "rule", keep_rule, out, error);
}

int findings_read(struct worksheet *sheet, struct findings *out, struct error *error)
{
	int code = findings_rules(sheet, out, error);

	if (code == 0)
		code = read_view(sheet, "site", keep_site, out, error);
	return code < 0 ? code : read_view(sheet, "report", keep_finding, out, error);
}

/* --- the baseline --- */

static int read_baseline(struct worksheet *sheet, const char *file, struct slice text,
                         struct error *error)
{
	struct worksheet_rows *row;

	for (int64_t number = 1; text.len > 0; number++) {
		const char *end = memchr(text.ptr, '\n', text.len);
		struct slice line = end ? slice_between(text.ptr, end) : text;

		text = slice_from(text, line.len + (end != NULL));
		if (line.len > 0)
			worksheet_put(sheet, "baseline_line",
			              FACTS(fact_number(number), fact_text(line)));
	}
	row = worksheet_walk(sheet, "no_fingerprint", NULL);
	if (worksheet_next(row))
		return error_set(
		        error, ERROR_FORMAT,
		        "%s: line %lld is not a finding as 'entrydb audit --json' writes it", file,
		        (long long)worksheet_number(row, 0));
	return worksheet_failure(sheet, error);
}

int findings_compare(struct findings *findings, struct worksheet *sheet, const char *file,
                     struct error *error)
{
	CLEANUP(cleanup_free) char *text = NULL;
	size_t len = 0;
	int code = small_file_read(file, BASELINE_MAX, &text, &len, error);

	if (code == 0)
		return error_set(error, ERROR_NOTFOUND, "%s: no file that can be read", file);
	if (code > 0 && len == BASELINE_MAX)
		return error_set(error, ERROR_LIMIT, "%s: larger than %zu bytes", file,
		                 BASELINE_MAX);
	if (code > 0)
		code = read_baseline(sheet, file, (struct slice){text, len}, error);
	for (size_t i = 0; code == 0 && i < findings->count; i++)
		findings->items[i].is_known = worksheet_next(worksheet_walk(
		        sheet, "is_known", FACTS(fact_string(findings->items[i].fingerprint))));
	return code < 0 ? code : worksheet_failure(sheet, error);
}
