/*
 * safe_path.c - walks a path by descriptors, for writing, publishing and trusting files.
 */
#include "db/base/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/libc.h"
#include "db/base/text.h"
#include "db/base/trust.h"

#define LINKS_MAX      40   /* links, and "..", on one way, as in the kernel */
#define DIRECTORY_MODE 0755 /* at most, of a directory that is made */
#define NOBODY         ((uid_t)-1)

int safe_fd(int low)
{
	int fd = low;

	if (low >= 0 && low <= STDERR_FILENO) {
		fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		close(low);
	}
	return fd;
}

int safe_openat(int directory, const char *name, int flags, mode_t mode)
{
	flags |= O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
	return safe_fd((int)TEMP_FAILURE_RETRY(openat(directory, name, flags, mode)));
}

int safe_open_file(int directory, const char *name, int flags, mode_t mode)
{
	struct stat status;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !safe_is_device(&status))
		return safe_openat(directory, name, flags, mode);
	errno = ENXIO;
	return -1;
}

/* What stops a walk early. */
enum rule {
	RULE_TERRITORY, /* another user's territory, or a link that others may have made */
	RULE_BELIEVE,   /* anything that another user owns or can write to */
	RULE_LOOK,      /* nothing */
};

struct walk {
	enum rule rule;
	enum safe_create create;
	uid_t other;        /* RULE_BELIEVE: another permitted owner */
	bool keep_last;     /* fail if the last component is a link */
	bool in_sysroot;    /* the anchor is one */
	bool lasting;       /* RULE_BELIEVE: in sticky directories nothing is believed */
	int anchor;         /* "/", or the sysroot */
	int fd;             /* the file reached so far; O_PATH */
	struct stat status; /* of it */
	int above;          /* the directory in which that file was found */
	char *done;         /* its path: the sysroot's, and the components since */
	size_t anchor_len;  /* bytes of @done that are the sysroot's */
	char *todo, *rest;  /* the remaining path, and the position in it */
	uid_t top;          /* the owner of "/" */
	dev_t home;         /* the file system of "/" */
	dev_t device;       /* of the file reached, unless it is that of "/" */
	uid_t server;       /* its server; see server_of() */
	int links;
	mode_t search;      /* who can search every directory so far, as read permissions */
	const char *beside; /* another file: the directories above it do not count; or NULL */
	bool refused;       /* RULE_BELIEVE ended it */
	bool foreign;       /* it is another user's territory: status says whose */
	uid_t leader;       /* the user whose links were followed; 0: only root's */
};

#define WALK_INIT                                                                                  \
	((struct walk){                                                                            \
	        .other = TRUST_NO_OTHER, .anchor = -1, .fd = -1, .above = -1, .search = 0444})

static void walk_end(struct walk *walk)
{
	cleanup_close(&walk->anchor);
	cleanup_close(&walk->fd);
	cleanup_close(&walk->above);
	free(walk->done);
	free(walk->todo);
}

static const char *name_of(const struct walk *walk)
{
	return walk->done[0] ? walk->done : "/";
}

/*
 * The user who runs a FUSE file system, since the owners of its files are what this user says; 0:
 * root, or another file system.
 */
static uid_t server_of(int fd, dev_t device)
{
	CLEANUP(cleanup_free) char *line = NULL;
	uid_t found = NOBODY;
	struct statfs status;
	unsigned at[2];
	size_t room = 0;
	FILE *mounts;

	if (fstatfs(fd, &status) == 0 && status.f_type != FUSE_SUPER_MAGIC)
		return 0;
	mounts = fopen("/proc/self/mountinfo", "re");
	while (mounts && getline(&line, &room, mounts) > 0)
		if (sscanf(line, "%*u %*u %u:%u", &at[0], &at[1]) == 2 &&
		    makedev(at[0], at[1]) == device) {
			const char *user = strstr(strrchr(line, ' '), ",user_id=");

			found = user ? (uid_t)strtoul(user + strlen(",user_id="), NULL, 10) : 0;
		}
	if (mounts)
		fclose(mounts);
	return found;
}

static void note_server(struct walk *walk)
{
	if (walk->status.st_dev == walk->home)
		return;
	if (walk->status.st_dev != walk->device)
		walk->server = server_of(walk->fd, walk->status.st_dev);
	walk->device = walk->status.st_dev;
	if (walk->server)
		walk->status.st_uid = walk->server;
}

