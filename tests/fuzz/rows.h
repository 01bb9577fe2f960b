/*
 * rows.h - what holds for the rows of every scan, whatever was read.
 */
#ifndef TESTS_FUZZ_ROWS_H
#define TESTS_FUZZ_ROWS_H

#include "db/record.h"

/* Each distribution in a place of its own, sound or broken, with whole entry points. */
void rows_check(const struct root_record *root);

/* The same distributions, with as many entry points. */
void rows_check_same(const struct root_record *a, const struct root_record *b);

#endif
