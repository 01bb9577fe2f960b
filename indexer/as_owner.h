/*
 * as_owner.h - root does what concerns another user's files with that user's rights.
 *
 * What lies in somebody else's directories he can exchange at any moment. So nothing of
 * it is read, followed or written with root's rights: a child process takes on the
 * owner's, for good, and does the work; only plain values and a line of text come back.
 */
#ifndef INDEXER_AS_OWNER_H
#define INDEXER_AS_OWNER_H

#include <stddef.h>
#include <sys/types.h>

#include "db/base/error.h"

/* Returns a code of error.h, or a small positive number; @payload is the child's copy. */
typedef int owner_work(void *payload, struct error *error);

/*
 * Run @work in a child process as @uid, with the groups that this user has (without
 * an account: @gid alone). On return the first @size bytes of @payload, which must hold
 * no pointers, are as the child left them. What the child prints goes where ours goes. A
 * signal that asks this process to stop (see interrupted()) is passed on, and the child
 * ends with this process. Only for root.
 *
 * Returns what @work returned, with its error; ERROR_IO and the like if there could be no
 * child, it could not take on those rights, or it died.
 */
int as_owner(uid_t uid, gid_t gid, owner_work *work, void *payload, size_t size,
             struct error *error);

#endif