/* In a sticky directory others cannot replace files, but create them. */
static int check_creation(const struct walk *walk, struct error *error)
{
	struct stat status = walk->status;

	status.st_mode &= ~(mode_t)S_ISVTX;
	return trust_is_writable(walk->fd, &status)
	               ? error_set(error, ERROR_PERMISSION, "others can create files in %s",
	                           name_of(walk))
	               : 0;
}

/* Does the current directory contain the file @beside? */
static bool is_above_both(const struct walk *walk)
{
	size_t len = strlen(walk->done);

	return walk->beside && strncmp(walk->beside, walk->done, len) == 0 &&
	       strchr("/", walk->beside[len]);
}

static void note_search(struct walk *walk)
{
	if (!S_ISDIR(walk->status.st_mode) || is_above_both(walk))
		return;
	walk->search &= (trust_everybody(walk->fd, &walk->status) & 0111) << 2;
}

/* Move to the file @fd with the path @done; takes ownership of both. */
static int enter(struct walk *walk, int fd, char *done, struct error *error)
{
	cleanup_close(&walk->above);
	walk->above = walk->fd;
	walk->fd = fd;
	if (!done)
		return error_nomem(error);
	free(walk->done);
	walk->done = done;
	if (fd < 0 || fstat(fd, &walk->status) != 0)
		return error_errno(error, errno, "%s", name_of(walk));
	note_server(walk);
	/* Its owner and everyone who can write to a directory control its content. */
	if (walk->rule == RULE_BELIEVE) {
		int code = trust_believe(name_of(walk), fd, &walk->status, walk->other, error);

		if (code == 0 && walk->lasting)
			code = check_creation(walk, error);
		walk->refused = code < 0;
		return code;
	}
	note_search(walk);
	if (walk->rule == RULE_LOOK)
		return 0;
	walk->foreign = !trust_owner(walk->status.st_uid, walk->top);
	if (!walk->foreign && S_ISDIR(walk->status.st_mode) &&
	    (walk->status.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH)
		return error_set(error, ERROR_PERMISSION,
		                 "everybody may write to %s: nothing that lies in it can be "
		                 "trusted; chmod o-w it",
		                 name_of(walk));
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
	walk->search = 0444;
	return enter(walk, fcntl(walk->anchor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
	             strndup(walk->done, walk->anchor_len), error);
}

/* Links and ".." restart the walk: limit their number. */
static int count_link(struct walk *walk, struct error *error)
{
	if (++walk->links > LINKS_MAX)
		return error_errno(error, ELOOP, "%s", name_of(walk));
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
		return error_errno(error, ENOTDIR, "%s", name_of(walk));
	return start(walk,
	             text_format("%.*s/%s", (int)(slash ? slash - inside : 0), inside, walk->rest),
	             error);
}

/* Users who can write to the directory of a link may have created it. */
static bool judge_link(struct walk *walk, const struct stat *link)
{
	bool others_write = trust_is_writable(walk->fd, &walk->status);
	uid_t owner = link->st_uid ? link->st_uid : walk->status.st_uid;

	if (walk->rule == RULE_LOOK) {
		if (others_write || (owner && walk->leader && owner != walk->leader))
			walk->leader = NOBODY;
		else if (owner)
			walk->leader = owner;
		return true;
	}
	return !others_write &&
	       trust_owner(link->st_uid, walk->rule == RULE_BELIEVE ? TRUST_NO_OTHER : walk->top);
}

#define PROC_ROOT 1 /* inode of /proc itself, whose links are ordinary ones */

/* Is the current directory on procfs, with magic links such as /proc/self/fd/0? */
static bool has_magic_links(const struct walk *walk)
{
	struct statfs status;

	return walk->status.st_ino != PROC_ROOT && fstatfs(walk->fd, &status) == 0 &&
	       status.f_type == PROC_SUPER_MAGIC;
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
	walk->refused = walk->rule != RULE_LOOK || walk->in_sysroot;
	if (!is_magic && !judge_link(walk, link))
		return error_set(error, ERROR_PERMISSION,
		                 "%s/%s is a symbolic link that others may have made: it is not "
		                 "followed",
		                 walk->done, name);
	/*
	 * A magic link, such as /proc/PID/root, leads out of a sysroot, and past directories that
	 * may deny access; its target may have no path in this mount namespace.
	 */
	errno = ELOOP; /* for callers that pass no @error */
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

/* With the mode of the parent directory, regardless of the umask. */
static int make_directory(struct walk *walk, const char *name, struct error *error)
{
	mode_t mode = (walk->status.st_mode & DIRECTORY_MODE) | S_IRWXU;
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

	if (fd < 0 && errno == ENOENT && walk->create == SAFE_CREATE) {
		int code = make_directory(walk, name, error);

		if (code < 0)
			return code;
		fd = open_component(walk, name);
	}
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "%s/%s", walk->done, name);
	if (S_ISLNK(status.st_mode) && walk->keep_last && !walk->rest[strspn(walk->rest, "/")])
		return error_errno(error, ELOOP, "%s/%s", walk->done, name);
	if (S_ISLNK(status.st_mode))
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
	if (walk->anchor < 0 || fstat(walk->anchor, &status) != 0)
		return error_errno(error, errno, "/");
	walk->top = status.st_uid;
	walk->home = status.st_dev;
	walk->done = strdup("");
	return walk->done ? 0 : error_nomem(error);
}

/* Walk the whole path; see walk_on(). */
static int walk_path(struct walk *walk, const char *path, const char *sysroot, struct error *error)
{
	size_t len = sysroot ? strlen(sysroot) : 0;
	CLEANUP(cleanup_free) char *here = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
	enum safe_create create = walk->create;
	bool lasting = walk->lasting;
	int code = walk_begin(walk, error);

	if (!here)
		return error_errno(error, errno, "%s", path);
	if (len && (strncmp(path, sysroot, len) != 0 ||
	            (path[len] != '/' && path[len] && sysroot[len - 1] != '/')))
		return error_set(error, ERROR_INVALID, "%s is not below %s", path, sysroot);
	if (code == 0 && len) {
		walk->create = SAFE_EXISTING;
		walk->lasting = false; /* an image may be used elsewhere */
		code = start(walk, text_format("%s/%s", here, sysroot), error);
		if (code == 0)
			code = walk_on(walk, error);
		if (code < 0 || walk->foreign)
			return code;
		walk->create = create;
		walk->lasting = lasting;
		code = anchor_here(walk, path + len, error);
	} else if (code == 0) {
		code = start(walk, text_format("%s/%s", here, path), error);
	}
	return code < 0 ? code : walk_on(walk, error);
}

int safe_path_look(const char *path, const char *beside, const char *sysroot, struct safe_way *out,
                   struct error *error)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;
	struct error own = {0};
	int code;

	walk.beside = beside;
	code = walk_path(&walk, path, sysroot, &own);
	*out = (struct safe_way){
	        .uid = walk.foreign ? walk.status.st_uid : geteuid(),
	        .gid = walk.foreign ? walk.status.st_gid : getegid(),
	        .search = walk.search,
	};
	if (code < 0 && code != ERROR_NOTFOUND)
		return error_move(error, &own);
	error_clear(&own);
	return 0;
}

char *safe_path_existing(const char *path, const char *sysroot)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;

	walk_path(&walk, path, sysroot, NULL);
	return walk.done ? strdup(name_of(&walk)) : NULL;
}

