/*
 * far.c - a FUSE file system that shows a directory as if through a slow network.
 *
 * usage: far DIRECTORY MOUNT_POINT MICROSECONDS SECONDS COUNTS
 *
 * Mounts DIRECTORY read-only, with its inodes, times and directory order but another device
 * number, as a second host would see it. The kernel may cache answers for SECONDS. Requests
 * are counted in the file COUNTS, one uint64_t for each enum request. Exits when unmounted.
 * For tests and benchmarks only.
 *
 * It implements the kernel's protocol (linux/fuse.h) directly, because some releases of libfuse
 * make the kernel look up the names of a directory one at a time, unlike a network file
 * system. A file's node number is its inode number; nodes are never forgotten.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define THREADS     64
#define NODES       ((size_t)1 << 18)
#define BUFFER_SIZE ((size_t)256 * 1024) /* bytes of the largest request */
#define READ_SIZE   ((uint32_t)128 * 1024)

enum request { LOOK, LINK, LIST, OPEN, READ, REQUESTS };

static struct {
	int device; /* /dev/fuse */
	bool has_lists;
	struct timespec delay, remembered;
	_Atomic uint64_t *counts;
	pthread_mutex_t lock;
	struct node {
		uint64_t number;
		char *path;
	} nodes[NODES];
} far;

_Noreturn static void fail(const char *what)
{
	perror(what);
	exit(3);
}

/* Delay and count a request; requests whose answer is not waited for are not counted. */
static void travel(enum request request)
{
	atomic_fetch_add(&far.counts[request], 1);
	if (far.delay.tv_nsec || far.delay.tv_sec)
		nanosleep(&far.delay, NULL);
}

/* --- files --- */

static struct node *find(uint64_t number)
{
	size_t at = number * 0x9E3779B97F4A7C15u % NODES;

	while (far.nodes[at].path && far.nodes[at].number != number)
		at = (at + 1) % NODES;
	return &far.nodes[at];
}

static const char *path_of(uint64_t number)
{
	const char *path;

	pthread_mutex_lock(&far.lock);
	path = find(number)->path;
	pthread_mutex_unlock(&far.lock);
	return path ? path : "";
}

/* A file keeps the path that it was first looked up by. */
static void remember(uint64_t number, const char *path)
{
	struct node *node;

	pthread_mutex_lock(&far.lock);
	node = find(number);
	if (!node->path) {
		node->number = number;
		node->path = strdup(path);
	}
	pthread_mutex_unlock(&far.lock);
}

static struct fuse_attr attributes(const struct stat *status)
{
	return (struct fuse_attr){
	        .ino = status->st_ino,
	        .size = (uint64_t)status->st_size,
	        .blocks = (uint64_t)status->st_blocks,
	        .atime = (uint64_t)status->st_atim.tv_sec,
	        .mtime = (uint64_t)status->st_mtim.tv_sec,
	        .ctime = (uint64_t)status->st_ctim.tv_sec,
	        .atimensec = (uint32_t)status->st_atim.tv_nsec,
	        .mtimensec = (uint32_t)status->st_mtim.tv_nsec,
	        .ctimensec = (uint32_t)status->st_ctim.tv_nsec,
	        .mode = status->st_mode,
	        .nlink = (uint32_t)status->st_nlink,
	        .uid = status->st_uid,
	        .gid = status->st_gid,
	        .blksize = (uint32_t)status->st_blksize,
	};
}

/* --- answers --- */

static void answer(const struct fuse_in_header *in, int errnum, const void *body, size_t size)
{
	struct fuse_out_header out = {
	        .len = (uint32_t)(sizeof(out) + (errnum ? 0 : size)),
	        .error = -errnum,
	        .unique = in->unique,
	};
	struct iovec parts[] = {{&out, sizeof(out)}, {(void *)body, errnum ? 0 : size}};

	/* An interrupted request gets no answer. */
	if (writev(far.device, parts, 2) < 0 && errno != ENOENT && errno != ENODEV)
		fail("/dev/fuse");
}

