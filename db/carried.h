/*
 * carried.h - recognizes the files of a tree that was copied, archived or unpacked with its
 * database.
 *
 * Copies, archives and images change the inode and the change time of every file, and some change
 * modification times too. In a tree that was carried this way no recorded stamp matches, so every
 * program would read everything again at each start although nothing has changed. The name, the
 * size and usually the modification time survive: enough to recognize a distribution, but weaker
 * than the check for a tree that stayed in place. So the weaker check requires evidence that the
 * tree was carried: the database itself, which was carried with it, is no longer the file that was
 * published.
 *
 *     the database is              a distribution is unchanged if
 *       as published                 all its stamps match: this module is not used
 *       another file                 names and sizes match, and modification times; fractions of a
 *                                    second may have been dropped if the directory is not younger
 *                                    than the database
 *       another file, set back       the same; or its time equals the database's and is
 *         in time                    older than recorded: all were set to one value
 *       sealed                       names and sizes match, and it is not younger than the
 *                                    database; if the directory is not younger either, the
 *                                    names suffice
 *
 * The copy of a database may happen to get the same inode. It then differs by its change time,
 * which can also change in place: so the inode of the path entry must differ as well.
 */
#ifndef DB_CARRIED_H
#define DB_CARRIED_H

#include <sys/stat.h>

#include "db/record.h"

#define CARRIED_PUBLISHING 60000000000 /* nanoseconds; the longest publication */

struct carried {
	bool is_elsewhere; /* the database has another inode than when it was published */
	bool is_touched;   /* its change time is not that of the publication */
	bool is_sealed;
	bool is_set_back; /* its modification time precedes the publication */
	int64_t time;     /* of the publication */
	int64_t mtime;    /* of the database, now */
};

/* Compare @file, the current status of the database, with the publication recorded in it. */
struct carried carried_of(const struct publication_record *recorded, const struct stat *file);

/* May the path entry have been carried with the database? @now: its current stamp. */
bool carried_with(const struct carried *carried, struct stamp recorded, struct stamp now);

/* Do matching names alone prove the path entry unchanged? */
bool carried_names_suffice(const struct carried *carried, struct stamp now);

/*
 * May a directory with this modification time, of which a fraction may be lost, have changed since
 * the publication?
 */
bool carried_may_have_changed(const struct carried *carried, int64_t mtime);

/* Does the file @now match its record? @directory: the time of its directory; 0: it has none. */
bool carried_same(const struct carried *carried, const struct outline *recorded,
                  const struct outline *now, int64_t directory);

#endif
