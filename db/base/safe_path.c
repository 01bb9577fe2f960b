/*
 * safe_path.c - opens and judges files for writing, publishing and trusting them.
 */
#include "db/base/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/libc.h"
#include "db/base/trust.h"
#include "db/base/walk.h"

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
	        .search = walk.search,
	        .names = walk.names,
	};
	if (code < 0 && code != ERROR_NOTFOUND)
		return error_move(error, &own);
	error_clear(&own);
	return 0;
}

static int look(struct walk *walk, const char *path, const char *beside, const char *sysroot)
{
	walk->rule = RULE_LOOK;
	walk->beside = beside;
	return walk_path(walk, path, sysroot, NULL);
}

bool safe_is_readable(const char *path, const char *beside, const char *sysroot, mode_t needed)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;

	return !needed ||
	       (look(&walk, path, beside, sysroot) == 0 &&
	        !(needed & ~(walk.search & walk.names & trust_everybody(walk.fd, &walk.status))));
}

bool safe_is_reached(const char *path, const char *beside, const char *sysroot, mode_t needed)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;

	return !needed || (look(&walk, path, beside, sysroot) == 0 && !(needed & ~walk.search));
}

char *safe_path_existing(const char *path, const char *sysroot)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;

	walk_path(&walk, path, sysroot, NULL);
	return walk.done ? strdup(walk_name(&walk)) : NULL;
}

int safe_reopen(int fd, int flags)
{
	char name[FILE_FD_PATH_ROOM];
	struct stat status;

	if (flags & O_PATH)
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fstat(fd, &status) != 0)
		return -1;
	errno = ENXIO;
	if (safe_is_device(&status) || safe_is_of_process(fd, &status))
		return -1;
	if (S_ISDIR(status.st_mode))
		return (int)TEMP_FAILURE_RETRY(openat(fd, ".", flags));
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
	if (walk.done ? walk_below(&walk, path, NULL) < 0 : walk_path(&walk, path, NULL, NULL) < 0)
		return -1;
	if (flags & O_PATH)
		return reopen(&walk, flags);
	errno = S_ISLNK(walk.status.st_mode) ? ELOOP : top < 0 ? judge_look(&walk) : 0;
	return errno ? -1 : reopen(&walk, flags);
}

char *safe_real_path(const char *path, int *directory)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;

	if (geteuid() != 0 && !directory)
		return realpath(path, NULL);
	walk.rule = RULE_LOOK;
	walk.named = directory != NULL;
	if (walk_path(&walk, path, NULL, NULL) < 0)
		return NULL;
	errno = EACCES;
	if (geteuid() == 0 && walk.leader && walk.leader != walk.status.st_uid)
		return NULL;
	if (directory && (*directory = safe_openat(walk.fd, ".", O_PATH | O_DIRECTORY, 0)) < 0)
		return NULL;
	return strdup(walk_name(&walk));
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
	struct stat status, above;

	if (fd < 0 || fstat(fd, &status) != 0 || fstat(directory, &above) != 0)
		return -1;
	errno = ELOOP;
	if (S_ISLNK(status.st_mode) || !*name || strcmp(name, "..") == 0 ||
	    status.st_dev != above.st_dev)
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

bool safe_is_of_another(const char *path)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;
	struct stat status;

	if (safe_believe(path, NULL, TRUST_NO_OTHER, &status, NULL) == 0)
		return false;
	if (S_ISDIR(status.st_mode) && !trust_owner(status.st_uid, TRUST_NO_OTHER))
		return true;
	return (look(&walk, path, NULL, NULL) < 0 ? errno : judge_look(&walk)) == EACCES;
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
	return walk_check_creation(&walk, error);
}

int safe_directory_open(const char *path, const char *sysroot, enum safe_create create, int *fd,
                        struct error *error)
{
	CLEANUP(walk_end) struct walk walk = WALK_INIT;
	int code;

	walk.creates = create != SAFE_EXISTING;
	walk.last_private = create == SAFE_PRIVATE;
	code = walk_path(&walk, path, sysroot, error);
	if (code < 0)
		return code;
	if (walk.foreign)
		return error_set(error, ERROR_PERMISSION,
		                 "%s: nothing is written there, since %s belongs to user %u; do it "
		                 "as that user",
		                 path, walk_name(&walk), walk.status.st_uid);
	*fd = safe_openat(walk.fd, ".", O_RDONLY | O_DIRECTORY, 0);
	return *fd < 0 ? error_errno(error, errno, "cannot open %s", path) : 0;
}
