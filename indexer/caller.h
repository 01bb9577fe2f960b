/*
 * caller.h - which command a hook runs for, in words that the audit trail may keep.
 *
 * Everybody can read the trail, and command lines hold passwords and tokens. So nothing is
 * taken out: only what is known to be harmless is put in.
 *
 *     /usr/bin/python3 -m pip install --token X -U requests ./a/b-1.0.whl
 *     pip install requests b-1.0.whl
 */
#ifndef INDEXER_CALLER_H
#define INDEXER_CALLER_H

#include <stddef.h>

/*
 * Of the command line @text, @len bytes with a NUL behind each word: the program, the verb,
 * and the packages. malloc'd; NULL without memory.
 */
char *caller_words(const char *text, size_t len);

/*
 * The first ancestor of this process that is no shell, or its parent if that installs
 * something (apt-get, which runs dpkg). malloc'd; NULL if there is none or no memory.
 */
char *caller_find(void);

#endif
