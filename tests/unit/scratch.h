/*
 * scratch.h - a temporary directory for one test, and files in it.
 */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include "test.h"

/* A test that starts in its own directory. */
#define SCRATCH_TEST(function)                                                                     \
	cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

#define SCRATCH_PATH 512 /* bytes of a path in the directory */

/* Make it the current directory, with HOME and XDG_STATE_HOME in it, and no ENTRYDB_*. */
void scratch_enter(void);

/* Remove it with its contents. */
void scratch_leave(void);

/* For a setup function: enter a directory and set *state to a zeroed fixture. */
void *scratch_fixture(void **state, size_t size);

/* The setup without fixture, and the teardown with or without. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* Its absolute path. */
const char *scratch_top(void);

/* The absolute path of @path, in one of a few buffers used in turn. */
const char *scratch_path(const char *path);

/* Write a file, creating the directories above it. */
void scratch_write(const char *path, const void *bytes, size_t length);
void scratch_text(const char *path, const char *text);

void scratch_directory(const char *path);
void scratch_remove(const char *path); /* recursively */
bool scratch_exists(const char *path);

/* An anonymous file with these bytes. */
int scratch_memory(const void *bytes, size_t length);

/* The contents of a file, or of a built plugin of fixtures/plugins, malloc'd. */
char *scratch_read(const char *path, size_t *length);
char *scratch_plugin(const char *name, size_t *length);

/* The result, 0 to 127, of @run in a child process of that user; needs root. */
int scratch_as(unsigned user, int (*run)(void *payload), void *payload);

/* Assert that the file contains exactly @text. */
void scratch_check(const char *path, const char *text);

#endif
