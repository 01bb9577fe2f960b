/*
 * page.c - parses pages of an index: JSON by SQLite, HTML by a search for anchors, the only
 * elements that PEP 503 defines.
 */
#include "indexer/package_index/page.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "db/base/array.h"
#include "db/base/path.h"
#include "db/base/text.h"

#define PROJECTS_MAX ((size_t)4 << 20)
#define FILES_MAX    65536 /* of a project: 32 pages are kept in memory, with a kilobyte for each */
#define MARKS_MAX    ((size_t)8 << 20) /* in JSON: SQLite takes 24 bytes for each value or more */
#define SPACE        " \t\r\n\f"

void page_free(struct page *page)
{
	free(page->files);
	arena_free(&page->arena);
}

static int add(struct page *page, const struct page_file *file, bool failed, struct error *error)
{
	if (page->count == page->most)
		return error_set(error, ERROR_LIMIT, "more than %zu files on a page", page->most);
	if (failed || !array_grow(&page->files, page->count, sizeof(*page->files), &page->room))
		return error_nomem(error);
	if (file->name.len > 0 && file->name.len <= NAME_MAX && !slice_is_null(file->url))
		page->files[page->count++] = *file;
	return 0;
}

/* --- JSON --- */

static int read_json(struct worksheet *sheet, const char *view, struct slice body,
                     struct page *page, struct error *error)
{
	struct worksheet_rows *rows;
	bool failed = false, is_page = false;
	size_t marks = 0;
	int code;

	for (size_t i = 0; i < body.len; i++)
		marks += strchr("[{:,", body.ptr[i]) != NULL;
	if (marks > MARKS_MAX)
		return error_set(error, ERROR_LIMIT, "more than %zu values on a page", MARKS_MAX);
	worksheet_put(sheet, "page", FACTS(fact(1), fact(body)));
	for (rows = worksheet_walk(sheet, "sound", NULL); worksheet_next(rows);)
		is_page = true;
	code = is_page ? 0 : error_set(error, ERROR_FORMAT, "no page of an index");
	rows = worksheet_walk(sheet, view, NULL);
	while (code == 0 && worksheet_next(rows)) {
		struct page_file file = {.size = worksheet_number(rows, 5),
		                         .is_yanked = worksheet_number(rows, 6) != 0};
		struct slice *const texts[] = {&file.name, &file.url, &file.sha256,
		                               &file.metadata_sha256, &file.requires_python};

		for (int i = 0; i < 5; i++)
			*texts[i] = arena_copy(&page->arena, worksheet_text(rows, i), &failed);
		code = add(page, &file, failed, error);
	}
	worksheet_put(sheet, "page", FACTS(fact(1), fact_null()));
	return code < 0 ? code : worksheet_failure(sheet, error);
}

/* --- HTML --- */

/* Decode "&#43;" or "&#x2b;" (Go writes '+' so), if it is ASCII; returns its length, or 0. */
static size_t number_of(struct slice text, char *to)
{
	char copy[8];
	unsigned c;
	int length = 0;

	snprintf(copy, sizeof(copy), "%.*s", (int)(text.len < 8 ? text.len : 8), text.ptr);
	if ((sscanf(copy, "&#%3u;%n", &c, &length) != 1 &&
	     sscanf(copy, "&#%*1[xX]%2x;%n", &c, &length) != 1) ||
	    length == 0 || c == 0 || c >= 0x80)
		return 0;
	*to = (char)c;
	return (size_t)length;
}

/* Decode the entity at the start of @text, such as "&gt;"; returns its length. */
static size_t unescape(struct slice text, char *to)
{
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
	size_t length = number_of(text, to);

	if (length > 0)
		return length;
	*to = text.ptr[0];
	for (size_t i = 0; *to == '&' && i < 4; i++)
		if (slice_starts(text, slice_of(entities[i]))) {
			*to = "&<>\""[i];
			return strlen(entities[i]);
		}
	return 1;
}

static struct slice decode_url(struct page *page, struct slice text, bool *failed)
{
	char *to = (char *)arena_copy(&page->arena, text, failed).ptr;

	return (struct slice){to, to ? text_unescape_url(to, text.len) : 0};
}

