/*
 * walk.c - walks a path by descriptors; what it may follow, and whose the files on the way are.
 */
#include "db/base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "db/base/trust.h"

#define LINKS_MAX      40   /* links, and "..", on one way, as in the kernel */
#define DIRECTORY_MODE 0755 /* at most, of a directory that is made */
#define NOBODY         ((uid_t)-1)

void walk_end(struct walk *walk)
{
	cleanup_close(&walk->anchor);
	cleanup_close(&walk->fd);
	cleanup_close(&walk->above);
	free(walk->done);
	free(walk->todo);
}

const char *walk_name(const struct walk *walk)
{
	return walk->done[0] ? walk->done : "/";
}

/*
 * The user who runs a FUSE file system, since the owners of its files are what this user says; 0:
 * root, or another file system. *closed: other users may be unable to enter it, whatever its modes
 * say: with allow_root, the kernel shows allow_other, and the program of the user refuses them.
 */
static uid_t server_of(int fd, dev_t device, bool *closed)
{
	CLEANUP(cleanup_free) char *line = NULL;
	uid_t found = NOBODY;
	struct statfs status;
	unsigned at[2];
	size_t room = 0;
	FILE *mounts;

	if (fstatfs(fd, &status) == 0 && status.f_type != FUSE_SUPER_MAGIC)
		return 0;
	*closed = true;
	mounts = fopen("/proc/self/mountinfo", "re");
	while (mounts && getline(&line, &room, mounts) > 0)
		if (sscanf(line, "%*u %*u %u:%u", &at[0], &at[1]) == 2 &&
		    makedev(at[0], at[1]) == device) {
			const char *user = strstr(strrchr(line, ' '), ",user_id=");

			found = user ? (uid_t)strtoul(user + strlen(",user_id="), NULL, 10) : 0;
			*closed = user && (found || !strstr(user, ",allow_other"));
		}
	if (mounts)
		fclose(mounts);
	return found;
}

/* Returns whether this is the root of a file system that perhaps only its user may enter. */
static bool note_server(struct walk *walk)
{
	dev_t device = walk->status.st_dev;
	bool closed = false;

	if (device != walk->device)
		walk->server = device == walk->home ? 0 : server_of(walk->fd, device, &closed);
	walk->device = device;
	if (walk->server)
		walk->status.st_uid = walk->server;
	return closed;
}

/* In a sticky directory others cannot replace files, but create them. */
int walk_check_creation(const struct walk *walk, struct error *error)
{
	struct stat status = walk->status;

	status.st_mode &= ~(mode_t)S_ISVTX;
	return trust_is_writable(walk->fd, &status)
	               ? error_set(error, ERROR_PERMISSION, "others can create files in %s",
	                           walk_name(walk))
	               : 0;
}

/* Does the current directory contain the file @beside? */
static bool is_above_both(const struct walk *walk)
{
	size_t len = strlen(walk->done);

	return walk->beside && strncmp(walk->beside, walk->done, len) == 0 &&
	       strchr("/", walk->beside[len]);
}

static void note_search(struct walk *walk, bool closed)
{
	if (is_above_both(walk)) {
		walk->listing = trust_hides_names(walk->fd, &walk->status) ? 0 : 0444;
		return;
	}
	walk->names &= walk->listing;
	if (closed) {
		walk->search = 0;
	} else if (S_ISDIR(walk->status.st_mode)) {
		mode_t all = trust_everybody(walk->fd, &walk->status);

		walk->search &= (all & 0111) << 2;
		walk->listing = all & 0444;
	}
}

