/*
 * setup_cfg.h - what setup.cfg says about entry points, as setuptools reads it.
 *
 * The file is read by the rules of Python's ConfigParser: sections and options are
 * unique, a value goes on over indented lines, '%' interpolates.
 */
#ifndef INDEXER_ARCHIVE_SETUP_CFG_H
#define INDEXER_ARCHIVE_SETUP_CFG_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/slice.h"

struct setup_cfg {
	struct slice entry_points; /* the text of an entry_points.txt; null: none */
	struct slice files;        /* or the files that hold it, comma-separated; null: none */
};

/*
 * Read @text, which must be UTF-8. What is found lies in @arena. ERROR_FORMAT where
 * ConfigParser would raise; interpolation is looked at only where it matters.
 */
int setup_cfg_read(struct slice text, struct arena *arena, struct setup_cfg *out,
                   struct error *error);

/* The next of the comma-separated files, stripped; false at the end. */
bool setup_cfg_next_file(struct slice *files, struct slice *out);

#endif
