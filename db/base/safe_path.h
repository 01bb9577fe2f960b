/*
 * safe_path.h - walks paths by descriptors and decides whether their owners permit the access.
 *
 *     /home/alice/venv/var/lib/entrydb
 *     |     |
 *     root  alice: everything below is her territory, regardless of its owners
 *
 * A path is walked from "/": each component is opened relative to the descriptor of the previous
 * one, so that nothing can be replaced during the walk. The territory is that of the first owner on
 * the way who is neither root nor the effective user: this owner can rename or replace everything
 * below. The owner of "/" counts as root. World-writable directories are refused unless they are
 * sticky, as /tmp is: then each entry is its own owner's territory.
 *
 * A symbolic link is followed if it belongs to root or the effective user and lies in a directory
 * that others cannot write. With a sysroot, the path of the sysroot is walked from "/", and the
 * rest from there: an absolute link, or "..", stays inside.
 *
 * Writing, safe_directory_open(): a process writes only in its own territory; root does not write
 * in that of other users.
 *
 * Loading or running a file, or following its rules, safe_believe(): every directory on the way,
 * those of links included, and the file itself must belong to root or the effective user and not be
 * writable by others.
 *
 * Reading files of other users as root: safe_look_open().
 */
#ifndef DB_BASE_SAFE_PATH_H
#define DB_BASE_SAFE_PATH_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "db/base/error.h"
#include "db/base/safe_open.h"

struct safe_way {
	/* The territory's owner: the first owner on the way who is neither root nor the effective
	 * user; else the effective user. */
	uid_t uid;
	/* Who can search all its directories (of a sysroot, below it), as read permissions; without
	 * those where links are, from which it is reached as well. */
	mode_t search;
	mode_t names; /* who can find it in them by listing those that are not above @beside */
};

/*
 * Describe the way to @path, as far as it exists within one territory. @beside: NULL, or the
 * real path of a file, whose directories do not count for the search. @sysroot: NULL, or a prefix
 * of both. ERROR_PERMISSION at a link that must not be followed or a world-writable directory; *out
 * then describes the way up to there.
 */
int safe_path_look(const char *path, const char *beside, const char *sysroot, struct safe_way *out,
                   struct error *error);

/* Can those of the read permissions @needed find and read the file at @path? The rest as above. */
bool safe_is_readable(const char *path, const char *beside, const char *sysroot, mode_t needed);

/* Can they at least see its status, if they know the path? */
bool safe_is_reached(const char *path, const char *beside, const char *sysroot, mode_t needed);

/*
 * open() for reading files of other users: if links of a user other than root were followed, the
 * file must belong to that user or be readable by everyone; else EACCES. Devices and procfs are
 * never opened, and behind such links only regular files and directories: else ENXIO. With O_PATH,
 * only links of other processes are refused. @top: -1, or the directory that stands for "/", below
 * which every link may be followed. -1 and errno on failure.
 */
int safe_look_open(int top, const char *path, int flags);

/*
 * realpath(); EACCES for root if a link of another user leads to what is not that user's. If not
 * NULL, *directory is open (O_PATH) on the result; -1 on failure.
 */
char *safe_real_path(const char *path, int *directory);

/* The real path of what exists of @path in one territory, malloc'd. NULL: out of memory. */
char *safe_path_existing(const char *path, const char *sysroot);

/*
 * Open for reading what is open as @fd (O_PATH). ENXIO: a device, or of procfs; ENOSYS: a file,
 * without /proc.
 */
int safe_reopen(int fd, int flags);

/*
 * May the file at @path be trusted? *status (or NULL) is its status. @sysroot: a prefix of @path,
 * or NULL. @other: another permitted owner of the file and of the directories on the way.
 * ERROR_PERMISSION names the directory, link or file on the way that others can replace.
 */
int safe_believe(const char *path, const char *sysroot, uid_t other, struct stat *status,
                 struct error *error);

/*
 * Is the file another user's, whose $HOME this process was given, as by sudo or su? The first
 * directory on the way that is not trusted decides, since others cannot have put it there. Also
 * true below one that this process cannot enter.
 */
bool safe_is_of_another(const char *path);

/*
 * The same as safe_believe() for a file that another library opens by its name, and only for root
 * and this user. 1; 0: there is none (safe_believe_place(): can others create it?); or an error.
 */
int safe_believe_named(const char *path, struct stat *status, struct error *error);

/*
 * The same for a directory in which files are found by name, existing or not: other users must not
 * be able to create files in it, as in a sticky directory. @lasting: nor in one above it, to
 * replace it when it is gone.
 */
int safe_believe_place(const char *path, const char *sysroot, bool lasting, struct error *error);

/*
 * Open the file or directory at @path (absolute) to publish its content. *search, @beside: as for
 * safe_path_look(). -1 and EACCES if another user owns a directory on the way or may have made a
 * link; -1 and ENOENT if it does not exist.
 */
int safe_publish_open(const char *path, const char *beside, const char *sysroot, mode_t *search);

/*
 * The same for @name in @directory, with the way from there; -1 and ELOOP if it leads or may lead
 * out of @directory: for links, "..", absolute paths and mount points. @may_be_device: look first,
 * and do not open one (ENXIO).
 */
int safe_publish_open_in(int directory, const char *name, bool may_be_device, mode_t *search);

/* One step of that way: open the directory @name in @directory, and restrict *search to it. */
int safe_publish_enter(int directory, const char *name, mode_t *search);

enum safe_create {
	SAFE_EXISTING, /* ERROR_NOTFOUND if it does not exist */
	SAFE_CREATE,   /* create missing directories, with the mode of their parent */
	SAFE_PRIVATE,  /* the same, but the last one for this user only */
};

/*
 * Open the directory @path for writing files in it. The caller owns *fd, which can be synced.
 * ERROR_PERMISSION if it is not in the territory of the effective user.
 */
int safe_directory_open(const char *path, const char *sysroot, enum safe_create create, int *fd,
                        struct error *error);

#endif
