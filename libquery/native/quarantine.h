/*
 * quarantine.h - records shared objects that crashed or hung while being loaded, so that they are
 * not loaded again.
 *
 *     DIRECTORY/ID          quarantined: a line with the reason, and the path of the object
 *     DIRECTORY/ID.loading  locked (flock) by the process that is loading it; the path
 *
 * A process that ends while loading an object leaves ID.loading unlocked, which the next process
 * detects. The ID is the object's build-id, or its hash: another build is not affected.
 *
 * The directory belongs to one user. A file counts only if it and every directory on its path
 * belong to root or the effective user and others cannot write there: otherwise other users could
 * disable plugins. Anything other than a regular file is ignored unread.
 */
#ifndef LIBQUERY_NATIVE_QUARANTINE_H
#define LIBQUERY_NATIVE_QUARANTINE_H

#include <stdbool.h>

#include "db/base/error.h"

/*
 * Is the object quarantined? 1, with *reason malloc'd; 0; or a failure. An object whose loading
 * ended its process is quarantined by this call.
 */
int quarantine_find(const char *directory, const char *id, char **reason, struct error *error);

/* Quarantine an object. @reason: one line. */
int quarantine_add(const char *directory, const char *id, const char *object, const char *reason,
                   struct error *error);

/* Remove it from quarantine; 1, or 0 if there was no such ID. */
int quarantine_remove(const char *directory, const char *id, struct error *error);

/* Callback for each quarantined object; non-zero ends the walk. */
typedef int quarantine_each(void *payload, const char *id, const char *object, const char *reason);

int quarantine_walk(const char *directory, quarantine_each *each, void *payload,
                    struct error *error);

/* The watch on an object that is being loaded. */
struct quarantine_watch {
	int directory, file; /* -1: no watch */
	char *name;
};

#define QUARANTINE_WATCH_INIT ((struct quarantine_watch){.directory = -1, .file = -1})

/*
 * Start the watch before loading. If another process or thread is loading the same object, or the
 * process cannot write there, as below another user's $HOME, nothing is watched.
 */
int quarantine_watch_begin(const char *directory, const char *id, const char *object,
                           struct quarantine_watch *watch, struct error *error);

/* End the watch after loading, successful or not. */
void quarantine_watch_end(struct quarantine_watch *watch);

#endif