static void start(const struct fuse_in_header *in, const struct fuse_init_in *asked)
{
	struct fuse_init_out out = {
	        .major = FUSE_KERNEL_VERSION,
	        .minor = FUSE_KERNEL_MINOR_VERSION,
	        .max_readahead = asked->max_readahead,
	        .flags = FUSE_PARALLEL_DIROPS | FUSE_ASYNC_READ | FUSE_BIG_WRITES,
	        .max_background = THREADS,
	        .congestion_threshold = THREADS,
	        .max_write = READ_SIZE,
	        .time_gran = 1,
	};

	answer(in, 0, &out, sizeof(out));
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = {
	        .entry_valid = (uint64_t)far.remembered.tv_sec,
	        .attr_valid = (uint64_t)far.remembered.tv_sec,
	        .entry_valid_nsec = (uint32_t)far.remembered.tv_nsec,
	        .attr_valid_nsec = (uint32_t)far.remembered.tv_nsec,
	};
	char path[PATH_MAX];
	struct stat status;

	travel(LOOK);
	if (snprintf(path, sizeof(path), "%s/%s", path_of(in->nodeid), name) >= PATH_MAX) {
		answer(in, ENAMETOOLONG, NULL, 0);
	} else if (lstat(path, &status) == 0) {
		remember(status.st_ino, path);
		out.nodeid = status.st_ino;
		out.attr = attributes(&status);
		answer(in, 0, &out, sizeof(out));
	} else if (errno == ENOENT) { /* node number 0: a negative answer, which may be cached */
		answer(in, 0, &out, sizeof(out));
	} else {
		answer(in, errno, NULL, 0);
	}
}

static void look(const struct fuse_in_header *in)
{
	struct fuse_attr_out out = {
	        .attr_valid = (uint64_t)far.remembered.tv_sec,
	        .attr_valid_nsec = (uint32_t)far.remembered.tv_nsec,
	};
	struct stat status;

	travel(LOOK);
	if (lstat(path_of(in->nodeid), &status) != 0) {
		answer(in, errno, NULL, 0);
		return;
	}
	out.attr = attributes(&status);
	answer(in, 0, &out, sizeof(out));
}

static void read_link(const struct fuse_in_header *in)
{
	char target[PATH_MAX];
	ssize_t len;

	travel(LINK);
	len = readlink(path_of(in->nodeid), target, sizeof(target));
	answer(in, len < 0 ? errno : 0, target, (size_t)len);
}

static void open_file(const struct fuse_in_header *in, const struct fuse_open_in *how)
{
	struct fuse_open_out out = {0};
	int fd = -1;

	travel(OPEN);
	errno = EROFS;
	if ((how->flags & O_ACCMODE) == O_RDONLY)
		fd = open(path_of(in->nodeid), O_RDONLY | O_CLOEXEC);
	out.fh = (uint64_t)fd;
	answer(in, fd < 0 ? errno : 0, &out, sizeof(out));
}

static void read_file(const struct fuse_in_header *in, const struct fuse_read_in *what)
{
	char bytes[READ_SIZE];
	ssize_t len;

	travel(READ);
	len = pread((int)what->fh, bytes, what->size < READ_SIZE ? what->size : READ_SIZE,
	            (off_t)what->offset);
	answer(in, len < 0 ? errno : 0, bytes, (size_t)len);
}

/* As many entries as fit, starting at the requested offset. */
static void list(const struct fuse_in_header *in, const struct fuse_read_in *what)
{
	_Alignas(uint64_t) char bytes[READ_SIZE];
	DIR *directory = opendir(path_of(in->nodeid));
	const struct dirent *entry;
	size_t used = 0;

	travel(LIST);
	if (!directory) {
		answer(in, errno, NULL, 0);
		return;
	}
	if (what->offset)
		seekdir(directory, (long)what->offset);
	while ((entry = readdir(directory))) {
		struct fuse_dirent *to = (struct fuse_dirent *)(bytes + used);
		size_t len = strlen(entry->d_name),
		       size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + len);

		if (used + size > what->size || used + size > sizeof(bytes))
			break;
		memset(to, 0, size);
		to->ino = entry->d_ino;
		to->off = (uint64_t)entry->d_off;
		to->type = entry->d_type;
		to->namelen = (uint32_t)len;
		memcpy(to->name, entry->d_name, len);
		used += size;
	}
	closedir(directory);
	answer(in, 0, bytes, used);
}

