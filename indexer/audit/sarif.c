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

static void put_rule(const struct rule *rule, FILE *stream)
{
	put(stream, "{\"id\":");
	json_string(rule->name, stream);
	putc(',', stream);
	put_text("shortDescription", rule->what, stream);
	putc(',', stream);
	put_text("help", rule->remedy, stream);
	fprintf(stream, ",\"defaultConfiguration\":{\"level\":\"%s\"}}", level_name(rule->level));
}

static void put_tool(const struct findings *findings, FILE *stream)
{
	fprintf(stream,
	        "\"tool\":{\"driver\":{\"name\":\"entrydb audit\",\"version\":\"%s\",\"rules\":[",
	        entrydb_version());
	for (size_t i = 0; i < findings->rule_count; i++) {
		put(stream, i ? "," : "");
		put_rule(&findings->rules[i], stream);
	}
	put(stream, "]}}");
}

static void put_bases(const struct findings *findings, FILE *stream)
{
	put(stream, "\"originalUriBaseIds\":{");
	for (size_t i = 0; i < findings->site_count; i++) {
		fprintf(stream, "%s\"ENVIRONMENT%lld\":{\"uri\":\"file://", i ? "," : "",
		        (long long)findings->sites[i].id);
		put_uri(findings->sites[i].prefix, stream);
		put(stream, "/\"}");
	}
	putc('}', stream);
}

static void put_location(const struct finding *finding, FILE *stream)
{
	struct slice prefix = finding->prefix, file = finding->file;
	bool is_inside =
	        slice_starts(file, prefix) && file.len > prefix.len && file.ptr[prefix.len] == '/';

	put(stream, "\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"");
	if (!is_inside)
		put(stream, "file://");
	put_uri(is_inside ? slice_from(file, prefix.len + 1) : file, stream);
	putc('"', stream);
	if (is_inside)
		fprintf(stream, ",\"uriBaseId\":\"ENVIRONMENT%lld\"", (long long)finding->site);
	put(stream, "}}");
	if (!slice_is_null(finding->name)) {
		put(stream, ",\"logicalLocations\":[{\"name\":");
		json_string(finding->name, stream);
		put(stream, ",\"fullyQualifiedName\":");
		json_string(finding->group, stream);
		put(stream, "}]");
	}
	put(stream, "}]");
}

static void put_result(const struct findings *findings, const struct finding *finding,
                       bool compared, FILE *stream)
{
	const struct rule *rule = &findings->rules[finding->rule];

	put(stream, "{\"ruleId\":");
	json_string(rule->name, stream);
	fprintf(stream, ",\"ruleIndex\":%zu,\"level\":\"%s\",", finding->rule,
	        level_name(rule->level));
	put(stream, "\"message\":{\"text\":");
	json_string(finding->message, stream);
	put(stream, "},");
	put_location(finding, stream);
	fprintf(stream, ",\"partialFingerprints\":{\"entrydb/v1\":\"%s\"}", finding->fingerprint);
	if (compared)
		fprintf(stream, ",\"baselineState\":\"%s\"",
		        finding->is_known ? "unchanged" : "new");
	put(stream, ",\"properties\":{\"distribution\":");
	if (slice_is_null(finding->distribution))
		put(stream, "null");
	else
		json_string(finding->distribution, stream);
	put(stream, "}}");
}

void report_sarif(const struct findings *findings, bool compared, FILE *stream)
{
	put(stream, "{\"$schema\":\"" SCHEMA "\",\"version\":\"2.1.0\",\"runs\":[{");
	put_tool(findings, stream);
	putc(',', stream);
	put_bases(findings, stream);
	put(stream, ",\"results\":[\n");
	for (size_t i = 0; i < findings->count; i++) {
		put(stream, i ? ",\n" : "");
		put_result(findings, &findings->items[i], compared, stream);
	}
	put(stream, "\n]}]}\n");
}
