/*
 * quarantine.h - shared objects that crashed or hung when they were loaded, and are not
 * to be loaded again.
 *
 *     DIRECTORY/ID          set aside: a line with the reason, and the path of the object
 *     DIRECTORY/ID.loading  locked (flock) by the process that loads it right now; the path
 *
 * A process that ends while it loads an object leaves ID.loading unlocked: whoever sees
 * that knows what became of it. The ID is the object's build-id, or the hash of its
 * bytes: another build is free by itself.
 *
 * All of it is one user's. A mark counts only if root or the effective user owns the file and
 * every directory that leads to it, and nobody else can write there: others could otherwise
 * switch off what they please. What lies there instead of a file is passed over unread.
 */
#ifndef LIBQUERY_NATIVE_QUARANTINE_H
#define LIBQUERY_NATIVE_QUARANTINE_H

#include <stdbool.h>

#include "db/base/error.h"

/*
 * Has the object of that ID been set aside? 1, and *reason is malloc'd; 0; or a failure.
 * An object whose loading was not survived is set aside by this.
 */
int quarantine_find(const char *directory, const char *id, char **reason, struct error *error);

/* Set it aside. @reason: one line. */
int quarantine_add(const char *directory, const char *id, const char *object, const char *reason,
                   struct error *error);

/* Free it again; 1, or 0 if there was no such ID. */
int quarantine_remove(const char *directory, const char *id, struct error *error);

/* Called for each that has been set aside; non-zero ends the walk. */
typedef int quarantine_each(void *payload, const char *id, const char *object, const char *reason);

int quarantine_walk(const char *directory, quarantine_each *each, void *payload,
                    struct error *error);

/* An object that is being loaded. */
struct quarantine_watch {
	int directory, file; /* -1: nothing is watched */
	char *name;
};

#define QUARANTINE_WATCH_INIT ((struct quarantine_watch){.directory = -1, .file = -1})

/*
 * It is about to be loaded. Where another process, or thread, is about to load the same,
 * nothing is watched.
 */
int quarantine_watch_begin(const char *directory, const char *id, const char *object,
                           struct quarantine_watch *watch, struct error *error);

/* It has been loaded, or refused: this process lives. */
void quarantine_watch_end(struct quarantine_watch *watch);

#endif