/* Move to the file @fd with the path @done; takes ownership of both. */
static int enter(struct walk *walk, int fd, char *done, struct error *error)
{
	bool closed;

	cleanup_close(&walk->above);
	walk->above = walk->fd;
	walk->fd = fd;
	if (!done)
		return error_nomem(error);
	free(walk->done);
	walk->done = done;
	if (fd < 0 || fstat(fd, &walk->status) != 0)
		return error_errno(error, errno, "%s", walk_name(walk));
	closed = note_server(walk);
	/* Its owner and everyone who can write to a directory control its content. */
	if (walk->rule == RULE_BELIEVE) {
		int code = trust_believe(walk_name(walk), fd, &walk->status, walk->other, error);

		if (code == 0 && walk->lasting)
			code = walk_check_creation(walk, error);
		walk->refused = code < 0;
		return code;
	}
	note_search(walk, closed);
	if (walk->rule == RULE_LOOK)
		return 0;
	walk->foreign = !trust_owner(walk->status.st_uid, walk->top);
	if (!walk->foreign && S_ISDIR(walk->status.st_mode) &&
	    (walk->status.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH)
		return error_set(error, ERROR_PERMISSION,
		                 "everybody may write to %s: nothing that lies in it can be "
		                 "trusted; chmod o-w it",
		                 walk_name(walk));
	return 0;
}

/*
 * (Re)start at the anchor with the remaining path @todo, of which it takes ownership. Who can read
 * the file depends on the way without links.
 */
static int start(struct walk *walk, char *todo, struct error *error)
{
	if (!todo)
		return error_nomem(error);
	free(walk->todo);
	walk->todo = walk->rest = todo;
	walk->search = walk->names = walk->listing = 0444;
	return enter(walk, fcntl(walk->anchor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
	             strndup(walk->done, walk->anchor_len), error);
}

/* Links and ".." restart the walk: limit their number. */
static int count_link(struct walk *walk, struct error *error)
{
	if (++walk->links > LINKS_MAX)
		return error_errno(error, ELOOP, "%s", walk_name(walk));
	return 0;
}

static int go_up(struct walk *walk, struct error *error)
{
	const char *inside = walk->done + walk->anchor_len;
	const char *slash = strrchr(inside, '/');
	int code = count_link(walk, error);

	if (code < 0)
		return code;
	if (!S_ISDIR(walk->status.st_mode))
		return error_errno(error, ENOTDIR, "%s", walk_name(walk));
	return start(walk,
	             text_format("%.*s/%s", (int)(slash ? slash - inside : 0), inside, walk->rest),
	             error);
}

/* Users who can write to the directory of a link may have created it. */
static bool judge_link(struct walk *walk, const struct stat *link)
{
	bool others_write = trust_is_writable(walk->fd, &walk->status);
	uid_t maker = walk->server ? walk->server : link->st_uid;
	uid_t owner = maker ? maker : walk->status.st_uid;

	if (walk->rule == RULE_LOOK) {
		if (others_write || (owner && walk->leader && owner != walk->leader))
			walk->leader = NOBODY;
		else if (owner)
			walk->leader = owner;
		return true;
	}
	return !others_write &&
	       trust_owner(maker, walk->rule == RULE_BELIEVE ? TRUST_NO_OTHER : walk->top);
}

#define PROC_ROOT 1 /* inode of /proc itself, whose links are ordinary ones */

/* Is the current directory on procfs, with magic links such as /proc/self/fd/0? */
static bool has_magic_links(const struct walk *walk)
{
	struct statfs status;

	return walk->status.st_ino != PROC_ROOT && fstatfs(walk->fd, &status) == 0 &&
	       status.f_type == PROC_SUPER_MAGIC;
}

static bool is_of_this_process(const struct walk *walk)
{
	char link[sizeof("/proc/self") + 3 * sizeof(pid_t)] = "/proc/";
	ssize_t len = readlink("/proc/self", link + 6, sizeof(link) - 7);

	return len > 0 && strncmp(walk->done, link, 6 + (size_t)len) == 0 &&
	       strchr("/", walk->done[6 + len]);
}

/* Follow a link; @link: the status of @fd, which is O_PATH. */
static int follow(struct walk *walk, int fd, const struct stat *link, const char *name,
                  struct error *error)
{
	const char *inside = walk->done + walk->anchor_len;
	char target[PATH_MAX];
	ssize_t len;
	const bool is_magic = has_magic_links(walk);
	int code = count_link(walk, error);

	if (code < 0)
		return code;
	walk->refused = walk->rule != RULE_LOOK || walk->in_sysroot ||
	                (is_magic && !(walk->named && !walk->leader) && !is_of_this_process(walk));
	if (!is_magic && !judge_link(walk, link))
		return error_set(error, ERROR_PERMISSION,
		                 "%s/%s is a symbolic link that others may have made: it is not "
		                 "followed",
		                 walk->done, name);
	/*
	 * A magic link, such as /proc/PID/root, leads out of a sysroot, and past directories that
	 * may deny access; its target may have no path in this mount namespace, and lie on a file
	 * system of another user that never answers.
	 */
	errno = walk->in_sysroot ? ELOOP : EACCES; /* for callers that pass no @error */
	if (is_magic && walk->refused)
		return error_set(error, ERROR_PERMISSION,
		                 "%s/%s leads past the directories above it: it is not followed; "
		                 "name the place itself",
		                 walk->done, name);
	if (is_magic) {
		walk->search = 0;
		return enter(walk, openat(walk->fd, name, O_PATH | O_CLOEXEC),
		             text_format("%s/%s", walk->done, name), error);
	}
	walk->refused = false;
	len = readlinkat(fd, "", target, sizeof(target));
	if (len < 0)
		return error_errno(error, errno, "%s/%s", walk->done, name);
	if (target[0] == '/')
		inside = "";
	return start(walk, text_format("%s/%.*s/%s", inside, (int)len, target, walk->rest), error);
}

static bool is_last(const struct walk *walk)
{
	return !walk->rest[strspn(walk->rest, "/")];
}

/* With the mode of the parent directory, regardless of the umask. */
static int make_directory(struct walk *walk, const char *name, struct error *error)
{
	mode_t most = walk->last_private && is_last(walk) ? 0 : walk->status.st_mode;
	mode_t mode = (most & DIRECTORY_MODE) | S_IRWXU;
	CLEANUP(cleanup_close) int fd = -1;
	struct stat made;

	if (mkdirat(walk->fd, name, mode) != 0)
		return errno == EEXIST
		               ? 0
		               : error_errno(error, errno, "cannot make %s/%s", walk->done, name);
	fd = safe_openat(walk->fd, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0 || fstat(fd, &made) != 0)
		return error_errno(error, errno, "cannot make %s/%s", walk->done, name);
	if (trust_is_writable(walk->fd, &walk->status)) /* it may have been replaced */
		return 0;
	if ((made.st_mode & 0777) != mode && fchmod(fd, mode | (made.st_mode & S_ISGID)) != 0)
		return error_errno(error, errno, "cannot make %s/%s", walk->done, name);
	return 0;
}

/* O_DIRECTORY triggers automounts; it fails for links and files. */
static int open_component(const struct walk *walk, const char *name)
{
	int fd = safe_openat(walk->fd, name, O_PATH | O_DIRECTORY, 0);

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		fd = safe_openat(walk->fd, name, O_PATH, 0);
	return fd;
}

static int go_down(struct walk *walk, const char *name, struct error *error)
{
	CLEANUP(cleanup_close) int fd = open_component(walk, name);
	struct stat status;

	if (fd < 0 && errno == ENOENT && walk->creates) {
		int code = make_directory(walk, name, error);

		if (code < 0)
			return code;
		fd = open_component(walk, name);
	}
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "%s/%s", walk->done, name);
	if (S_ISLNK(status.st_mode) && !(walk->keep_last && is_last(walk)))
		return follow(walk, fd, &status, name, error);
	return enter(walk, take_fd(&fd), text_format("%s/%s", walk->done, name), error);
}

/* Take the next component off the remaining path; NULL at the end. */
static char *next_component(struct walk *walk)
{
	char *name = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(name, "/");

	walk->rest = name + len + (name[len] == '/');
	name[len] = '\0';
	return len ? name : NULL;
}

/* Walk to the end of the path, or into another user's territory. */
static int walk_on(struct walk *walk, struct error *error)
{
	char *name;
	int code = 0;

	while (code == 0 && !walk->foreign && (name = next_component(walk))) {
		if (strcmp(name, "..") == 0)
			code = go_up(walk, error);
		else if (strcmp(name, ".") != 0)
			code = go_down(walk, name, error);
	}
	return code;
}

/* The file reached, the sysroot, takes the place of "/". */
static int anchor_here(struct walk *walk, const char *rest, struct error *error)
{
	cleanup_close(&walk->anchor);
	walk->anchor = take_fd(&walk->fd);
	walk->anchor_len = strlen(walk->done);
	walk->in_sysroot = true;
	return start(walk, strdup(rest), error);
}

static int walk_begin(struct walk *walk, struct error *error)
{
	struct stat status;

	walk->anchor = safe_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
	/* Never for a reason that says something about the path. */
	if (walk->anchor < 0 || fstat(walk->anchor, &status) != 0)
		return error_errno(error, errno_is_failure(errno) ? errno : EIO, "/");
	walk->top = status.st_uid;
	walk->home = status.st_dev;
	walk->done = strdup("");
	return walk->done ? 0 : error_nomem(error);
}

int walk_path(struct walk *walk, const char *path, const char *sysroot, struct error *error)
{
	size_t len = sysroot ? strlen(sysroot) : 0;
	CLEANUP(cleanup_free) char *here = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
	bool creates = walk->creates;
	bool lasting = walk->lasting;
	int code = walk_begin(walk, error);

	if (!here)
		return error_errno(error, errno, "%s", path);
	if (len && (strncmp(path, sysroot, len) != 0 ||
	            (path[len] != '/' && path[len] && sysroot[len - 1] != '/')))
		return error_set(error, ERROR_INVALID, "%s is not below %s", path, sysroot);
	if (code == 0 && len) {
		walk->creates = false;
		walk->lasting = false; /* an image may be used elsewhere */
		code = start(walk, text_format("%s/%s", here, sysroot), error);
		if (code == 0)
			code = walk_on(walk, error);
		if (code < 0 || walk->foreign)
			return code;
		walk->creates = creates;
		walk->lasting = lasting;
		code = anchor_here(walk, path + len, error);
	} else if (code == 0) {
		code = start(walk, text_format("%s/%s", here, path), error);
	}
	return code < 0 ? code : walk_on(walk, error);
}

int walk_below(struct walk *walk, const char *path, struct error *error)
{
	int code = anchor_here(walk, path, error);

	return code < 0 ? code : walk_on(walk, error);
}
