/*
 * set_aside.c - see facts.h: entry points whose shared object is in the caller's quarantine
 * (libquery/native/quarantine.h). It is known by its build: where nothing is set aside, no
 * object is looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "indexer/audit/facts.h"
#include "libquery/layout.h"
#include "libquery/native/quarantine.h"
#include "libquery/object_id.h"

struct quarantine {
	struct worksheet *sheet;
	size_t count;
};

static int keep(void *payload, const char *id, const char *object, const char *reason)
{
	struct quarantine *quarantine = payload;
	struct worksheet_query *put =
	        worksheet_ask(quarantine->sheet, "INSERT OR REPLACE INTO quarantine VALUES (?, ?)");

	(void)object; /* where that build was: it may be elsewhere, too */
	worksheet_text(put, slice_of(id));
	worksheet_text(put, slice_of(reason));
	worksheet_run(put);
	quarantine->count++;
	return 0;
}

/* What is gone, or no file, is left out. */
static int identify(struct worksheet *sheet, struct slice path, struct error *error)
{
	CLEANUP(cleanup_free) char *build = NULL;
	struct error own = {0};
	struct worksheet_query *put;
	int code = object_id(path.ptr, &build, &own);

	if (code < 0)
		return error_move_failure(error, &own);
	put = worksheet_ask(sheet, "INSERT INTO object VALUES (?, ?)");
	worksheet_text(put, path);
	worksheet_text(put, slice_of(build));
	worksheet_run(put);
	return 0;
}

int set_aside_read(struct worksheet *sheet, struct error *error)
{
	CLEANUP(cleanup_free) char *directory = NULL;
	struct quarantine quarantine = {.sheet = sheet};
	struct worksheet_query *row;
	int code = layout_quarantine(&directory) < 0 ? error_nomem(error) : 0;

	if (code == 0 && directory)
		code = quarantine_walk(directory, keep, &quarantine, error);
	if (code < 0 || quarantine.count == 0)
		return code;
	row = worksheet_ask(sheet, "SELECT DISTINCT s.path || '/' || a.object FROM announced a "
	                           "JOIN site s ON s.id = a.site WHERE a.object IS NOT NULL");
	while (code == 0 && worksheet_next(row))
		if (worksheet_column(row, 0).ptr)
			code = identify(sheet, worksheet_column(row, 0), error);
	return code < 0 ? code : worksheet_failure(sheet, error);
}
