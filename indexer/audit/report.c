/*
 * report.c - writes findings for people and for programs, from the views of report.sql.
 */
#include <string.h>

#include "db/base/cleanup.h"
#include "indexer/audit/collect.h"
#include "indexer/audit/findings.h"
#include "indexer/command.h"
#include "indexer/output.h"
#include "libquery/entrydb.h"

/* Write the columns of @view from @first on. */
static int report(struct worksheet *sheet, const char *view, int first, struct output output,
                  struct error *error)
{
	struct worksheet_rows *row = worksheet_walk(sheet, view, NULL);
	int code;

	while (worksheet_next(row))
		for (int i = 0; i < (int)output.column_count; i++)
			output_text(&output, worksheet_text(row, first + i));
	code = output_end(&output, error);
	return code < 0 ? code : worksheet_failure(sheet, error);
}

int report_text(struct worksheet *sheet, struct error *error)
{
	static const struct column columns[] = {
	        HEADING("LEVEL", STYLE_PLAIN),
	        HEADING("RULE", STYLE_PLAIN),
	        HEADING("DISTRIBUTION", STYLE_NAME),
	        HEADING("ENTRY POINT", STYLE_NAME | STYLE_WIDE),
	        HEADING("WHAT", STYLE_PROSE),
	        HEADING("ENVIRONMENT", STYLE_FAINT),
	};

	return report(sheet, "line", 0, OUTPUT_BEGIN(columns, false), error);
}

int report_json(struct worksheet *sheet, struct error *error)
{
	static const struct column columns[] = {
	        KEY("rule"), KEY("level"), KEY("distribution"), KEY("version"),     KEY("group"),
	        KEY("name"), KEY("file"),  KEY("message"),      KEY("fingerprint"),
	};

	return report(sheet, "fresh", 0, OUTPUT_BEGIN(columns, true), error);
}

int report_rules(struct worksheet *sheet, bool json, struct error *error)
{
	static const struct column columns[] = {KEY("rule"), KEY("level"), KEY("what"),
	                                        KEY("remedy")};
	struct worksheet_rows *row;

	if (json)
		return report(sheet, "rule", RULE_NAME, OUTPUT_BEGIN(columns, true), error);
	row = worksheet_walk(sheet, "rule", NULL);
	while (worksheet_next(row)) {
		print_line(STYLE_NAME, "%s (%s)", worksheet_text(row, RULE_NAME).ptr,
		           worksheet_text(row, RULE_LEVEL).ptr);
		print_line(STYLE_PLAIN, "  %s", worksheet_text(row, RULE_WHAT).ptr);
		print_line(STYLE_PLAIN, "  %s", worksheet_text(row, RULE_REMEDY).ptr);
	}
	return worksheet_failure(sheet, error);
}

/* Write the single cell of @view, a JSON document. */
static int put_document(struct worksheet *sheet, const char *view, FILE *stream,
                        struct error *error)
{
	struct worksheet_rows *row;

	worksheet_put(sheet, "program", FACTS(fact(entrydb_version())));
	row = worksheet_walk(sheet, view, NULL);
	if (worksheet_next(row))
		json_document(worksheet_text(row, 0), stream);
	return worksheet_failure(sheet, error);
}

int report_sarif(struct worksheet *sheet, FILE *stream, struct error *error)
{
	return put_document(sheet, "sarif", stream, error);
}

int report_html(struct worksheet *sheet, FILE *stream, struct error *error)
{
	const char *place = strchr(audit_page, '@');
	int code;

	fwrite(audit_page, 1, (size_t)(place - audit_page), stream);
	code = put_document(sheet, "page", stream, error);
	fputs(place + 1, stream);
	return code;
}
