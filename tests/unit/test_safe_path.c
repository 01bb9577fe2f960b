/*
 * test_safe_path.c - whose territory a path leads into: owners, links, sysroots, and
 * what is made on the way. That a way cannot be exchanged while it is walked is tried
 * by test_swap.c.
 */
#include "db/base/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "scratch.h"

#define STRANGER ((uid_t)12345)
#define OTHER    ((uid_t)23456)
#define GROUP    ((gid_t)34567)

struct fixture {
	struct error error;
	int fd;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	scratch_enter();
	assert_int_equal(chmod(scratch_top(), 0755), 0);
	f->fd = -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->fd >= 0)
		close(f->fd);
	error_clear(&f->error);
	free(f);
	scratch_leave();
	return 0;
}

static int open_at(struct fixture *f, const char *path, const char *sysroot,
                   enum safe_create create)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	return safe_directory_open(path, sysroot, create, &f->fd, &f->error);
}

static void assert_leads_to(struct fixture *f, const char *path, const char *sysroot,
                            const char *to)
{
	struct stat reached, wanted;

	if (open_at(f, path, sysroot, SAFE_EXISTING) < 0)
		fail_msg("%s: %s", path, error_text(&f->error));
	assert_int_equal(fstat(f->fd, &reached), 0);
	assert_int_equal(stat(scratch_path(to), &wanted), 0);
	assert_int_equal(reached.st_ino, wanted.st_ino);
	assert_int_equal(fsync(f->fd), 0);
}

static void assert_refused(struct fixture *f, const char *path, const char *sysroot, int code,
                           const char *part)
{
	assert_int_equal(open_at(f, path, sysroot, SAFE_CREATE), code);
	assert_int_equal(f->fd, -1);
	if (!strstr(error_text(&f->error), part))
		fail_msg("%s: %s", path, error_text(&f->error));
}

static uid_t owner_of(struct fixture *f, const char *path, const char *sysroot)
{
	struct safe_way way;

	if (safe_path_look(path, NULL, sysroot, &way, &f->error) < 0)
		fail_msg("%s: %s", path, error_text(&f->error));
	return way.uid;
}

static void give(const char *path, uid_t uid)
{
	scratch_directory(path);
	assert_int_equal(lchown(scratch_path(path), uid, GROUP), 0);
}

static void link_to(const char *target, const char *path, uid_t uid)
{
	assert_int_equal(symlink(target, scratch_path(path)), 0);
	assert_int_equal(lchown(scratch_path(path), uid, (gid_t)-1), 0);
}

#define NEEDS_ROOT()                                                                               \
	do {                                                                                       \
		if (geteuid() != 0)                                                                \
			skip(); /* only root can give directories away */                          \
	} while (0)

static void test_spellings(void **state)
{
	struct fixture *f = *state;

	scratch_directory("a/b/c");
	assert_leads_to(f, "a/b", NULL, "a/b");
	assert_leads_to(f, scratch_path("a/b"), NULL, "a/b");
	assert_leads_to(f, scratch_path("a//b/./c/../../b/"), NULL, "a/b");
	assert_leads_to(f, ".", NULL, "");
	assert_leads_to(f, "/../..", NULL, "../..");
	assert_int_equal(open_at(f, "a/x", NULL, SAFE_EXISTING), ERROR_NOTFOUND);
	scratch_text("a/file", "");
	assert_int_equal(open_at(f, "a/file", NULL, SAFE_EXISTING), ERROR_NOTFOUND);
	assert_int_equal(open_at(f, "a/file/x", NULL, SAFE_CREATE), ERROR_NOTFOUND);
	assert_int_equal(open_at(f, "a/file/../b", NULL, SAFE_CREATE), ERROR_NOTFOUND);
}

