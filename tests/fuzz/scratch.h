/*
 * scratch.h - a directory for one fuzz target, in memory where that can be, and trees
 * that are made in it from the input. It is removed when the process ends.
 */
#ifndef TESTS_FUZZ_SCRATCH_H
#define TESTS_FUZZ_SCRATCH_H

#include "db/base/slice.h"

/*
 * Its absolute path. The first call makes it, with HOME and XDG_STATE_HOME in it, so that
 * nothing of this machine is read; no variable of ours is set.
 */
const char *scratch(void);

/* The absolute path of @path in it, in one of a few buffers used in turn. */
const char *scratch_path(const char *path);

/* Remove all that is in it. */
void scratch_clear(void);

/* Make the directory @path in it, and those above; its absolute path. */
const char *scratch_directory(const char *path);

/* Write the file @path in it; its absolute path. */
const char *scratch_write(const char *path, struct slice bytes);

/*
 * Make what the input lists, "K path\0content\0"..., in the directory @path of it. K is a
 * letter: f file, d directory, l symbolic link to the content, p pipe; x: nobody may do
 * anything with what is there, w: everybody may, s: it is a stranger's (if this is root).
 * Nothing is made outside, whatever the names and links.
 */
void scratch_tree(const char *path, struct slice input);

#define STRANGER 65534u /* the user to whom s gives things */

/* What our commands write to stdout and stderr is not shown, sanitizers' reports are. */
void scratch_silence(void);

#endif
