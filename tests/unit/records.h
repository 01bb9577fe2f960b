/*
 * records.h - a small root with every kind of content for the tests of the writer and the reader;
 * and the contents of a database as text, for comparisons.
 */
#ifndef TESTS_UNIT_RECORDS_H
#define TESTS_UNIT_RECORDS_H

#include "db/writer.h"

/* The root @path, with @count distributions (at most RECORDS_MAX), from static memory. */
#define RECORDS_MAX 8
struct root_record records_root(const char *path, size_t count);

/* Write the root and its distributions with their events, and commit. */
int records_store(const char *file, const char *path, size_t count, struct error *error);

/* All roots, distributions, entry points, targets and events in @file, malloc'd; NULL on error. */
char *records_dump(const char *file, struct error *error);

#endif
