/*
 * audit.c - entry points that are not what they should be.
 *
 *     for each site directory: facts into a worksheet (audit/facts.h)
 *       the rules, which are views on them (audit/rules.sql)
 *         findings, less those of the baseline (audit/findings.h)
 *           text, JSON, SARIF; the worksheet itself
 */
#include <stdlib.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/audit/facts.h"
#include "indexer/audit/findings.h"
#include "indexer/audit/judge.h"
#include "indexer/options.h"
#include "indexer/output_file.h"
#include "libquery/layout.h"

#define LEVEL_DEFAULT LEVEL_WARNING

struct audit {
	const struct options *options;
	struct worksheet *sheet;
	struct databases databases;
	struct findings findings;
	enum level limit; /* from which on findings are a failure */
	int64_t sites;    /* so far */
	bool failed;      /* something could not be read, which was said */
};

static void cleanup_audit(struct audit *audit)
{
	worksheet_close(audit->sheet);
	databases_free(&audit->databases);
	findings_free(&audit->findings);
}

/* --- since when --- */

/* A date, a time, or how long ago, as SQLite understands them; -1: none of these. */
static int64_t seconds_of(struct worksheet *sheet, struct slice word)
{
	struct worksheet_query *row = worksheet_ask(
	        sheet,
	        "SELECT coalesce(strftime('%s', ?1), strftime('%s', 'now', '-' || ?1), -1) + 0");
	int64_t seconds;

	worksheet_text(row, word);
	if (!worksheet_next(row))
		return -1;
	seconds = worksheet_integer(row, 0);
	worksheet_run(row);
	return seconds;
}

static enum status set_limit(struct audit *audit)
{
	const char *word = audit->options->fail_on;

	audit->limit = LEVEL_DEFAULT;
	if (word && !level_find(slice_of(word), &audit->limit))
		return usage_error("audit", "--fail-on %s: expected note, warning, error or none",
		                   word);
	return STATUS_DONE;
}

static enum status set_period(struct audit *audit)
{
	struct slice since = slice_of(audit->options->since);
	const char *dots = since.len ? strstr(since.ptr, "..") : NULL;
	struct slice begins = dots ? slice_between(since.ptr, dots) : since;
	struct worksheet_query *put;
	int64_t first, last = INT64_MAX;

	if (slice_is_null(since))
		return STATUS_DONE;
	first = seconds_of(audit->sheet, begins);
	if (dots)
		last = seconds_of(audit->sheet, slice_of(dots + 2));
	if (first < 0 || last < 0)
		return usage_error(
		        "audit",
		        "--since %s: expected a date such as 2026-11-01, or '7 days', or "
		        "two dates with .. between",
		        since.ptr);
	put = worksheet_ask(audit->sheet, "INSERT INTO period VALUES (?, ?)");
	worksheet_number(put, first);
	worksheet_number(put, last);
	worksheet_run(put);
	return STATUS_DONE;
}

/* --- the results --- */

static int write_sarif(const struct audit *audit, struct error *error)
{
	CLEANUP(cleanup_free) char *text = NULL;
	size_t size = 0;
	FILE *stream = audit->options->sarif ? open_memstream(&text, &size) : NULL;

	if (!audit->options->sarif)
		return 0;
	if (stream)
		report_sarif(&audit->findings, audit->options->baseline != NULL, stream);
	if (!stream || !text_close(stream, &text))
		return error_nomem(error);
	return output_file_write(audit->options->sarif, (struct slice){text, size}, error);
}

static int write_facts(const struct audit *audit, struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	size_t size = 0;
	FILE *stream = audit->options->facts ? open_memstream(&bytes, &size) : NULL;
	int code;

	if (!audit->options->facts)
		return 0;
	if (!stream)
		return error_nomem(error);
	code = worksheet_write(audit->sheet, stream, error);
	if (!text_close(stream, &bytes))
		return error_nomem(error);
	return code < 0 ? code
	                : output_file_write(audit->options->facts, (struct slice){bytes, size},
	                                    error);
}

static int report(struct audit *audit, struct error *error)
{
	const struct options *options = audit->options;
	bool is_taken = options->sarif && slice_equal(slice_of(options->sarif), SLICE("-"));
	int code = findings_read(audit->sheet, &audit->findings, error);

	if (code == 0 && options->baseline)
		code = findings_compare(&audit->findings, audit->sheet, options->baseline, error);
	if (code == 0 && !is_taken)
		code = options->json ? report_json(&audit->findings, error)
		                     : report_text(&audit->findings, error);
	if (code == 0)
		code = write_sarif(audit, error);
	return code < 0 ? code : write_facts(audit, error);
}

static enum status conclude(const struct audit *audit)
{
	const struct findings *findings = &audit->findings;
	size_t counts[LEVEL_NONE] = {0}, known = 0, reached = 0;

	for (size_t i = 0; i < findings->count; i++) {
		enum level level = findings->rules[findings->items[i].rule].level;

		known += findings->items[i].is_known;
		counts[level] += !findings->items[i].is_known;
		reached += !findings->items[i].is_known && level >= audit->limit;
	}
	note(audit->options, "%zu errors, %zu warnings, %zu notes, %zu known before; %s",
	     counts[LEVEL_ERROR], counts[LEVEL_WARNING], counts[LEVEL_NOTE], known,
	     "'entrydb audit --rules' explains them");
	if (audit->failed)
		return STATUS_COULD_NOT;
	return reached ? STATUS_NOT_FOUND : STATUS_DONE;
}

static enum status explain(struct audit *audit)
{
	struct error error = {0};
	int code = findings_rules(audit->sheet, &audit->findings, &error);

	if (code == 0)
		code = report_rules(&audit->findings, audit->options->json, &error);
	return code < 0 ? fail(&error) : STATUS_DONE;
}

enum status command_audit(const struct options *options)
{
	CLEANUP(cleanup_audit) struct audit audit = {.options = options};
	struct error error = {0};
	enum status status;
	int code = worksheet_open(audit_rules, &audit.sheet, &error);

	if (code < 0)
		return fail(&error);
	if (options->explain)
		return explain(&audit);
	status = set_limit(&audit);
	if (status == STATUS_DONE)
		status = set_period(&audit);
	if (status != STATUS_DONE)
		return status;
	if (options->database && options->argument_count == 0)
		code = databases_of_file(options, &audit.databases, &error);
	else
		code = databases_of_arguments(options, false, &audit.databases, &error);
	if (code == 0)
		code = judge_read(audit.sheet, options, &audit.databases, &audit.failed, &error);
	if (code == 0)
		code = report(&audit, &error);
	return code < 0 ? fail(&error) : conclude(&audit);
}
