/*
 * findings.c - evaluates the rules and identifies findings by fingerprints.
 */
#include "indexer/audit/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/sha256.h"
#include "indexer/message.h"
#include "libquery/layout.h"

#define BASELINE_MAX     ((size_t)64 << 20) /* bytes */
#define LENGTH_SIZE      24                 /* bytes of a number of bytes and its colon */
#define FINGERPRINT_SIZE 32                 /* digits: the first half of a SHA-256 */

/* Each rule is a view of the same name. */
static void ask(struct worksheet *sheet, struct slice rule)
{
	struct worksheet_rows *row = worksheet_walk(sheet, rule.ptr, NULL);

	while (worksheet_next(row))
		worksheet_put(sheet, "finding",
		              FACTS(fact_null(), fact(rule), fact(worksheet_number(row, 0)),
		                    fact_id(worksheet_number(row, 1)),
		                    fact_id(worksheet_number(row, 2)), fact(worksheet_text(row, 3)),
		                    fact(worksheet_text(row, 4)), fact(worksheet_text(row, 5))));
}

/* The path below the prefix, which stays the same when the environment is moved. */
static struct slice below(struct slice path, struct slice prefix)
{
	return slice_starts(path, prefix) ? slice_from(path, prefix.len) : path;
}

/*
 * Compute the fingerprint of a finding, which stays the same while nothing relevant changes: it
 * depends neither on the environment's location nor on times of installation or versions. @row: of
 * "judged".
 */
static void put_place(struct worksheet *sheet, struct worksheet_rows *row)
{
	enum { FINDING, RULE, OWNER = 3, GROUP = 5, NAME, PREFIX = 10, PATH = 12, NAMED, EVIDENCE };
	struct slice prefix = worksheet_text(row, PREFIX);
	const struct slice parts[] = {
	        worksheet_text(row, RULE),     below(worksheet_text(row, PATH), prefix),
	        worksheet_text(row, OWNER),    worksheet_text(row, GROUP),
	        worksheet_text(row, NAME),     below(worksheet_text(row, NAMED), prefix),
	        worksheet_text(row, EVIDENCE),
	};
	char hex[SHA256_HEX_SIZE + 1], length[LENGTH_SIZE];
	uint8_t digest[SHA256_SIZE];
	struct sha256 sha;

	sha256_begin(&sha);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		snprintf(length, sizeof(length),
		         "%zu:", parts[i].len); /* a separator that makes the parts unambiguous */
		sha256_add(&sha, length, strlen(length));
		sha256_add(&sha, parts[i].ptr, parts[i].len);
	}
	sha256_end(&sha, digest);
	sha256_hex(digest, hex);
	worksheet_put(sheet, "place",
	              FACTS(fact_null(), fact(worksheet_number(row, FINDING)),
	                    fact(slice_first(slice_of(hex), FINGERPRINT_SIZE))));
}

int findings_judge(struct worksheet *sheet, bool *incomplete, struct error *error)
{
	struct worksheet_rows *row = worksheet_walk(sheet, "rule", NULL);
	struct error own = {0};

	while (worksheet_next(row)) {
		ask(sheet, worksheet_text(row, RULE_NAME));
		if (!worksheet_gave_up(sheet, &own))
			continue;
		*incomplete = true;
		fail(&own);
	}
	row = worksheet_walk(sheet, "judged", NULL);
	while (worksheet_next(row))
		put_place(sheet, row);
	return worksheet_failure(sheet, error);
}

int findings_compare(struct worksheet *sheet, const char *file, struct error *error)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(file); /* it may lie below --root */
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct worksheet_rows *row;
	struct slice text;
	int code = path ? small_file_read(path, BASELINE_MAX, &bytes, &text.len, error)
	                : error_errno(error, errno, "%s", file);

	if (code == 0)
		return error_set(error, ERROR_NOTFOUND, "%s: not a readable file", file);
	if (code < 0)
		return code;
	if (text.len == BASELINE_MAX)
		return error_set(error, ERROR_LIMIT, "%s: larger than %zu bytes", file,
		                 BASELINE_MAX);
	text.ptr = bytes;
	/* makes findings new even if the baseline is empty */
	worksheet_put(sheet, "known", FACTS(fact(0), fact("")));
	for (int64_t number = 1; text.len > 0; number++) {
		struct slice line = slice_take_line(&text);

		if (line.len > 0)
			worksheet_put(sheet, "baseline_line", FACTS(fact(number), fact(line)));
	}
	row = worksheet_walk(sheet, "no_fingerprint", NULL);
	if (worksheet_next(row))
		return error_set(
		        error, ERROR_FORMAT,
		        "%s: line %lld is not a finding as 'entrydb audit --json' writes it", file,
		        (long long)worksheet_number(row, 0));
	return worksheet_failure(sheet, error);
}