int safe_reopen(int fd, int flags)
{
	char name[FILE_FD_PATH_ROOM];
	struct stat status;

	if (flags & O_PATH)
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fstat(fd, &status) != 0)
		return -1;
	if (S_ISDIR(status.st_mode))
		return (int)TEMP_FAILURE_RETRY(openat(fd, ".", flags));
	errno = ENXIO;
	if (safe_is_device(&status))
		return -1;
	file_fd_path(name, fd);
	fd = (int)TEMP_FAILURE_RETRY(open(name, flags & ~O_NOFOLLOW));
	if (fd < 0 && errno == ENOENT) /* that is no fact about the file */
		errno = ENOSYS;
	return fd;
}

/* Open for reading what was reached; a file without /proc by its name. */
static int reopen(const struct walk *walk, int flags)
{
	CLEANUP(cleanup_close) int fd = safe_reopen(walk->fd, flags);
	struct stat status;

	if (fd >= 0 || errno != ENOSYS)
		return take_fd(&fd);
	fd = safe_open_file(walk->above, strrchr(walk->done, '/') + 1, flags, 0);
	if (fd < 0 || fstat(fd, &status) != 0)
		return -1;
	errno = ENOSYS; /* another process has replaced it */
	return safe_same_file(&status, &walk->status) ? take_fd(&fd) : -1;
}

/* 0, or an errno. */
static int judge_look(const struct walk *walk)
{
	const struct stat *status = &walk->status;

	if (walk->leader == 0)
		return 0;
	if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode))
		return ENXIO;
	return walk->leader == status->st_uid ||
	                       (walk->search & trust_everybody(walk->fd, status) & S_IROTH)
	               ? 0
	               : EACCES;
}