/* What a file has as user.nfs4_acl is shown as its NFSv4 list. */
static void get_list(const struct fuse_in_header *in, const struct fuse_getxattr_in *how)
{
	char list[READ_SIZE];
	struct fuse_getxattr_out out = {0};
	ssize_t size = -1;

	errno = ENOTSUP;
	if (strcmp((const char *)(how + 1), "system.nfs4_acl") == 0)
		size = getxattr(path_of(in->nodeid), "user.nfs4_acl", list, sizeof(list));
	out.size = (uint32_t)size;
	if (size < 0)
		answer(in, errno, NULL, 0);
	else if (how->size == 0)
		answer(in, 0, &out, sizeof(out));
	else
		answer(in, (size_t)size > how->size ? ERANGE : 0, list, (size_t)size);
}

/* --- the loop --- */

static void serve(const struct fuse_in_header *in)
{
	const void *body = in + 1;
	struct fuse_open_out nothing = {0};

	switch (in->opcode) {
	case FUSE_INIT:
		start(in, body);
		return;
	case FUSE_LOOKUP:
		look_up(in, body);
		return;
	case FUSE_GETATTR:
		look(in);
		return;
	case FUSE_READLINK:
		read_link(in);
		return;
	case FUSE_OPEN:
		open_file(in, body);
		return;
	case FUSE_READ:
		read_file(in, body);
		return;
	case FUSE_GETXATTR:
		if (far.has_lists)
			get_list(in, body);
		else
			answer(in, ENOSYS, NULL, 0);
		return;
	case FUSE_READDIR:
		list(in, body);
		return;
	case FUSE_OPENDIR:
		answer(in, 0, &nothing, sizeof(nothing));
		return;
	case FUSE_RELEASEDIR:
		answer(in, 0, NULL, 0);
		return;
	case FUSE_RELEASE:
		close((int)((const struct fuse_release_in *)body)->fh);
		answer(in, 0, NULL, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return; /* these have no answer */
	default:
		answer(in, ENOSYS, NULL, 0);
	}
}

_Noreturn static void *work(void *unused)
{
	struct fuse_in_header *buffer = malloc(BUFFER_SIZE);

	(void)unused;
	for (;;) {
		ssize_t len = read(far.device, buffer, BUFFER_SIZE);

		if (len >= 0)
			serve(buffer);
		else if (errno == ENODEV) /* unmounted */
			exit(0);
		else if (errno != EINTR && errno != EAGAIN && errno != ENOENT)
			fail("/dev/fuse");
	}
}

static void make_counts(const char *file)
{
	const size_t size = REQUESTS * sizeof(*far.counts);
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
		fail(file);
	far.counts = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (far.counts == MAP_FAILED)
		fail(file);
}

static void mount_at(const char *directory, const char *point)
{
	const char *user = getenv("FAR_USER"); /* as whose mount it counts */
	char options[128];
	struct stat status;

	far.device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (far.device < 0 || stat(directory, &status) != 0)
		fail(far.device < 0 ? "/dev/fuse" : directory);
	remember(FUSE_ROOT_ID, directory);
	snprintf(options, sizeof(options),
	         "fd=%d,rootmode=%o,user_id=%u,group_id=%u,default_permissions%s", far.device,
	         status.st_mode & S_IFMT, user ? (unsigned)atoi(user) : getuid(), getgid(),
	         getenv("FAR_CLOSED") ? "" : ",allow_other");
	if (mount("far", point, "fuse", MS_RDONLY | MS_NOSUID | MS_NODEV, options) != 0)
		fail(point);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	double seconds;
	long delay;

	if (argc != 6) {
		fprintf(stderr, "usage: far DIRECTORY MOUNT_POINT MICROSECONDS SECONDS COUNTS\n");
		return 2;
	}
	delay = strtol(argv[3], NULL, 10);
	far.delay = (struct timespec){delay / 1000000, delay % 1000000 * 1000};
	seconds = strtod(argv[4], NULL);
	far.remembered =
	        (struct timespec){(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
	far.has_lists = getenv("FAR_LISTS");
	pthread_mutex_init(&far.lock, NULL);
	make_counts(argv[5]);
	mount_at(argv[1], argv[2]);
	for (int i = 1; i < THREADS; i++)
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			fail("a thread");
	work(NULL);
}
