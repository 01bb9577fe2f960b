/*
 * hostile.h - changes the pages, bytes, rows or schema of a valid database.
 */
#ifndef TESTS_FUZZ_HOSTILE_H
#define TESTS_FUZZ_HOSTILE_H

#include "db/base/slice.h"

/*
 * Change the database @file. The input is a list of changes, each a letter with arguments:
 *
 *     b page(1) offset(2) bytes\0    write these bytes there
 *     p page(1) page(1)              copy a page over another one
 *     z page(1)                      zeros
 *     t pages(1) bytes(2)            cut the file short, or make it longer
 *     s statement\0                  SQL; it may not reach other files
 *
 * Checksums and indexes are not updated.
 */
void hostile_change(const char *file, struct slice input);

#endif
