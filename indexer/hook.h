/*
 * hook.h - how the program behaves when a package manager runs it.
 *
 * A hook must never disturb its caller: it leaves no broken pipe, limits each wait, prints
 * failures only, and always exits with 0. What it could not record, readers find by reading the
 * disk.
 */
#ifndef INDEXER_HOOK_H
#define INDEXER_HOOK_H

#include <stdbool.h>
#include <stddef.h>

#define HOOK_LOCK_TIMEOUT 10000 /* milliseconds; how long a hook waits for another writer */

/* NAME of --hook NAME, or of --hook=NAME, wherever in the command line; NULL without. */
const char *hook_asked(int argc, char *const *argv);

/* Letters, digits and hyphens, not too many. */
bool hook_name_is_valid(const char *name);

/*
 * Be safe from the caller's signals and pipes, and read what the caller sends: its
 * list of files is not needed, but closing the pipe early would be its error.
 */
void hook_begin(const char *name);

/*
 * For the audit trail: "NAME: " and the command that called the hook, as far as it is
 * harmless, or NAME alone. malloc'd, or NULL without memory.
 */
char *hook_command(const char *name);

/*
 * Of the command line @text, @len bytes with a NUL behind each word: the program and, of a package
 * manager that is known, the verb and the packages. Everybody can read the trail, and command lines
 * hold passwords and tokens. So nothing is taken out: only what is known to be harmless is put in.
 * malloc'd; NULL without memory.
 *
 *     /usr/bin/python3 -m pip install --token X -U requests ./a/b-1.0.whl
 *     pip install requests b-1.0.whl
 */
char *hook_caller_words(const char *text, size_t len);

#endif
