/*
 * test_swap.c - an attacker exchanges names while a writer works: the files that the planted links
 * lead to must stay unchanged.
 *
 * If the test runs as root, the attacker is a second user, who owns a prefix that root's package
 * manager updates. ENTRYDB_TEST_SWAPS: the number of writers to attack, default 200.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "db/base/safe_path.h"
#include "db/publish.h"
#include "db/reader.h"
#include "db/writer.h"
#include "records.h"
#include "scratch.h"

#define PREFIX    "home/venv"
#define DIRECTORY PREFIX "/var/lib/entrydb"
#define DATABASE  DIRECTORY "/entry_points.db"
#define ATTACKER  ((uid_t)65534)

static struct error error;
static atomic_bool over;

static long rounds(void)
{
	const char *text = getenv("ENTRYDB_TEST_SWAPS");

	return text ? atol(text) : 200;
}

static int setup(void **state)
{
	scratch_enter();
	assert_int_equal(chmod(scratch_top(), 0755), 0);
	scratch_text("etc/passwd", "precious");
	assert_int_equal(chmod("etc/passwd", 0600), 0);
	over = false;
	return 0;
}

static int teardown(void **state)
{
	error_clear(&error);
	scratch_leave();
	return 0;
}

/* The file, its mode and its directory are unchanged. */
static void check_victim(void)
{
	struct stat status;
	size_t length;
	char *bytes;

	assert_int_equal(stat("etc/passwd", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(status.st_uid, geteuid());
	bytes = scratch_read("etc/passwd", &length);
	assert_int_equal(length, strlen("precious"));
	assert_memory_equal(bytes, "precious", length);
	free(bytes);
	assert_int_equal(rmdir("etc"), -1);
	assert_int_equal(errno, ENOTEMPTY);
	assert_int_equal(stat("etc", &status), 0);
	assert_int_equal(status.st_nlink, 2); /* no subdirectory */
	for (const char *const *name =
	             (const char *const[]){"entry_points.db", "entry_points.db.new",
	                                   "entry_points.db.lock", NULL};
	     *name; name++) {
		char path[100];

		snprintf(path, sizeof(path), "etc/%s", *name);
		assert_false(scratch_exists(path));
	}
}

/* --- by the same user: no link is ever followed --- */

static void *exchange_files(void *payload)
{
	static const char *const suffixes[] = {"", ".new", ".lock", ".damaged"};

	(void)payload;
	for (unsigned i = 0; !over; i++) {
		char name[200], kept[220];

		snprintf(name, sizeof(name), "%s%s", DATABASE, suffixes[i % 4]);
		snprintf(kept, sizeof(kept), "%s.kept", name);
		(void)!symlink(scratch_path("etc/passwd"), kept);
		(void)!rename(kept, name);
	}
	return NULL;
}

static void test_files(void **state)
{
	pthread_t thread;

	assert_int_equal(records_store(DATABASE, "r", 1, &error), 0);
	assert_int_equal(pthread_create(&thread, NULL, exchange_files, NULL), 0);
	for (long i = 0; i < rounds(); i++)
		(void)!records_store(DATABASE, "r", 1, NULL);
	over = true;
	pthread_join(thread, NULL);
	check_victim();
}

/* --- by another user, who owns the prefix --- */

/* Exchange each for a link to root's directory or file, and restore it. */
static void exchange_all(void)
{
	static const struct {
		const char *name, *target;
	} places[] = {
	        {PREFIX "/var", "../../etc"},
	        {PREFIX "/var/lib", "../../../etc"},
	        {DIRECTORY, "../../../../../etc"},
	        {DATABASE, "../../../../../etc/passwd"},
	        {DATABASE ".new", "../../../../../etc/passwd"},
	        {DATABASE ".lock", "../../../../../etc/passwd"},
	};

	for (unsigned i = 0;; i++) {
		const char *name = places[i % 6].name;
		char kept[200];

		snprintf(kept, sizeof(kept), "%s.kept", name);
		if (rename(name, kept) == 0) {
			(void)!symlink(places[i % 6].target, name);
			unlink(name);
			rename(kept, name);
		}
	}
}

static pid_t start_attacker(void)
{
	pid_t child = fork();

	if (child == 0) {
		if (setresuid(ATTACKER, ATTACKER, ATTACKER) != 0)
			_exit(1);
		exchange_all();
	}
	return child;
}

static void give_to_attacker(const char *path)
{
	assert_int_equal(chown(path, ATTACKER, (gid_t)-1), 0);
}

static void make_prefix(void)
{
	assert_int_equal(records_store(DATABASE, "forged", 1, &error), 0);
	give_to_attacker(PREFIX);
	give_to_attacker(PREFIX "/var");
	give_to_attacker(PREFIX "/var/lib");
	give_to_attacker(DIRECTORY);
	give_to_attacker(DATABASE);
}

/* Root is refused every time, before any change. */
static void attack(const char *sysroot)
{
	struct writer_options options = {.may_replace = true, .wait.sysroot = sysroot};
	char *database = strdup(scratch_path(DATABASE));
	pid_t child = start_attacker();
	struct writer *writer = NULL;

	options.file = database;
	for (long i = 0; i < rounds(); i++) {
		struct safe_way way;

		assert_int_equal(writer_open(&options, &writer, &error), ERROR_PERMISSION);
		assert_int_equal(publish_mark_stale(database, sysroot, &error), ERROR_PERMISSION);
		assert_int_equal(safe_path_look(database, NULL, sysroot, &way, &error), 0);
		assert_int_equal(way.uid, ATTACKER);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	free(database);
	check_victim();
}

static void test_prefix_of_another(void **state)
{
	if (geteuid() != 0)
		skip(); /* only root can be a second user */
	make_prefix();
	attack(NULL);
}

static void test_sysroot_with_a_prefix_of_another(void **state)
{
	char *sysroot;

	if (geteuid() != 0)
		skip();
	make_prefix();
	sysroot = strdup(scratch_path("home"));
	attack(sysroot);
	free(sysroot);
}

/* A reader gets rows of the database or an error, never those of a link's target. */
static void test_readers(void **state)
{
	pid_t child;

	if (geteuid() != 0)
		skip();
	make_prefix();
	assert_int_equal(records_store("etc/real.db", "root's own", 1, &error), 0);
	child = start_attacker();
	for (long i = 0; i < rounds() * 5; i++) {
		struct reader *reader = NULL;
		struct root_record root;

		if (reader_open(DATABASE, ATTACKER, &reader, NULL) == 0)
			assert_int_equal(reader_root(reader, SLICE("root's own"), &root, NULL), 0);
		reader_close(reader);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* In a sticky world-writable directory, like /tmp. */
static void test_shared_directory(void **state)
{
	struct stat status;

	if (geteuid() != 0)
		skip();
	scratch_directory("tmp");
	assert_int_equal(chmod("tmp", 01777), 0);
	for (const char *const *name =
	             (const char *const[]){"tmp/x.db", "tmp/x.db.new", "tmp/x.db.damaged", NULL};
	     *name; name++) {
		assert_int_equal(symlink("../etc/passwd", *name), 0);
		assert_int_equal(lchown(*name, ATTACKER, (gid_t)-1), 0);
	}
	assert_int_equal(records_store("tmp/x.db", "r", 1, &error), 0);
	assert_int_equal(lstat("tmp/x.db", &status), 0);
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(unlink("tmp/x.db.lock"), 0);
	assert_int_equal(symlink("../etc/passwd", "tmp/x.db.lock"), 0);
	assert_int_equal(records_store("tmp/x.db", "r", 1, NULL), ERROR_FORMAT);
	check_victim();
}

RUN_TESTS(TEST(test_files), TEST(test_prefix_of_another),
          TEST(test_sysroot_with_a_prefix_of_another), TEST(test_readers),
          TEST(test_shared_directory))
