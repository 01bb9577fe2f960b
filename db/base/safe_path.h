/*
 * safe_path.h - whose territory a path leads into, and directories of one's own.
 *
 *     /home/alice/venv/var/lib/entrydb
 *     |     |
 *     root  alice: from here on all is hers, whoever owns it
 *
 * A path is walked from "/", each component opened by itself relative to the
 * descriptor of the one before it, so that nothing can be exchanged behind our back.
 * The territory is that of the first owner on the way who is neither root nor the
 * effective user: what lies below his directory he can rename or replace. He who
 * owns "/" counts as root. A directory that everybody may write is refused, unless
 * it is sticky, as /tmp is: then what lies in it belongs to its own owner.
 *
 * A symbolic link on the way is followed if it belongs to root or the effective user
 * and lies in a directory that others cannot write. With a sysroot, the path to it is
 * walked from "/", and the rest from there: an absolute link, or "..", stays inside.
 *
 * The rule for writers, which safe_directory_open() enforces: a process writes only in
 * territory of its own. Root does nothing in what belongs to somebody else.
 *
 * The rule for everything that is loaded, run or obeyed, which safe_believe() enforces: of each
 * directory on the way, also of those that links lead through, and of the file at its end, nobody
 * but root and the effective user may be the owner, and nobody else may write to it.
 *
 * The rule for root, which looks at what is somebody else's: safe_look_open().
 */
#ifndef DB_BASE_SAFE_PATH_H
#define DB_BASE_SAFE_PATH_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "db/base/error.h"

/* @fd, or the same above 0, 1 and 2, to which messages may be written; @fd is taken over. */
int safe_fd(int fd);

/*
 * openat() that follows no link, gives the descriptor to no child, is not interrupted
 * by signals, and gives none that safe_fd() would change. @mode: of a file that is created.
 */
int safe_openat(int directory, const char *name, int flags, mode_t mode);

/* Are these two looks at one and the same file? */
static inline bool safe_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

struct safe_way {
	uid_t uid; /* whose territory it leads into: the first owner on the way who is neither */
	gid_t gid; /* root nor the effective user, with the group of what he owns; or that user */
	/* Who may search all of its directories, those of a sysroot alone, as permissions to read.
	 */
	mode_t search;
};

/*
 * What can be said of the way to @path, as far as it exists and is not somebody else's.
 * @sysroot: NULL, or what @path begins with. ERROR_PERMISSION where a link must not be followed,
 * or everybody may write; *@out then says what is known.
 */
int safe_path_look(const char *path, const char *sysroot, struct safe_way *out,
                   struct error *error);

/*
 * open() for a process that only looks: where it is led by links of a user other than root, what
 * it opens is that user's own, or what everybody may read; else EACCES. No device, and there
 * nothing but regular files and directories: else ENXIO. @sysroot: NULL, or what @path begins with,
 * out of which no link leads; there any link may be followed. -1 on failure, and errno.
 */
int safe_look_open(const char *path, const char *sysroot, int flags);

/*
 * May what is at @path be believed? *@status is of it. @sysroot: NULL, or what @path begins with.
 * @other: who may own it, and the directories on the way, besides root and the effective user.
 * ERROR_PERMISSION names the directory, link or file that others could exchange.
 */
int safe_believe(const char *path, const char *sysroot, uid_t other, struct stat *status,
                 struct error *error);

/*
 * The same of a directory that the dynamic linker will look into, whether it is there by now or
 * not: nobody else may be able to put something there.
 */
int safe_believe_place(const char *path, const char *sysroot, struct error *error);

/*
 * Open the file or directory at @path, absolute, to publish what is in it. *@search: the
 * permissions to read of all who may search every directory on the way, those of links, too. -1
 * and EACCES where somebody else owns one of them, or may have made a link; -1 and ENOENT where
 * nothing is there.
 */
int safe_publish_open(const char *path, const char *sysroot, mode_t *search);

/*
 * The same of @name in @directory, with the way from there; -1 and ELOOP where it leads out of
 * there, or may: for links, "..", and what begins with a slash.
 */
int safe_publish_open_in(int directory, const char *name, mode_t *search);

enum safe_create {
	SAFE_EXISTING, /* ERROR_NOTFOUND if it is not there */
	SAFE_CREATE,   /* make what is missing, with the mode of the directory above it */
};

/*
 * Open the directory @path to write in it. *@fd is the caller's; it can be synced.
 * ERROR_PERMISSION if it is not in the territory of the effective user.
 */
int safe_directory_open(const char *path, const char *sysroot, enum safe_create create, int *fd,
                        struct error *error);

#endif