int safe_look_open(int top, const char *path, int flags)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;

	walk.rule = RULE_LOOK;
	walk.keep_last = flags & O_NOFOLLOW;
	walk.fd = top < 0 ? -1 : fcntl(top, F_DUPFD_CLOEXEC, 0);
	walk.done = top < 0 ? NULL : strdup("");
	if (walk.done ? anchor_here(&walk, path, NULL) < 0 || walk_on(&walk, NULL) < 0
	              : walk_path(&walk, path, NULL, NULL) < 0)
		return -1;
	errno = top < 0 ? judge_look(&walk) : 0;
	return errno ? -1 : reopen(&walk, flags);
}

char *safe_real_path(const char *path, int *directory)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;

	walk.rule = RULE_LOOK;
	if (walk_path(&walk, path, NULL, NULL) < 0)
		return NULL;
	errno = EACCES;
	if (geteuid() == 0 && walk.leader && walk.leader != walk.status.st_uid)
		return NULL;
	if (directory && (*directory = safe_openat(walk.fd, ".", O_PATH | O_DIRECTORY, 0)) < 0)
		return NULL;
	return strdup(name_of(&walk));
}

int safe_publish_open(const char *path, const char *beside, const char *sysroot, mode_t *search)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;
	int code;

	walk.beside = beside;
	code = walk_path(&walk, path, sysroot, NULL);
	*search = walk.search;
	if (code == 0 && !walk.foreign &&
	    (S_ISREG(walk.status.st_mode) || S_ISDIR(walk.status.st_mode)))
		return reopen(&walk, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (!error_is_failure(code)) /* else errno says more */
		errno = code == ERROR_NOTFOUND ? ENOENT : EACCES;
	return -1;
}

int safe_publish_enter(int directory, const char *name, mode_t *search)
{
	CLEANUP(cleanup_close) int fd = safe_openat(directory, *name ? name : ".", O_PATH, 0);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return -1;
	errno = ELOOP;
	if (S_ISLNK(status.st_mode) || !*name || strcmp(name, "..") == 0)
		return -1;
	*search &= (trust_everybody(fd, &status) & 0111) << 2;
	return take_fd(&fd);
}

int safe_publish_open_in(int directory, const char *name, bool may_be_device, mode_t *search)
{
	CLEANUP(cleanup_close) int above = -1;

	*search = 0444;
	for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
		CLEANUP(cleanup_free) char *hop = strndup(name, (size_t)(slash - name));
		int fd = hop ? safe_publish_enter(above < 0 ? directory : above, hop, search) : -1;

		cleanup_close(&above);
		above = fd;
		if (fd < 0)
			return -1;
	}
	directory = above < 0 ? directory : above;
	return may_be_device ? safe_open_file(directory, name, O_RDONLY | O_NONBLOCK, 0)
	                     : safe_openat(directory, name, O_RDONLY | O_NONBLOCK, 0);
}

int safe_believe(const char *path, const char *sysroot, uid_t other, struct stat *status,
                 struct error *error)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;
	int code;

	walk.rule = RULE_BELIEVE;
	walk.other = other;
	code = walk_path(&walk, path, sysroot, error);
	if (status)
		*status = walk.status;
	return code;
}

int safe_believe_named(const char *path, struct stat *status, struct error *error)
{
	struct error own = {0};
	int code = safe_believe(path, NULL, TRUST_NO_OTHER, status, &own);

	if (code < 0 && code != ERROR_NOTFOUND)
		return error_move(error, &own);
	error_clear(&own);
	return code == 0;
}

int safe_believe_place(const char *path, const char *sysroot, bool lasting, struct error *error)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;
	struct error own = {0};
	int code;

	walk.rule = RULE_BELIEVE;
	walk.lasting = lasting;
	code = walk_path(&walk, path, sysroot, &own);
	if (walk.refused || error_is_failure(code))
		return error_move(error, &own);
	error_clear(&own);
	return check_creation(&walk, error);
}

int safe_directory_open(const char *path, const char *sysroot, enum safe_create create, int *fd,
                        struct error *error)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;
	int code;

	walk.create = create;
	code = walk_path(&walk, path, sysroot, error);
	if (code < 0)
		return code;
	if (walk.foreign)
		return error_set(error, ERROR_PERMISSION,
		                 "%s: nothing is written there, since %s belongs to user %u; do it "
		                 "as that user",
		                 path, name_of(&walk), walk.status.st_uid);
	*fd = safe_openat(walk.fd, ".", O_RDONLY | O_DIRECTORY, 0);
	return *fd < 0 ? error_errno(error, errno, "cannot open %s", path) : 0;
}
