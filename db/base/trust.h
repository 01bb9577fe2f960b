/*
 * trust.h - whom to believe, decided in one place for all that is read or loaded.
 *
 * A file, or a directory, is believed if it belongs to somebody who could do as he
 * likes anyway (root, the effective user, and whom the caller names besides), and
 * if nobody else may change it.
 */
#ifndef DB_BASE_TRUST_H
#define DB_BASE_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#define TRUST_NO_OTHER ((uid_t)-1) /* besides root and the effective user: nobody */
#define TRUST_ANYBODY  ((uid_t)-2) /* whoever owns it: the caller will ask trust_owner() */

enum trust {
	TRUST_BELIEVED,
	TRUST_FOREIGN,  /* it belongs to somebody else */
	TRUST_WRITABLE, /* others than its owner may write it */
};

/* Is @uid root, the effective user, or @other? */
bool trust_owner(uid_t uid, uid_t other);

/*
 * May others than its owner write it? A group may if it is neither root's nor the
 * effective one; with an access control list, the group's bits are the most that any
 * entry of the list grants. In a sticky directory others may create files, but not
 * replace those that are not theirs: that does not count as writing.
 */
bool trust_is_writable(const struct stat *status);

/* Both, the owner first. */
enum trust trust_of(const struct stat *status, uid_t other);

#endif
