/*
 * sarif.c - SARIF 2.1.0, the form that code scanning takes.
 * https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
 *
 * Files are named relative to the prefix of their environment (originalUriBaseIds), so
 * that a result is the same wherever the environment is.
 */
#include "indexer/audit/findings.h"
#include "indexer/output.h"
#include "libquery/entrydb.h"

#define SCHEMA                                                                                     \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"                      \
	"sarif-schema-2.1.0.json"

static void put(FILE *stream, const char *text)
{
	fputs(text, stream);
}

/* RFC 3986: what is neither unreserved nor a slash is written by its bytes. */
static void put_uri(struct slice path, FILE *stream)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                            "0123456789-._~/";

	for (size_t i = 0; i < path.len; i++)
		if (path.ptr[i] && strchr(plain, path.ptr[i]))
			putc(path.ptr[i], stream);
		else
			fprintf(stream, "%%%02X", (unsigned char)path.ptr[i]);
}

static void put_text(const char *key, struct slice text, FILE *stream)
{
	fprintf(stream, "\"%s\":{\"text\":", key);
	json_string(text, stream);
	putc('}', stream);
}

static void put_tool(struct worksheet *sheet, FILE *stream)
{
	struct worksheet_rows *row = worksheet_walk(sheet, "rule", NULL);
	const char *between = "";

	fprintf(stream,
	        "\"tool\":{\"driver\":{\"name\":\"entrydb audit\",\"version\":\"%s\",\"rules\":[",
	        entrydb_version());
	for (; worksheet_next(row); between = ",") {
		fprintf(stream, "%s{\"id\":", between);
		json_string(worksheet_text(row, RULE_NAME), stream);
		putc(',', stream);
		put_text("shortDescription", worksheet_text(row, RULE_WHAT), stream);
		putc(',', stream);
		put_text("help", worksheet_text(row, RULE_REMEDY), stream);
		fprintf(stream, ",\"defaultConfiguration\":{\"level\":\"%s\"}}",
		        worksheet_text(row, RULE_LEVEL).ptr);
	}
	put(stream, "]}}");
}

static void put_bases(struct worksheet *sheet, FILE *stream)
{
	enum { ID, PATH, PREFIX };
	struct worksheet_rows *row = worksheet_walk(sheet, "site", NULL);
	const char *between = "";

	put(stream, "\"originalUriBaseIds\":{");
	for (; worksheet_next(row); between = ",") {
		fprintf(stream, "%s\"ENVIRONMENT%lld\":{\"uri\":\"file://", between,
		        (long long)worksheet_number(row, ID));
		put_uri(worksheet_text(row, PREFIX), stream);
		put(stream, "/\"}");
	}
	putc('}', stream);
}

static void put_location(struct worksheet_rows *row, FILE *stream)
{
	struct slice prefix = worksheet_text(row, FINDING_PREFIX);
	struct slice file = worksheet_text(row, FINDING_FILE);
	struct slice name = worksheet_text(row, FINDING_NAME);
	bool is_inside =
	        slice_starts(file, prefix) && file.len > prefix.len && file.ptr[prefix.len] == '/';

	put(stream, "\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"");
	if (!is_inside)
		put(stream, "file://");
	put_uri(is_inside ? slice_from(file, prefix.len + 1) : file, stream);
	putc('"', stream);
	if (is_inside)
		fprintf(stream, ",\"uriBaseId\":\"ENVIRONMENT%lld\"",
		        (long long)worksheet_number(row, FINDING_SITE));
	put(stream, "}}");
	if (!slice_is_null(name)) {
		put(stream, ",\"logicalLocations\":[{\"name\":");
		json_string(name, stream);
		put(stream, ",\"fullyQualifiedName\":");
		json_string(worksheet_text(row, FINDING_GROUP), stream);
		put(stream, "}]");
	}
	put(stream, "}]");
}

static void put_result(struct worksheet_rows *row, bool compared, FILE *stream)
{
	struct slice distribution = worksheet_text(row, FINDING_DISTRIBUTION);

	put(stream, "{\"ruleId\":");
	json_string(worksheet_text(row, FINDING_RULE), stream);
	fprintf(stream, ",\"ruleIndex\":%lld,\"level\":\"%s\",",
	        (long long)worksheet_number(row, FINDING_POSITION) - 1,
	        worksheet_text(row, FINDING_LEVEL).ptr);
	put_text("message", worksheet_text(row, FINDING_MESSAGE), stream);
	putc(',', stream);
	put_location(row, stream);
	fprintf(stream, ",\"partialFingerprints\":{\"entrydb/v1\":\"%s\"}",
	        worksheet_text(row, FINDING_FINGERPRINT).ptr);
	if (compared)
		fprintf(stream, ",\"baselineState\":\"%s\"",
		        worksheet_number(row, FINDING_IS_KNOWN) ? "unchanged" : "new");
	put(stream, ",\"properties\":{\"distribution\":");
	if (slice_is_null(distribution))
		put(stream, "null");
	else
		json_string(distribution, stream);
	put(stream, "}}");
}

void report_sarif(struct worksheet *sheet, bool compared, FILE *stream)
{
	struct worksheet_rows *row = worksheet_walk(sheet, "told", NULL);
	const char *between = "";

	put(stream, "{\"$schema\":\"" SCHEMA "\",\"version\":\"2.1.0\",\"runs\":[{");
	put_tool(sheet, stream);
	putc(',', stream);
	put_bases(sheet, stream);
	put(stream, ",\"results\":[\n");
	for (; worksheet_next(row); between = ",\n") {
		put(stream, between);
		put_result(row, compared, stream);
	}
	put(stream, "\n]}]}\n");
}
