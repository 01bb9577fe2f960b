/*
 * trust.c - the rules for owners, permissions and privileges.
 */
#include "db/base/trust.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"

#define OVERFLOW_UID 65534 /* the kernel's default for users that are not mapped */
#define USERS        "/proc/self/uid_map"
#define GROUPS       "/proc/self/gid_map"
#define LIST_MAX     4096 /* bytes of an access control list; unknown if longer */
#define ACL          "system.posix_acl_access"
#define ACL_SOME     0x0e /* of an entry's tag: a user, the owning group, a group */
#define ENTER_ONLY   (1u << 01 | 1u << 03) /* permissions without the right to list */
#define NFS4_ACL     "system.nfs4_acl"
#define NFS4_MODE    "OWNER@ GROUP@ EVERYONE@" /* the names of entries that the mode shows */
#define NFS4_LIST    0x01                      /* or read the data */
#define NFS4_SEARCH  0x20                      /* or execute */
#define NFS4_READ    (NFS4_LIST | NFS4_SEARCH)
/* Write, append, delete in the directory, delete; change the list, the owner. */
#define NFS4_WRITE 0xd0046
enum nfs4_type { NFS4_ALLOW, NFS4_DENY };

/* Of the C library, which does not declare it. */
extern int capget(struct __user_cap_header_struct *header, struct __user_cap_data_struct *data);

/*
 * Did the process, when it became an ordinary user, keep capabilities? Those that a user's programs
 * are given, by a service manager for instance, are ambient.
 */
static bool has_kept_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];

	if (geteuid() == 0)
		return false;
	if (capget(&header, words) != 0)
		return true;
	for (unsigned i = 0; i < 32 * _LINUX_CAPABILITY_U32S_3; i++)
		if (words[i / 32].permitted >> i % 32 & 1 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) != 1)
			return true;
	return false;
}

bool trust_is_privileged(void)
{
	uid_t real, effective, saved;
	gid_t real_group, effective_group, saved_group;

	if (getauxval(AT_SECURE) || getresuid(&real, &effective, &saved) != 0 ||
	    getresgid(&real_group, &effective_group, &saved_group) != 0)
		return true;
	return real != effective || effective != saved || real_group != effective_group ||
	       effective_group != saved_group || has_kept_capabilities();
}

const char *trust_environment(const char *name)
{
	const char *value = getenv(name);

	return value && trust_is_privileged() ? NULL : value;
}

/* The number of a user or group outside of the user namespace, by its map; -1: none, or unknown. */
static int64_t outside(const char *map, uid_t id)
{
	unsigned first, parent, count;
	FILE *file = fopen(map, "re");
	int64_t found = -1;

	while (file && found < 0 && fscanf(file, "%u %u %u", &first, &parent, &count) == 3)
		if (id >= first && id - first < count)
			found = (int64_t)parent + (id - first);
	if (file)
		fclose(file);
	return found;
}

/* Is the process in a user namespace in which some users are not mapped? If unknown, assume so. */
static bool in_user_namespace(void)
{
	const uid_t last = UINT32_MAX - 1;

	return outside(USERS, last) != last;
}

/* In a user namespace, any group may have the number of the user. */
static bool is_private_group(const struct stat *status)
{
	int64_t user;

	if (status->st_gid != status->st_uid)
		return false;
	user = outside(USERS, status->st_uid);
	return user >= 0 && user == outside(GROUPS, status->st_gid);
}

bool trust_owner(uid_t uid, uid_t other)
{
	if (uid == OVERFLOW_UID && in_user_namespace())
		return false;
	if (uid == 0)
		return true;
	if (trust_is_privileged())
		return false;
	return uid == geteuid() || (uid == other && other != TRUST_NO_OTHER);
}

/* As fgetxattr(), which does not work with O_PATH. Then, without /proc, directories are opened
 * anew, and lists of files are unknown. */
static ssize_t read_list(int fd, const char *kind, void *list, size_t size)
{
	CLEANUP(cleanup_close) int own = -1;
	char path[FILE_FD_PATH_ROOM];
	ssize_t got = fgetxattr(fd, kind, list, size);

	if (got >= 0 || errno != EBADF)
		return got;
	file_fd_path(path, fd);
	got = getxattr(path, kind, list, size);
	if (got >= 0 || errno != ENOENT)
		return got;
	own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fgetxattr(own, kind, list, size);
}

/* After a failure: not if it is merely unknown. */
static bool has_no_list(void)
{
	return errno == ENODATA || errno == ENOTSUP;
}

/*
 * The set of permissions, as bits 0 to 7, that a list gives to users and groups under @mask; all of
 * them if it is unknown. The list: 2 words of version; then for each entry its tag, its
 * permissions, and 2 words of id.
 */
