/*
 * faults.h - let the n-th allocation, or the n-th system call, fail.
 *
 * Works in programs that are linked with --wrap for the functions in faults.c
 * (tests/CMakeLists.txt has the list); SQLite's memory is covered by its own
 * hooks, which faults_install() sets.
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

/* No more of it. True if something did fail. */
bool faults_end(void);

#endif
