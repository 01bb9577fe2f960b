/*
 * findings.h - what the rules say of the facts: judged, compared with what is known, told.
 *
 * All of it stays in the worksheet; see report.sql.
 */
#ifndef INDEXER_AUDIT_FINDINGS_H
#define INDEXER_AUDIT_FINDINGS_H

#include "db/worksheet.h"

/*
 * The first columns of the views "told", all findings, and "fresh", those that are not known: rule,
 * level, distribution, version, group, name, file, message, fingerprint.
 */
#define FINDING_COLUMNS 9

/* The columns of the table "rule", and of the view "summary". */
enum { RULE_POSITION, RULE_NAME, RULE_LEVEL, RULE_WHAT, RULE_REMEDY };
enum { SUMMARY_ERRORS, SUMMARY_WARNINGS, SUMMARY_NOTES, SUMMARY_TEXT };

/* Apply the rules to the facts. */
int findings_judge(struct worksheet *sheet, struct error *error);

/*
 * Mark as known what stands in the file of a baseline: lines as 'entrydb audit --json'
 * writes them. One that cannot be read or understood as a whole is an error.
 */
int findings_compare(struct worksheet *sheet, const char *file, struct error *error);

/* --- telling them --- */

int report_text(struct worksheet *sheet, struct error *error);
int report_json(struct worksheet *sheet, struct error *error);
int report_rules(struct worksheet *sheet, bool json, struct error *error);

/* As SARIF 2.1.0; a page for browsers: audit_page, with the view "page" in the place of its "@". */
int report_sarif(struct worksheet *sheet, FILE *stream, struct error *error);
int report_html(struct worksheet *sheet, FILE *stream, struct error *error);

#endif