static void test_what_is_made(void **state)
{
	struct fixture *f = *state;
	struct stat status;

	scratch_directory("open");
	scratch_directory("closed");
	assert_int_equal(chmod("closed", 0700), 0);
	umask(077);
	assert_int_equal(open_at(f, "open/x/y", NULL, SAFE_CREATE), 0);
	assert_int_equal(open_at(f, "closed/x/y", NULL, SAFE_CREATE), 0);
	assert_int_equal(open_at(f, "open/p/q/", NULL, SAFE_PRIVATE), 0);
	umask(022);
	assert_int_equal(stat("open/p", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0755);
	assert_int_equal(stat("open/p/q", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_int_equal(stat("open/x/y", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0755);
	assert_int_equal(stat("closed/x/y", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	if (geteuid() != 0)
		return;
	/* Who may write there can have put another directory of root's in its place. */
	assert_int_equal(chown("open", 0, GROUP), 0);
	assert_int_equal(chmod("open", 0775), 0);
	umask(077);
	assert_int_equal(open_at(f, "open/z", NULL, SAFE_CREATE), 0);
	umask(022);
	assert_int_equal(stat("open/z", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
}

static void test_own_links(void **state)
{
	struct fixture *f = *state;

	scratch_directory("a/b");
	link_to("b", "a/relative", geteuid());
	link_to("../a/./relative", "a/further", geteuid());
	link_to(scratch_path("a"), "absolute", geteuid());
	link_to("loop", "loop", geteuid());
	link_to("nowhere", "dangling", geteuid());
	assert_leads_to(f, "a/relative", NULL, "a/b");
	assert_leads_to(f, "absolute/further/", NULL, "a/b");
	assert_leads_to(f, "a/relative/..", NULL, "a");
	assert_refused(f, "loop", NULL, ERROR_FORMAT, strerror(ELOOP));
	assert_int_equal(open_at(f, "dangling", NULL, SAFE_EXISTING), ERROR_NOTFOUND);
	assert_int_equal(chmod("a", 0777), 0);
	assert_refused(f, "a/relative", NULL, ERROR_PERMISSION, "everybody may write");
	assert_int_equal(chmod("a", 01777), 0);
	assert_leads_to(f, "a/relative", NULL, "a/b");
}

static void test_territories(void **state)
{
	struct fixture *f = *state;

	NEEDS_ROOT();
	give("home", 0);
	give("home/alice", STRANGER);
	give("home/alice/own", 0); /* by name hers: she can rename it */
	assert_int_equal(owner_of(f, "home", NULL), 0);
	assert_int_equal(owner_of(f, "home/alice", NULL), STRANGER);
	assert_int_equal(owner_of(f, "home/alice/own/absent/x", NULL), STRANGER);
	assert_int_equal(owner_of(f, "home/absent/x", NULL), 0);
	assert_refused(f, "home/alice/own", NULL, ERROR_PERMISSION, "home/alice belongs to user");
	assert_refused(f, "home/alice/new", NULL, ERROR_PERMISSION, "12345");
	assert_false(scratch_exists("home/alice/new"));
	scratch_text("home/egg", "");
	assert_int_equal(chown("home/egg", OTHER, GROUP), 0);
	assert_int_equal(owner_of(f, "home/egg", NULL), OTHER);
}

/* In a sticky directory what lies there is its owner's; but the owner of that directory rules. */
static void test_sticky(void **state)
{
	struct fixture *f = *state;

	NEEDS_ROOT();
	give("tmp", 0);
	assert_int_equal(chmod("tmp", 01777), 0);
	give("tmp/alice", STRANGER);
	give("tmp/root", 0);
	assert_leads_to(f, "tmp/root", NULL, "tmp/root");
	assert_int_equal(owner_of(f, "tmp/alice", NULL), STRANGER);
	give("tmp", STRANGER);
	assert_int_equal(owner_of(f, "tmp/root", NULL), STRANGER);
}

static void test_links_of_others(void **state)
{
	struct fixture *f = *state;

	NEEDS_ROOT();
	give("tmp", 0);
	assert_int_equal(chmod("tmp", 01777), 0);
	scratch_directory("etc");
	link_to("../etc", "tmp/planted", STRANGER);
	link_to("../etc", "tmp/own", 0);
	assert_refused(f, "tmp/planted", NULL, ERROR_PERMISSION, "tmp/planted is a symbolic link");
	assert_refused(f, "tmp/planted/x", NULL, ERROR_PERMISSION, "not followed");
	assert_leads_to(f, "tmp/own", NULL, "etc");
	/* A group may rename root's own links in its directory. */
	give("shared", 0);
	assert_int_equal(chmod("shared", 0775), 0);
	link_to("../etc", "shared/own", 0);
	assert_refused(f, "shared/own", NULL, ERROR_PERMISSION, "not followed");
}

/* What the kernel follows is not what the link says: it may have no path here. */
static void test_links_of_proc(void **state)
{
	static const char top[] = "/proc/self/root";
	CLEANUP(cleanup_close) int sysroot = open("/", O_PATH);
	struct fixture *f = *state;
	char path[sizeof(top) + 2];

	snprintf(path, sizeof(path), "%s/a", top);
	scratch_directory("a");
	assert_refused(f, "/proc/self/cwd/a", NULL, ERROR_PERMISSION, "past the directories above");
	assert_refused(f, path, top, ERROR_PERMISSION, "not followed");
	assert_int_equal(safe_look_open(sysroot, "proc/self/cwd/a", O_DIRECTORY), -1);
	assert_int_equal(errno, ELOOP);
}

static int gate(mode_t mode, const char *name)
{
	CLEANUP(cleanup_close) int top = open(scratch_top(), O_PATH);
	CLEANUP(cleanup_close) int fd = file_open_for((struct readers){.mode = mode}, top, name);

	return fd < 0 ? errno : 0;
}

/* Who may read what is published may read it, and search what leads to it, however it is spelled.
 */
static void test_the_gate(void **state)
{
	char *absolute;

	scratch_text("a/b/file", "");
	link_to("b", "a/link", geteuid());
	link_to("a/b/file", "c", geteuid());
	absolute = strdup(scratch_path("a/b/file"));
	for (int closed = 0; closed < 2; closed++) {
		const char *const names[] = {"a/b/file", "a/link/file", "c",          "a//b/file",
		                             "a/b",      "a/link",      "a/x/../b/.", absolute};

		scratch_directory("a/x");
		assert_int_equal(chmod("a/b", closed ? 0700 : 0755), 0);
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			assert_int_equal(gate(0, names[i]), 0);
			assert_int_equal(gate(0444, names[i]), closed ? EACCES : 0);
			assert_int_equal(gate(0400, names[i]), 0);
		}
	}
	assert_int_equal(chmod("a/b", 0755), 0);
	assert_int_equal(chmod("a/b/file", 0640), 0);
	assert_int_equal(gate(0444, "c"), EACCES);
	assert_int_equal(gate(0444, "a/none"), ENOENT);
	free(absolute);
}

/* Behind a link to another process, a file system may never answer: root does not look there. */
static void test_looked_at_again(void **state)
{
	enum trust_way own = TRUST_WAY_UNKNOWN, theirs = TRUST_WAY_UNKNOWN,
	               unknown = TRUST_WAY_UNKNOWN;
	struct rlimit before, few;
	char target[64];
	struct stat status;
	int found;

	(void)state;
	NEEDS_ROOT();
	give("own", 0);
	give("theirs/site", STRANGER);
	give("theirs", STRANGER);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(file_status_again(scratch_path("own"), &own, &status, NULL), 1);
		assert_int_equal(
		        file_status_again(scratch_path("theirs/site"), &theirs, &status, NULL), 1);
	}
	assert_int_equal(own, TRUST_WAY_OWN);
	assert_int_equal(rmdir("theirs/site"), 0);
	snprintf(target, sizeof(target), "/proc/%d/root", (int)getppid());
	link_to(target, "theirs/site", STRANGER);
	assert_int_equal(stat("theirs/site", &status), 0);
	assert_int_equal(file_status_again(scratch_path("theirs/site"), &theirs, &status, NULL), 0);
	/* Nor without a descriptor to judge the way. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = STDERR_FILENO + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	found = file_status_again(scratch_path("theirs/site"), &unknown, &status, NULL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(found < 0);
	assert_int_equal(unknown, TRUST_WAY_UNKNOWN);
}

static int open_own(void *payload)
{
	return -open_at(payload, "home/alice/link/x", NULL, SAFE_CREATE);
}

static int open_others(void *payload)
{
	struct fixture *f = payload;

	return -safe_directory_open("home/bob", NULL, SAFE_EXISTING, &f->fd, &f->error);
}

/* As the user himself: his own is his, root's is no obstacle, another's is. */
static void test_as_a_user(void **state)
{
	struct fixture *f = *state;

	NEEDS_ROOT();
	give("home/alice/real", STRANGER);
	give("home/alice", STRANGER);
	give("home/bob", OTHER);
	link_to("real", "home/alice/link", STRANGER);
	assert_int_equal(scratch_as(STRANGER, open_own, f), 0);
	assert_int_equal(scratch_as(STRANGER, open_others, f), -ERROR_PERMISSION);
	assert_true(scratch_exists("home/alice/real/x"));
}

static void test_sysroot(void **state)
{
	struct fixture *f = *state;
	char *sysroot = strdup(scratch_path("image"));

	scratch_directory("image/data/var");
	scratch_directory("outside");
	link_to("/data/var", "image/var", geteuid());
	link_to("../../../../../../../outside", "image/up", geteuid());
	link_to(scratch_path("outside"), "image/out", geteuid());
	assert_leads_to(f, scratch_path("image/var"), sysroot, "image/data/var");
	assert_leads_to(f, scratch_path("image/../../data/var"), sysroot, "image/data/var");
	assert_int_equal(open_at(f, scratch_path("image/up"), sysroot, SAFE_EXISTING),
	                 ERROR_NOTFOUND);
	assert_int_equal(open_at(f, scratch_path("image/out"), sysroot, SAFE_EXISTING),
	                 ERROR_NOTFOUND);
	assert_leads_to(f, scratch_path("image"), sysroot, "image");
	assert_leads_to(f, scratch_path("outside"), "/", "outside");
	assert_refused(f, scratch_path("image2"), sysroot, ERROR_INVALID, "not below");
	assert_refused(f, scratch_path("outside"), sysroot, ERROR_INVALID, "not below");
	free(sysroot);
}

/* Its owner renames it while it is read. */
static void test_a_renamed_sysroot(void **state)
{
	struct file_sysroot image;
	char target[PATH_MAX];
	int site, fd;

	scratch_text("outside", "");
	scratch_text("image/inside", "");
	scratch_directory("image/site");
	assert_int_equal(symlink(scratch_path("outside"), "image/site/out"), 0);
	assert_int_equal(symlink("/inside", "image/site/in"), 0);
	assert_int_equal(file_sysroot_open(scratch_path("image"), &image), 0);
	file_set_sysroot(&image);
	site = file_open(AT_FDCWD, scratch_path("image/site"), O_DIRECTORY);
	fd = file_open(site, "in", 0);
	assert_true(fd >= 0 && close(fd) == 0);
	assert_int_equal(rename("image", "image2"), 0);
	scratch_directory("image");
	assert_int_equal(file_open(site, "in", 0), -1);
	assert_int_equal(file_open(site, "out", 0), -1);
	fd = file_open(AT_FDCWD, scratch_path("image/site/in"), 0);
	assert_true(fd >= 0 && close(fd) == 0);
	fd = safe_look_open(image.fd, "site/in", O_RDONLY);
	assert_true(fd >= 0 && close(fd) == 0);
	assert_int_equal(safe_look_open(image.fd, "site/out", O_RDONLY), -1);
	assert_int_equal(safe_look_open(image.fd, "site/out", O_NOFOLLOW), -1);
	fd = safe_look_open(image.fd, "site/out", O_PATH | O_NOFOLLOW);
	assert_true(fd >= 0 && readlinkat(fd, "", target, sizeof(target)) > 0 && close(fd) == 0);
	file_set_sysroot(NULL);
	file_sysroot_close(&image);
	close(site);
}

static void test_sysroot_of_another(void **state)
{
	struct fixture *f = *state;
	char *sysroot = strdup(scratch_path("home/image"));

	NEEDS_ROOT();
	give("home", STRANGER);
	give("home/image", 0);
	give("home/image/var", 0);
	assert_refused(f, scratch_path("home/image/var"), sysroot, ERROR_PERMISSION, "12345");
	assert_int_equal(owner_of(f, scratch_path("home/image/var"), sysroot), STRANGER);
	free(sysroot);
}

/* 0, 1 and 2 are for messages. */
static void test_low_descriptors(void **state)
{
	struct fixture *f = *state;
	int kept = dup(STDIN_FILENO);

	scratch_directory("a");
	close(STDIN_FILENO);
	assert_int_equal(open_at(f, "a", NULL, SAFE_EXISTING), 0);
	assert_true(f->fd > STDERR_FILENO);
	assert_int_equal(fcntl(f->fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	if (kept >= 0) {
		assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
		close(kept);
	}
}

RUN_TESTS(TEST(test_spellings), TEST(test_what_is_made), TEST(test_own_links),
          TEST(test_territories), TEST(test_sticky), TEST(test_links_of_others),
          TEST(test_links_of_proc), TEST(test_the_gate), TEST(test_looked_at_again),
          TEST(test_as_a_user), TEST(test_sysroot), TEST(test_a_renamed_sysroot),
          TEST(test_sysroot_of_another), TEST(test_low_descriptors))
