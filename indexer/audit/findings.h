/*
 * findings.h - applies the rules to the facts, compares the findings with a baseline, and reports
 * them.
 *
 * All data stays in the worksheet; see report.sql.
 */
#ifndef INDEXER_AUDIT_FINDINGS_H
#define INDEXER_AUDIT_FINDINGS_H

#include "db/worksheet.h"

/*
 * The first columns of the views "told" (all findings) and "fresh" (those not in the baseline):
 * rule, level, distribution, version, group, name, file, message, fingerprint.
 */
#define FINDING_COLUMNS 9

/* The columns of the table "rule", and of the view "summary". */
enum { RULE_POSITION, RULE_NAME, RULE_LEVEL, RULE_WHAT, RULE_REMEDY };
enum { SUMMARY_ERRORS, SUMMARY_WARNINGS, SUMMARY_NOTES, SUMMARY_TEXT };

/* Apply the rules. *incomplete is set, with a message, if hostile input makes one take too long. */
int findings_judge(struct worksheet *sheet, bool *incomplete, struct error *error);

/*
 * Mark the findings in the baseline @file as known: lines written by 'entrydb audit --json'. Fails
 * if the file cannot be read or parsed.
 */
int findings_compare(struct worksheet *sheet, const char *file, struct error *error);

/* --- reports --- */

int report_text(struct worksheet *sheet, struct error *error);
int report_json(struct worksheet *sheet, struct error *error);
int report_rules(struct worksheet *sheet, bool json, struct error *error);

/* SARIF 2.1.0; and an HTML page: audit_page, with "@" replaced by the view "page". */
int report_sarif(struct worksheet *sheet, FILE *stream, struct error *error);
int report_html(struct worksheet *sheet, FILE *stream, struct error *error);

#endif
