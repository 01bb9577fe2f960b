/*
 * scratch.h - a temporary directory for a fuzz target, in memory if possible, and trees created in
 * it from the input. It is removed when the process ends.
 */
#ifndef TESTS_FUZZ_SCRATCH_H
#define TESTS_FUZZ_SCRATCH_H

#include "db/base/slice.h"

/*
 * Its absolute path. The first call creates it, with HOME and XDG_STATE_HOME in it and all
 * ENTRYDB_* unset, so that nothing else on the machine is read.
 */
const char *scratch(void);

/* The absolute path of @path in it, in one of a few buffers used in turn. */
const char *scratch_path(const char *path);

/* Remove its contents. */
void scratch_clear(void);

/* Create the directory @path in it, with parents; returns its absolute path. */
const char *scratch_directory(const char *path);

/* Write the file @path in it; returns its absolute path. */
const char *scratch_write(const char *path, struct slice bytes);

/*
 * Create the files listed in the input, "K path\0content\0"..., in the directory @path of it. K is
 * a letter: f file, d directory, l symbolic link to the content, p pipe; x: remove all permissions
 * of an existing file, w: make it world-writable, s: give it to STRANGER (if root). Nothing is
 * created outside, whatever the names and links.
 */
void scratch_tree(const char *path, struct slice input);

#define STRANGER 65534u /* the user to whom s gives files */

/* Discard stdout and stderr of the code under test; sanitizers' reports are still shown. */
void scratch_silence(void);

#endif
