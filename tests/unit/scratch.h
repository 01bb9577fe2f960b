/*
 * scratch.h - a temporary directory for one test, and files in it.
 */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include "test.h"

/* A test that begins in a directory of its own. */
#define SCRATCH_TEST(function)                                                                     \
	cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

#define SCRATCH_PATH 512 /* bytes of a path in it */

/* Make it the current directory, with HOME and XDG_STATE_HOME in it, and no ENTRYDB_*. */
void scratch_enter(void);

/* Remove it and all in it. */
void scratch_leave(void);

/* The same for cmocka, as a test's setup and teardown. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* Its absolute path. */
const char *scratch_top(void);

/* The absolute path of @path, in one of a few buffers used in turn. */
const char *scratch_path(const char *path);

/* Write a file, making the directories above it. */
void scratch_write(const char *path, const void *bytes, size_t length);
void scratch_text(const char *path, const char *text);

void scratch_directory(const char *path);
void scratch_remove(const char *path); /* and what is in it */
bool scratch_exists(const char *path);

/* A file with these bytes, of no name. */
int scratch_memory(const void *bytes, size_t length);

/* The file's bytes, malloc'd; and those of one of the plugins of fixtures/plugins, as built. */
char *scratch_read(const char *path, size_t *length);
char *scratch_plugin(const char *name, size_t *length);

/* What @run answers, 0 to 127, in a process of that user's alone; the tests run as root. */
int scratch_as(unsigned user, int (*run)(void *payload), void *payload);

/* Asserts that @text is all that the file holds. */
void scratch_check(const char *path, const char *text);

#endif
