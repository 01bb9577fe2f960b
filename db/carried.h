/*
 * carried.h - a tree that was carried: is what is in it what was indexed?
 *
 * A copy, an archive, an image give each file another inode and another change time, and
 * some of them other times of modification. So in a tree that was carried nothing is as the
 * database has it, and all would be read again, at each start of each program, though
 * nothing has changed. What survives is the name, the size and, mostly, the time of
 * modification: enough to know a distribution again, but less than what is asked of a tree
 * that has stayed where it was. So there must be a witness: the database itself, which is
 * another file than the one that was published, since it was carried with the tree.
 *
 *     the database is              a distribution is the one that was indexed if
 *       as it was published          all of its stamps are as recorded: nothing of this applies
 *       another file                 names and sizes are, and times of modification, of which
 *                                    the carrier may have dropped what is below a second
 *       another file, set back       the same; or its time is the very one of the database,
 *         in time                    and older than recorded: all were set to one value
 *       sealed                       names and sizes are, and it is no younger than the
 *                                    database; if no name in the directory is younger, the
 *                                    names alone
 *
 * A file system may happen to give the copy of the database the same inode: then it has
 * another change time, which it may have got otherwise, too, and the inode of the path entry
 * has to differ as well.
 */
#ifndef DB_CARRIED_H
#define DB_CARRIED_H

#include <sys/stat.h>

#include "db/record.h"

#define CARRIED_PUBLISHING 60000000000 /* nanoseconds; a publication takes no longer */

struct carried {
	bool is_elsewhere; /* the database has another inode than when it was published, */
	bool is_touched;   /* or has changed since */
	bool is_sealed;
	bool is_set_back; /* it claims to be older than it is */
	int64_t mtime;    /* of the database, as it is now */
};

/* What @file, the database as it is now, shows, compared with what is said in it. */
struct carried carried_of(const struct publication_record *said, const struct stat *file);

/* May the path entry have been carried with the database? @now: what it is there. */
bool carried_with(const struct carried *carried, struct stamp recorded, struct stamp now);

/* Do the names in the path entry prove all? Then nothing in it is looked at. */
bool carried_names_suffice(const struct carried *carried, struct stamp now);

/* Is @now what was recorded of a file? */
bool carried_same(const struct carried *carried, const struct outline *recorded,
                  const struct outline *now);

#endif
