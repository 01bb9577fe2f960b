/*
 * page.c - reads the pages of an index: JSON by SQLite, HTML by looking for anchors, which is all
 * that PEP 503 puts into it.
 */
#include "indexer/package_index/page.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "db/base/unicode.h"

#define FILES_MAX     ((size_t)4 << 20) /* on a page, or projects of an index */
#define ATTRIBUTE_MAX 64                /* attributes of an anchor that are looked at */

void page_free(struct page *page)
{
	free(page->files);
	arena_free(&page->arena);
}

static int add(struct page *page, const struct page_file *file, struct error *error)
{
	if (page->count == FILES_MAX)
		return error_set(error, ERROR_LIMIT, "more than %zu files on a page", FILES_MAX);
	if (!array_grow(&page->files, page->count, sizeof(*page->files), &page->room))
		return error_nomem(error);
	page->files[page->count++] = *file;
	return 0;
}

/* --- JSON --- */

static struct slice keep(struct page *page, struct worksheet_rows *rows, int column, bool *failed)
{
	return arena_copy(&page->arena, worksheet_text(rows, column), failed);
}

static int read_json(struct worksheet *sheet, bool is_root, struct slice body, struct page *page,
                     struct error *error)
{
	struct worksheet_rows *rows;
	bool failed = false;
	int code = 0;

	worksheet_put(sheet, "page", FACTS(fact(1), fact(body)));
	rows = worksheet_walk(sheet, "is_page", NULL);
	if (!worksheet_next(rows))
		code = error_set(error, ERROR_FORMAT, "no page of an index");
	while (code == 0 && worksheet_next(rows))
		;
	rows = worksheet_walk(sheet, is_root ? "project" : "file", NULL);
	while (code == 0 && worksheet_next(rows)) {
		struct page_file file = {.name = keep(page, rows, 0, &failed)};

		if (!is_root) {
			file.url = keep(page, rows, 1, &failed);
			file.sha256 = keep(page, rows, 2, &failed);
			file.metadata_sha256 = keep(page, rows, 3, &failed);
			file.requires_python = keep(page, rows, 4, &failed);
			file.size = worksheet_number(rows, 5);
			file.is_yanked = worksheet_number(rows, 6) != 0;
		}
		if (!slice_is_null(file.name) && (is_root || !slice_is_null(file.url)))
			code = failed ? error_nomem(error) : add(page, &file, error);
	}
	worksheet_put(sheet, "page", FACTS(fact(1), fact_null()));
	return code < 0 ? code : worksheet_failure(sheet, error);
}

/* --- HTML --- */

/* What an attribute's value means; @escape '%' of a URL, '&' of HTML. */
static struct slice decode(struct page *page, struct slice text, char escape, bool *failed)
{
	static const struct {
		const char *name, *means;
	} entities[] = {
	        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}};
	char *to = arena_alloc(&page->arena, text.len + 1), *end = to;

	if (!to) {
		*failed = true;
		return (struct slice){0};
	}
	while (text.len > 0) {
		size_t i = 0, length = 1;

		*end = text.ptr[0];
		if (escape == '%' && text.len > 2 && text.ptr[0] == '%' &&
		    isxdigit((unsigned char)text.ptr[1]) && isxdigit((unsigned char)text.ptr[2])) {
			const char digits[] = {text.ptr[1], text.ptr[2], '\0'};

			*end = (char)strtol(digits, NULL, 16);
			length = 3;
		}
		while (escape == '&' && text.ptr[0] == '&' && length == 1 && i < 5) {
			if (slice_starts(text, slice_of(entities[i].name))) {
				*end = entities[i].means[0];
				length = strlen(entities[i].name);
			}
			i++;
		}
		end++;
		text = slice_from(text, length);
	}
	*end = '\0';
	return slice_between(to, end);
}

/* Past what is next; all of it where that does not come. */
static struct slice skip_past(struct slice text, struct slice mark)
{
	const char *at = memmem(text.ptr, text.len, mark.ptr, mark.len);

	return slice_from(text, at ? (size_t)(at - text.ptr) + mark.len : text.len);
}

static void skip_space(struct slice *text)
{
	while (text->len > 0 && isspace((unsigned char)text->ptr[0]))
		*text = slice_from(*text, 1);
}

static struct slice take_until(struct slice *text, const char *ends)
{
	size_t length = 0;
	struct slice taken;

	while (length < text->len && !strchr(ends, text->ptr[length]))
		length++;
	taken = slice_first(*text, length);
	*text = slice_from(*text, length);
	return taken;
}

/* The next attribute of a tag: false at its end, which is taken, too. */
static bool take_attribute(struct slice *text, struct slice *name, struct slice *value)
{
	skip_space(text);
	*name = take_until(text, "=> \t\r\n\f");
	*value = SLICE("");
	if (name->len == 0 && (text->len == 0 || text->ptr[0] == '>'))
		return false;
	skip_space(text);
	if (text->len == 0 || text->ptr[0] != '=')
		return true;
	*text = slice_from(*text, 1);
	skip_space(text);
	if (text->len > 0 && strchr("\"'", text->ptr[0])) {
		char quote[] = {text->ptr[0], '\0'};

		*text = slice_from(*text, 1);
		*value = take_until(text, quote);
		*text = slice_from(*text, text->len > 0);
	} else {
		*value = take_until(text, "> \t\r\n\f");
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
	struct slice text = decode(page, value, '&', failed);

	if (is_called(name, "href")) {
		struct slice path = slice_before(slice_before(text, '#'), '?');
		const char *mark = memchr(text.ptr, '#', text.len);

		if (slice_ends(path, SLICE("/")))
			path = slice_first(path, path.len - 1);
		file->url = text;
		file->name = decode(page, path_base(path), '%', failed);
		if (mark)
			file->sha256 = sha256_in(slice_between(mark + 1, text.ptr + text.len));
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

	while (code == 0 && body.len > 0) {
		struct slice name, value, tag;
		struct page_file file = {0};

		take_until(&body, "<");
		body = slice_from(body, body.len > 0);
		if (slice_starts(body, SLICE("!--"))) {
			body = skip_past(body, SLICE("-->"));
			continue;
		}
		tag = take_until(&body, "> \t\r\n\f");
		for (size_t i = 0; i < ATTRIBUTE_MAX && take_attribute(&body, &name, &value); i++)
			if (is_called(tag, "a") || is_called(tag, "base"))
				read_attribute(page, name, value, &file, &failed);
		if (is_called(tag, "script"))
			body = skip_past(body, SLICE("</script"));
		if (is_called(tag, "base") && slice_is_null(page->base))
			page->base = file.url;
		else if (is_called(tag, "a") && file.name.len > 0)
			code = add(page, &file, error);
		if (failed)
			code = error_nomem(error);
	}
	return code;
}

int page_read(struct worksheet *sheet, const char *type, bool is_root, struct slice body,
              struct page *out, struct error *error)
{
	if (strcasestr(type, "json"))
		return read_json(sheet, is_root, body, out, error);
	if (strcasestr(type, "html"))
		return read_html(body, out, error);
	return error_set(error, ERROR_FORMAT, "no page of an index, but '%.40s'", type);
}
