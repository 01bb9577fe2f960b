/*
 * page.h - what an index says of a project (PEP 503, 592, 658, 691, 700), and of its projects, in
 * JSON or in HTML.
 *
 * Nothing of a page is believed: the transfers judge its URLs, and hashes are compared.
 */
#ifndef INDEXER_PACKAGE_INDEX_PAGE_H
#define INDEXER_PACKAGE_INDEX_PAGE_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/worksheet.h"

/* A file of a project, or, on the page of all projects, one of them; texts may be null. */
struct page_file {
	struct slice name, url;               /* the URL may be relative */
	struct slice sha256, metadata_sha256; /* hexadecimal */
	struct slice requires_python;
	int64_t size; /* bytes; 0: not known */
	bool is_yanked;
	struct slice version; /* by its name; see choose.h */
	bool is_wheel;        /* and no source distribution */
};

struct page {
	struct page_file *files; /* malloc'd */
	size_t count, room;
	struct arena arena;
};

/* The script of the worksheet that reads JSON, by SQLite. */
extern const char page_script[];

/*
 * Read @body, of that Content-Type; @view: "file" or "project". ERROR_FORMAT: it is no page of an
 * index; ERROR_LIMIT: it lists too many files.
 */
int page_read(struct worksheet *sheet, const char *type, const char *view, struct slice body,
              struct page *out, struct error *error);
void page_free(struct page *page);

#endif
