/*
 * add_report.c - see add_report.h.
 */
#include "indexer/verbs/add_report.h"

#include <stdio.h>

#include "indexer/archive/sdist.h"

static const struct column columns[] = {
        KEY("archive"),       KEY("state"),        KEY("kind"),
        KEY("distributions"), KEY("entry_points"), KEY("error"),
};

void add_report_open(struct add_report *report, const struct options *options,
                     struct edit_result *result)
{
	*report = (struct add_report){
	        .options = options,
	        .result = result,
	        .progress = progress_begin("reading", options->quiet),
	        .output = OUTPUT_BEGIN(columns, options->json),
	};
}

/* --- one archive --- */

static void put(struct add_report *report, const char *path, enum add_state state,
                const struct root_record *root, struct slice reason)
{
	static const char *const states[] = {"added", "unchanged", "failed"};
	struct output *output = &report->output;
	int64_t entry_points = 0;

	if (!report->options->json)
		return;
	output_string(output, path);
	output_string(output, states[state]);
	if (root) {
		for (size_t i = 0; i < root->distribution_count; i++)
			entry_points += (int64_t)root->distributions[i].entry_point_count;
		output_string(output, root->kind == ROOT_ARCHIVE ? "archive" : "zip");
		output_number(output, (int64_t)root->distribution_count);
	} else {
		output_string(output, NULL);
		output_string(output, NULL);
	}
	if (state == ADD_ADDED)
		output_number(output, entry_points);
	else
		output_string(output, NULL);
	output_text(output, reason);
}

/* Most reasons begin with the file's name, which the message already has. */
static struct slice without_name(struct slice reason, const char *path)
{
	struct slice name = slice_of(path);

	if (slice_starts(reason, name) && slice_starts(slice_from(reason, name.len), SLICE(": ")))
		return slice_from(reason, name.len + 2);
	return reason;
}

int add_report_failed(struct add_report *report, const char *path, struct error *why)
{
	struct slice reason = without_name(slice_of(error_text(why)), path);

	if (!interrupted()) {
		report->result->failed++;
		progress_erase(&report->progress);
		message("%s: %.*s", path, (int)reason.len, reason.ptr);
		put(report, path, ADD_FAILED, NULL, reason);
	}
	error_clear(why);
	return interrupted() ? ERROR_IO : 0;
}

static bool needs_build(const struct distribution_record *distribution)
{
	return slice_ends(distribution->error, SLICE(SDIST_NEEDS_BUILD));
}

/* Print why @distribution is broken, unless that is just the answer. */
static bool report_broken(struct add_report *report, const char *path,
                          const struct distribution_record *distribution)
{
	struct slice directory = distribution->directory, reason = distribution->error;

	if (slice_is_null(reason) || needs_build(distribution))
		return false;
	reason = without_name(reason, path);
	progress_erase(&report->progress);
	message("%s: %.*s: %.*s", path, (int)directory.len, directory.ptr, (int)reason.len,
	        reason.ptr);
	return true;
}

void add_report_archive(struct add_report *report, const char *path, const struct root_record *root,
                        enum add_state state)
{
	struct edit_result *result = report->result;
	struct slice reason = {0};
	bool broken = false;

	for (size_t i = 0; i < root->distribution_count; i++) {
		const struct distribution_record *distribution = &root->distributions[i];

		broken |= report_broken(report, path, distribution);
		result->needing_build += needs_build(distribution);
		result->distributions++;
		result->entry_points += distribution->entry_point_count;
		if (slice_is_null(reason))
			reason = distribution->error;
	}
	result->failed += broken;
	result->unchanged += state == ADD_UNCHANGED;
	put(report, path, state, root, reason);
}

void add_report_ignored(struct add_report *report, const struct package *package)
{
	const struct members *members = &package->members;

	if (members->ignored == 0)
		return;
	progress_erase(&report->progress);
	note(report->options, "%s: ignored %zu members whose paths lead outside it, such as %.*s",
	     package->path, members->ignored, (int)members->example.len, members->example.ptr);
}

/* --- all of them --- */

/* 1234567 as "1,234,567". */
static const char *grouped(char text[32], size_t number)
{
	char *at = text + 31;

	*at = '\0';
	for (size_t digits = 0; digits == 0 || number > 0; number /= 10) {
		if (digits > 0 && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + number % 10);
		digits++;
	}
	return at;
}

void add_report_summary(const struct add_report *report, size_t archives)
{
	const struct edit_result *result = report->result;
	char unchanged[64] = "", failed[64] = "", build[96] = "";
	char n1[32], n2[32], n3[32], n4[32];

	if (result->unchanged)
		snprintf(unchanged, sizeof(unchanged), " (%s unchanged)",
		         grouped(n4, result->unchanged));
	if (result->needing_build)
		snprintf(build, sizeof(build), "; %s " SDIST_NEEDS_BUILD,
		         grouped(n4, result->needing_build));
	if (result->failed)
		snprintf(failed, sizeof(failed), "; %s could not be read",
		         grouped(n4, result->failed));
	note(report->options, "%s archives%s, %s distributions, %s entry points%s%s",
	     grouped(n1, archives), unchanged, grouped(n2, result->distributions),
	     grouped(n3, result->entry_points), build, failed);
}
