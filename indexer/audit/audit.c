/*
 * audit.c - the command audit.
 *
 *     for each site directory: collect facts in a worksheet (audit/collect.h, facts.sql)
 *       the rules, which are views of it (audit/rules.sql)
 *         findings, except those of the baseline (audit/findings.h)
 *           text, JSON, SARIF, HTML; the worksheet itself
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "indexer/audit/collect.h"
#include "indexer/audit/findings.h"
#include "indexer/output.h"
#include "libquery/layout.h"

struct audit {
	const struct options *options;
	struct worksheet *sheet;
	struct databases databases;
	int limit;   /* the number of levels, columns of "summary", that are failures */
	bool failed; /* something could not be read, and was reported */
};

static void cleanup_audit(struct audit *audit)
{
	worksheet_close(audit->sheet);
	databases_free(&audit->databases);
}

/* --- options --- */

static enum status set_limit(struct audit *audit)
{
	static const char *const levels[] = {"none", "error", "warning", "note"};
	const char *word = audit->options->fail_on ? audit->options->fail_on : "warning";

	while (audit->limit < 4 && strcmp(word, levels[audit->limit]) != 0)
		audit->limit++;
	if (audit->limit == 4)
		return usage_error("audit", "--fail-on %s: expected note, warning, error or none",
		                   word);
	return STATUS_DONE;
}

/* facts.sql interprets dates, times and durations, as accepted by SQLite. */
static enum status set_period(struct audit *audit)
{
	struct slice since = slice_of(audit->options->since);
	const char *dots = since.len ? strstr(since.ptr, "..") : NULL;
	struct worksheet_rows *row;

	if (slice_is_null(since))
		return STATUS_DONE;
	worksheet_put(audit->sheet, "asked",
	              FACTS(fact(time(NULL)), fact(dots ? slice_between(since.ptr, dots) : since),
	                    fact(dots ? dots + 2 : NULL)));
	row = worksheet_walk(audit->sheet, "period", NULL);
	if (worksheet_next(row) && worksheet_number(row, 0) >= 0 && worksheet_number(row, 1) >= 0)
		return STATUS_DONE;
	return usage_error("audit",
	                   "--since %s: expected a date such as 2026-11-01, or '7 days', or "
	                   "two dates with .. between",
	                   since.ptr);
}

/* A misspelt path has no findings, which must not look like a good result. */
static int look_for_arguments(struct audit *audit, struct error *error)
{
	const struct options *options = audit->options;

	for (size_t i = 0; i < options->argument_count; i++) {
		CLEANUP(cleanup_free)
		char *path = text_format("%s%s", options->sysroot ? options->sysroot : "",
		                         options->arguments[i]);
		struct stat status;

		if (!path)
			return error_nomem(error);
		if (file_status(AT_FDCWD, path, &status, NULL) > 0)
			continue;
		message("%s: %s", options->arguments[i], strerror(errno));
		audit->failed = true;
	}
	return 0;
}

/* --- the results --- */

/* Write to @file, unless it is NULL. */
static int write_to(const char *file, struct worksheet *sheet,
                    int (*put)(struct worksheet *, FILE *stream, struct error *error),
                    struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	size_t size = 0;
	FILE *stream = file ? open_memstream(&bytes, &size) : NULL;
	int code;

	if (!stream)
		return file ? error_nomem(error) : 0;
	code = put(sheet, stream, error);
	if (!text_close(stream, &bytes))
		return error_nomem(error);
	return code < 0 ? code : output_file_write(file, (struct slice){bytes, size}, error);
}

static int report(struct audit *audit, struct error *error)
{
	const struct options *options = audit->options;
	bool is_taken = options->sarif && slice_equal(slice_of(options->sarif), SLICE("-"));
	int code = findings_judge(audit->sheet, &audit->failed, error);

	if (code == 0 && options->baseline)
		code = findings_compare(audit->sheet, options->baseline, error);
	if (code == 0 && !is_taken)
		code = options->json ? report_json(audit->sheet, error)
		                     : report_text(audit->sheet, error);
	if (code == 0)
		code = write_to(options->sarif, audit->sheet, report_sarif, error);
	if (code == 0)
		code = write_to(options->html, audit->sheet, report_html, error);
	return code < 0 ? code : write_to(options->facts, audit->sheet, worksheet_write, error);
}

static int conclude(const struct audit *audit)
{
	struct worksheet_rows *row = worksheet_walk(audit->sheet, "summary", NULL);
	int64_t reached = 0;

	if (!worksheet_next(row))
		return STATUS_COULD_NOT;
	for (int level = SUMMARY_ERRORS; level < audit->limit; level++)
		reached += worksheet_number(row, level);
	note(audit->options, "%s; 'entrydb audit --rules' explains them",
	     worksheet_text(row, SUMMARY_TEXT).ptr);
	if (audit->failed)
		return STATUS_COULD_NOT;
	return reached ? STATUS_NOT_FOUND : STATUS_DONE;
}

int command_audit(const struct options *options, struct error *error)
{
	CLEANUP(cleanup_audit) struct audit audit = {.options = options};
	enum status status;
	int code = worksheet_open(audit_script, &audit.sheet, error);

	if (code < 0 || options->explain)
		return code < 0 ? code : report_rules(audit.sheet, options->json, error);
	status = set_limit(&audit);
	if (status == STATUS_DONE)
		status = set_period(&audit);
	if (status != STATUS_DONE)
		return status;
	code = databases_of_arguments(options, false, &audit.databases, error);
	if (code == 0)
		code = look_for_arguments(&audit, error);
	if (code == 0)
		code = collect(audit.sheet, options, &audit.databases, READERS_NONE, &audit.failed,
		               error);
	if (code == 0)
		code = report(&audit, error);
	return code < 0 ? code : conclude(&audit);
}
