/*
 * records.h - a small root with all that can stand in one, for the tests of the
 * writer and the reader; and any database as text, to compare.
 */
#ifndef TESTS_UNIT_RECORDS_H
#define TESTS_UNIT_RECORDS_H

#include "db/writer.h"

/* The root @path, with @count distributions (at most RECORDS_MAX), from static memory. */
#define RECORDS_MAX 8
struct root_record records_root(const char *path, size_t count);

/* Put the root and its distributions, log it, and commit. */
int records_store(const char *file, const char *path, size_t count, struct error *error);

/* All roots, distributions, entry points, targets and events in @file, malloc'd; NULL: error. */
char *records_dump(const char *file, struct error *error);

#endif
