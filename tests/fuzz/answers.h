/*
 * answers.h - what the library answers about path entries, as text to compare; and the
 * databases that it is answered from.
 */
#ifndef TESTS_FUZZ_ANSWERS_H
#define TESTS_FUZZ_ANSWERS_H

#include <stdint.h>

#include "libquery/entrydb.h"

/* All of entrydb_explain() and entrydb_survey() about these path entries; malloc'd. */
char *answers_of(char *const *path, size_t count, enum entrydb_fresh fresh);

/* It must be the same as @before. */
void answers_check(const char *before, char *const *path, size_t count, enum entrydb_fresh fresh);

/* `entrydb update PATH`, which must be done, whatever there was. */
void answers_update(const char *path);

/* The same where it must not be done. */
void answers_update_refused(const char *path);

/* The same for what may be nothing that can be indexed. */
void answers_update_any(const char *path);

/* What one statement says of a database; it must be sound in the eyes of SQLite, too. */
int64_t answers_count(const char *file, const char *statement);
void answers_check_sound(const char *file);

#endif