static struct slice decode_entities(struct page *page, struct slice text, bool *failed)
{
	char *to = arena_alloc(&page->arena, text.len + 1), *end = to;

	*failed |= !to;
	while (to && text.len > 0)
		text = slice_from(text, unescape(text, end++));
	if (to)
		*end = '\0';
	return slice_between(to, end);
}

/* The text after the next @mark; empty if there is none. */
static struct slice skip_past(struct slice text, const char *mark)
{
	const char *at = memmem(text.ptr, text.len, mark, strlen(mark));

	return slice_from(text, at ? (size_t)(at - text.ptr) + strlen(mark) : text.len);
}

/* Take the text before the first of the characters @ends; with @among, a run of them. */
static struct slice take_until(struct slice *text, const char *ends, bool among)
{
	size_t length = 0;
	struct slice taken;

	while (length < text->len && text->ptr[length] && !strchr(ends, text->ptr[length]) != among)
		length++;
	taken = slice_first(*text, length);
	*text = slice_from(*text, length);
	return taken;
}

/* Take the next attribute of a tag; false at its end. */
static bool take_attribute(struct slice *text, struct slice *name, struct slice *value)
{
	char quote;

	take_until(text, SPACE "/", true);
	*name = take_until(text, "=>" SPACE, false);
	*value = SLICE("");
	take_until(text, SPACE, true);
	if (text->len == 0 || text->ptr[0] != '=')
		return name->len > 0;
	*text = slice_from(*text, 1);
	take_until(text, SPACE, true);
	quote = text->len ? text->ptr[0] : '\0';
	if (quote == '"' || quote == '\'') {
		*text = slice_from(*text, 1);
		*value = take_until(text, quote == '"' ? "\"" : "'", false);
		*text = slice_from(*text, text->len > 0);
	} else {
		*value = take_until(text, ">" SPACE, false);
	}
	return true;
}

static bool is_called(struct slice name, const char *wanted)
{
	return name.len == strlen(wanted) && strncasecmp(name.ptr, wanted, name.len) == 0;
}

static struct slice sha256_in(struct slice text)
{
	return slice_starts(text, SLICE("sha256=")) ? slice_from(text, 7) : (struct slice){0};
}

static void read_attribute(struct page *page, struct slice name, struct slice value,
                           struct page_file *file, bool *failed)
{
	struct slice text = decode_entities(page, value, failed);

	if (is_called(name, "href")) {
		struct slice path = slice_before(slice_before(text, '#'), '?');

		if (slice_ends(path, SLICE("/")))
			path = slice_first(path, path.len - 1);
		file->url = text;
		file->name = decode_url(page, path_base(path), failed);
		file->sha256 = sha256_in(skip_past(text, "#"));
	} else if (is_called(name, "data-requires-python")) {
		file->requires_python = text;
	} else if (is_called(name, "data-yanked")) {
		file->is_yanked = true;
	} else if (is_called(name, "data-core-metadata") ||
	           is_called(name, "data-dist-info-metadata")) {
		file->metadata_sha256 = sha256_in(text);
	}
}

static int read_html(struct slice body, struct page *page, struct error *error)
{
	bool failed = false;
	int code = 0;

	while (code == 0 && (body = skip_past(body, "<")).len > 0) {
		struct slice name, value, tag = take_until(&body, ">" SPACE, false);
		struct page_file file = {0};

		if (slice_starts(tag, SLICE("!--")))
			body = skip_past(slice_between(tag.ptr, body.ptr + body.len), "-->");
		if (is_called(tag, "script"))
			body = skip_past(body, "</script");
		while (is_called(tag, "a") && take_attribute(&body, &name, &value))
			read_attribute(page, name, value, &file, &failed);
		code = add(page, &file, failed, error);
	}
	return code;
}

int page_read(struct worksheet *sheet, const char *type, const char *view, struct slice body,
              struct page *out, struct error *error)
{
	out->most = strcmp(view, "file") == 0 ? FILES_MAX : PROJECTS_MAX;
	if (strcasestr(type, "json"))
		return read_json(sheet, view, body, out, error);
	if (strcasestr(type, "html"))
		return read_html(body, out, error);
	return error_set(error, ERROR_FORMAT, "no page of an index, but '%.40s'", type);
}
