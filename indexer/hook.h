/*
 * hook.h - the program as a hook of a package manager.
 *
 * A hook must never disturb its caller: it leaves no broken pipe, limits every wait, prints
 * failures only, and always exits with 0. Whatever it could not record, readers find by reading the
 * disk.
 */
#ifndef INDEXER_HOOK_H
#define INDEXER_HOOK_H

#include <stdbool.h>
#include <stddef.h>

#define HOOK_LOCK_TIMEOUT 10000 /* milliseconds of waiting for another writer */

/* The NAME in --hook NAME or --hook=NAME anywhere in the program's own options; NULL without it. */
const char *hook_asked(int argc, char *const *argv);

/* Is @name of letters, digits and hyphens, and not too long? */
bool hook_name_is_valid(const char *name);

/*
 * Protect against the caller's signals and pipes, and drain its input: the list of files is not
 * needed, but closing the pipe early would be an error for the caller.
 */
void hook_begin(const char *name);

/*
 * The command for the audit trail: "NAME: " and the harmless part of the caller's command line, or
 * NAME alone. malloc'd; NULL if out of memory.
 */
char *hook_command(const char *name);

/*
 * Extract from the command line @text (@len bytes, a NUL after each word) the program and, for a
 * known package manager, the verb and the packages. Everyone can read the audit trail, and command
 * lines may contain passwords and tokens: so only words known to be harmless are copied. malloc'd;
 * NULL if out of memory.
 *
 *     /usr/bin/python3 -m pip install --token X -U requests ./a/b-1.0.whl
 *     pip install requests b-1.0.whl
 */
char *hook_caller_words(const char *text, size_t len);

#endif