static unsigned listed_permissions(int fd, mode_t mask)
{
	uint16_t list[LIST_MAX / sizeof(uint16_t)];
	ssize_t size = read_list(fd, ACL, list, sizeof(list));
	unsigned set = 0;

	if (size < 0 && !has_no_list())
		return 0xff;
	for (ssize_t i = 2; i + 1 < size / 2; i += 4)
		if (le16toh(list[i]) & ACL_SOME)
			set |= 1u << (le16toh(list[i + 1]) & mask & 07);
	return set;
}

/* May the file have an NFSv4 list: on NFS, or by way of a FUSE file system on top? */
static bool may_have_nfs4_list(int fd, const struct stat *status)
{
	struct statfs system;

	if (major(status->st_dev) != 0) /* a block device */
		return false;
	return fstatfs(fd, &system) != 0 || system.f_type == NFS_SUPER_MAGIC ||
	       system.f_type == FUSE_SUPER_MAGIC;
}

/*
 * Has the file an NFSv4 list (RFC 7530, 6.2.1) that allows, or denies, some of @rights to a user or
 * group that its mode does not show? Its big-endian words: the number of entries; of each its type,
 * flags, rights, and the length of its name, which follows, padded.
 */
static bool has_nfs4_entry(int fd, const struct stat *status, enum nfs4_type type, uint32_t rights)
{
	uint32_t list[LIST_MAX / sizeof(uint32_t)];
	ssize_t size;

	if (!may_have_nfs4_list(fd, status))
		return false;
	size = read_list(fd, NFS4_ACL, list, sizeof(list));
	if (size < 0)
		return !has_no_list();
	for (uint64_t at = 1, end = (uint64_t)size / sizeof(*list), len; at + 4 <= end;
	     at += 4 + (len + 3) / 4) {
		struct slice rest = {(const char *)&list[at + 4], (size_t)(end - at - 4) * 4};

		len = be32toh(list[at + 3]);
		if (be32toh(list[at]) == type && be32toh(list[at + 2]) & rights &&
		    (len > rest.len || !text_has_word(NFS4_MODE, slice_first(rest, (size_t)len))))
			return true;
	}
	return false;
}

mode_t trust_everybody(int fd, const struct stat *status)
{
	const mode_t mode = status->st_mode, mask = mode >> 3 & 07;
	const unsigned listed = listed_permissions(fd, mask);
	mode_t all = mask & mode;

	for (mode_t some = 0; some <= 07; some++)
		if (listed >> some & 1)
			all &= some;
	if (all && has_nfs4_entry(fd, status, NFS4_DENY, NFS4_READ))
		all = 0;
	return (mode & ~(mode_t)077) | all << 3 | all;
}

bool trust_hides_names(int fd, const struct stat *status)
{
	const mode_t mode = status->st_mode;

	return (mode & (S_IXGRP | S_IXOTH)) << 2 & ~mode ||
	       listed_permissions(fd, mode >> 3 & 07) & ENTER_ONLY ||
	       has_nfs4_entry(fd, status, NFS4_DENY, NFS4_LIST) ||
	       has_nfs4_entry(fd, status, NFS4_ALLOW, NFS4_SEARCH);
}

bool trust_is_writable(int fd, const struct stat *status)
{
	if (S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX))
		return false;
	if (status->st_mode & S_IWOTH || has_nfs4_entry(fd, status, NFS4_ALLOW, NFS4_WRITE))
		return true;
	/* If unknown, assume that there is a list. */
	return (status->st_mode & S_IWGRP) &&
	       (!is_private_group(status) || read_list(fd, ACL, NULL, 0) >= 0 || !has_no_list());
}

enum trust trust_of(int fd, const struct stat *status, uid_t other)
{
	if (!trust_owner(status->st_uid, other))
		return TRUST_FOREIGN;
	return trust_is_writable(fd, status) ? TRUST_WRITABLE : TRUST_BELIEVED;
}

int trust_believe(const char *path, int fd, const struct stat *status, uid_t other,
                  struct error *error)
{
	enum trust trust = trust_of(fd, status, other);

	if (trust == TRUST_FOREIGN)
		return error_set(error, ERROR_PERMISSION,
		                 "not trusted: %s belongs to user %u; make it yours or root's, "
		                 "install it again as one of these, or delete it",
		                 path, status->st_uid);
	return trust == TRUST_BELIEVED
	               ? 0
	               : error_set(error, ERROR_PERMISSION,
	                           "not trusted: others may write to %s; chmod go-w it if you "
	                           "trust what is there now",
	                           path);
}

int trust_check(const char *path, int fd, const struct stat *status, uid_t other,
                struct error *error)
{
	return S_ISREG(status->st_mode)
	               ? trust_believe(path, fd, status, other, error)
	               : error_set(error, ERROR_FORMAT, "%s: not a regular file", path);
}
