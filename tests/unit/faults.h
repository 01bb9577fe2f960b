/*
 * faults.h - let the n-th allocation, or the n-th system call, fail.
 *
 * Works in the programs that tests/CMakeLists.txt links with faults.c, for the functions that it
 * names there; SQLite's memory is covered by its own hooks, which faults_install() sets.
 */
#ifndef TESTS_UNIT_FAULTS_H
#define TESTS_UNIT_FAULTS_H

#include <stdbool.h>

enum fault {
	FAULT_MEMORY, /* an allocation gives NULL */
	FAULT_SYSTEM, /* a system call gives -1, with errno EIO */
};

/* Once, before anything else is asked of SQLite. */
void faults_install(void);

/* From now on, number @at (from 0) fails; @stay: and all that follow. */
void faults_begin(enum fault fault, long at, bool stay);

/* No more of it. True if something did fail; where that was to be the first, the test fails
 * without. */
bool faults_end(void);

/* What each openat() calls first, in whatever thread; NULL for nothing. */
extern void (*faults_at_openat)(const char *name);

#endif
