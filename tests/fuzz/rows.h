/*
 * rows.h - invariants of the rows of every scan.
 */
#ifndef TESTS_FUZZ_ROWS_H
#define TESTS_FUZZ_ROWS_H

#include "db/record.h"

/* Each distribution has its own position, is valid or broken, and has complete entry points. */
void rows_check(const struct root_record *root);

/* Both have the same distributions with the same number of entry points. */
void rows_check_same(const struct root_record *a, const struct root_record *b);

#endif
