/*
 * faults.h - makes the n-th allocation or system call fail.
 *
 * Works in programs that tests/CMakeLists.txt links with faults.c, for the functions listed there;
 * SQLite's memory is covered by its own hooks, which faults_install() sets.
 */
#ifndef TESTS_UNIT_FAULTS_H
#define TESTS_UNIT_FAULTS_H

#include <stdbool.h>

enum fault {
	FAULT_MEMORY, /* an allocation returns NULL */
	FAULT_SYSTEM, /* a system call returns -1 with errno EIO */
};

/* Call once, before any other use of SQLite. */
void faults_install(void);

/* Let call number @at (from 0) fail; @stay: and all later ones. */
void faults_begin(enum fault fault, long at, bool stay);

/* Stop. Returns whether a call has failed; if no call of the first run did, the test fails. */
bool faults_end(void);

/* Called at the start of each openat(), in any thread; may be NULL. */
extern void (*faults_at_openat)(const char *name);

#endif
