/*
 * audit.c - entry points that are not what they should be.
 *
 *     for each site directory: facts into a worksheet (audit/collect.h, facts.sql)
 *       the rules, which are views on them (audit/rules.sql)
 *         findings, less those of the baseline (audit/findings.h)
 *           text, JSON, SARIF; the worksheet itself
 */
#include <stdlib.h>
#include <time.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/audit/collect.h"
#include "indexer/audit/findings.h"
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
	bool failed;      /* something could not be read, which was said */
};

static void cleanup_audit(struct audit *audit)
{
	worksheet_close(audit->sheet);
	databases_free(&audit->databases);
	findings_free(&audit->findings);
}

/* --- what is asked --- */

static enum status set_limit(struct audit *audit)
{
	const char *word = audit->options->fail_on;

	audit->limit = LEVEL_DEFAULT;
	if (word && !level_find(slice_of(word), &audit->limit))
		return usage_error("audit", "--fail-on %s: expected note, warning, error or none",
		                   word);
	return STATUS_DONE;
}

/* What it means is for facts.sql to say: dates, times, or how long ago, as SQLite takes them. */
static enum status set_period(struct audit *audit)
{
	struct slice since = slice_of(audit->options->since);
	const char *dots = since.len ? strstr(since.ptr, "..") : NULL;
	struct worksheet_rows *row;

	if (slice_is_null(since))
		return STATUS_DONE;
	worksheet_put(audit->sheet, "asked",
	              FACTS(fact_number(time(NULL)),
	                    fact_text(dots ? slice_between(since.ptr, dots) : since),
	                    fact_string(dots ? dots + 2 : NULL)));
	row = worksheet_walk(audit->sheet, "period", NULL);
	if (worksheet_next(row) && worksheet_number(row, 0) >= 0 && worksheet_number(row, 1) >= 0)
		return STATUS_DONE;
	return usage_error("audit",
	                   "--since %s: expected a date such as 2026-11-01, or '7 days', or "
	                   "two dates with .. between",
	                   since.ptr);
}

/* --- the results --- */

static int put_sarif(const struct audit *audit, FILE *stream, struct error *error)
{
	(void)error;
	report_sarif(&audit->findings, audit->options->baseline != NULL, stream);
	return 0;
}

static int put_facts(const struct audit *audit, FILE *stream, struct error *error)
{
	return worksheet_write(audit->sheet, stream, error);
}

/* To the file that an option names, if it does. */
static int write_to(const char *file,
                    int (*put)(const struct audit *, FILE *stream, struct error *error),
                    const struct audit *audit, struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	size_t size = 0;
	FILE *stream = file ? open_memstream(&bytes, &size) : NULL;
	int code;

	if (!file)
		return 0;
	if (!stream)
		return error_nomem(error);
	code = put(audit, stream, error);
	if (!text_close(stream, &bytes))
		return error_nomem(error);
	return code < 0 ? code : output_file_write(file, (struct slice){bytes, size}, error);
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
		code = write_to(options->sarif, put_sarif, audit, error);
	return code < 0 ? code : write_to(options->facts, put_facts, audit, error);
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
	int code = worksheet_open(audit_script, &audit.sheet, &error);

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
		code = collect(audit.sheet, options, &audit.databases, &audit.failed, &error);
	if (code == 0)
		code = report(&audit, &error);
	return code < 0 ? fail(&error) : conclude(&audit);
}
