/*
 * page.h - parses pages of an index: the files of a project, or the list of all projects (PEP 503,
 * 592, 658, 691, 700), in JSON or HTML; and chooses the files to read.
 *
 * A page is not trusted: transfers check its URLs, and hashes are compared.
 */
#ifndef INDEXER_PACKAGE_INDEX_PAGE_H
#define INDEXER_PACKAGE_INDEX_PAGE_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/worksheet.h"

/* A file of a project, or a project on the list of all projects; texts may be null. */
struct page_file {
	struct slice name, url;               /* the URL may be relative */
	struct slice sha256, metadata_sha256; /* hexadecimal */
	struct slice requires_python;
	int64_t size; /* bytes; 0: unknown */
	bool is_yanked;
	struct slice version; /* from its name; see choose.c */
	bool is_wheel;        /* not a source distribution */
};

struct page {
	struct page_file *files; /* malloc'd */
	size_t count, room, most;
	struct arena arena;
};

/* The SQL script of the worksheet that parses JSON. */
extern const char page_script[];

/*
 * Parse @body of that Content-Type; @view: "file" or "project". ERROR_FORMAT: not a page of an
 * index; ERROR_LIMIT: too many files.
 */
int page_read(struct worksheet *sheet, const char *type, const char *view, struct slice body,
              struct page *out, struct error *error);
void page_free(struct page *page);

/* Which files of a project to read: choose.c. */
struct choice {
	const char *python; /* "3.12" */
	bool all_versions;  /* not only the newest one */
};

/*
 * Reduce @page to the files to read, and set their version and is_wheel. As in pip: files of the
 * @project (normalized), not yanked unless pinned, for this Python; pre-releases only if there is
 * no other version; for each version a wheel, of any platform, rather than the sources.
 * @specifiers: version specifiers, or null. ERROR_NOMEM.
 */
int page_choose(const struct choice *choice, struct page *page, struct slice project,
                struct slice specifiers, struct error *error);

#endif
