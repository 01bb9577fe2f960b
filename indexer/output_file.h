/*
 * output_file.h - a file that the user names for results: whole, or not there at all.
 */
#ifndef INDEXER_OUTPUT_FILE_H
#define INDEXER_OUTPUT_FILE_H

#include "db/base/error.h"
#include "db/base/slice.h"

/*
 * Write @text to the file at @path, in the place of what was there; "-" is standard
 * output. It takes its name when it is complete, and only its owner may read it; no link at that
 * name is followed, and root writes nothing in directories of others.
 */
int output_file_write(const char *path, struct slice text, struct error *error);

#endif
