/*
 * page.h - what an index says of a project (PEP 503, 592, 658, 691, 700), and of its projects.
 *
 * Both forms are read, JSON and HTML. Nothing of a page is believed: URLs are for the transfers to
 * judge, hashes to be compared.
 */
#ifndef INDEXER_PACKAGE_INDEX_PAGE_H
#define INDEXER_PACKAGE_INDEX_PAGE_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/worksheet.h"

#define PAGE_ACCEPT                                                                                \
	"application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "         \
	"text/html;q=0.01"

/* A file on a page; texts are null where nothing is said. */
struct page_file {
	struct slice name, url;               /* as it stands there: it may be relative */
	struct slice sha256, metadata_sha256; /* hexadecimal */
	struct slice requires_python;
	int64_t size; /* bytes; 0: not known */
	bool is_yanked;
};

struct page {
	struct page_file *files; /* malloc'd */
	size_t count, room;
	struct slice base; /* of HTML: what URLs are relative to, if not the page's own; or null */
	struct arena arena;
};

/* The script of the worksheet that reads JSON, by SQLite. */
extern const char page_script[];

/*
 * Read @body, of that Content-Type. @is_root: its files are the projects, by their names.
 * ERROR_FORMAT: it is no page of an index; ERROR_LIMIT: of more than a page may have.
 */
int page_read(struct worksheet *sheet, const char *type, bool is_root, struct slice body,
              struct page *out, struct error *error);
void page_free(struct page *page);

#endif
