/*
 * test_quarantine.c - quarantined objects: add, find by ID, remove, list; and objects whose loading
 * a process did not survive.
 */
#include "libquery/native/quarantine.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "scratch.h"

#define ID    "build-id-0123"
#define OTHER "sha256-4567"

#define TIME_MAX_SECONDS 20 /* a blocking test is ended by then */
#define STRANGER         ((uid_t)12345)

static const char *directory(void)
{
	return scratch_path("state/entrydb/quarantine");
}

/* @reason: NULL if not in quarantine. */
static void check_found(const char *id, const char *reason)
{
	struct error error = {0};
	char *found = NULL;
	int code = quarantine_find(directory(), id, &found, &error);

	assert_string_equal(error_text(&error), "no error");
	assert_int_equal(code, reason != NULL);
	if (reason)
		assert_string_equal(found, reason);
	free(found);
}

static void add(const char *id, const char *object, const char *reason)
{
	assert_int_equal(quarantine_add(directory(), id, object, reason, NULL), 0);
}

static int tell(void *payload, const char *id, const char *object, const char *reason)
{
	strcat(payload, id);
	strcat(payload, object);
	strcat(payload, reason);
	return 0;
}

static void test_add_find_remove(void **state)
{
	char told[256] = "";
	struct stat status;

	check_found(ID, NULL); /* the directory does not exist yet */
	add(ID, "/a\nb.so", "it crashed");
	assert_int_equal(stat(directory(), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	check_found(ID, "it crashed");
	check_found(OTHER, NULL);
	assert_int_equal(quarantine_walk(directory(), tell, told, NULL), 0);
	assert_string_equal(told, ID "/a\nb.so"
	                             "it crashed");
	add(ID, "/a.so", "it hung");
	check_found(ID, "it hung");
	assert_int_equal(quarantine_remove(directory(), OTHER, NULL), 0);
	assert_int_equal(quarantine_remove(directory(), ID, NULL), 1);
	check_found(ID, NULL);
}

static void test_ids_with_slashes(void **state)
{
	add(ID, "/a.so", "it crashed");
	scratch_text("state/entrydb/other", "text");
	assert_int_equal(quarantine_remove(directory(), "../other", NULL), 0);
	assert_int_equal(quarantine_remove(directory(), ".", NULL), 0);
	assert_true(scratch_exists("state/entrydb/other"));
}

/* Files that another user may have written are ignored. */
static void test_untrusted_files(void **state)
{
	add(ID, "/a.so", "it crashed");
	assert_int_equal(chmod(scratch_path("state/entrydb/quarantine/" ID), 0666), 0);
	check_found(ID, NULL);
	assert_int_equal(unlink(scratch_path("state/entrydb/quarantine/" ID)), 0);
	assert_int_equal(mkfifo(scratch_path("state/entrydb/quarantine/" ID), 0600), 0);
	check_found(ID, NULL);
}

/* Marks of crashed processes from other users are ignored; a FIFO does not block. */
static void test_untrusted_loading_marks(void **state)
{
	const char *loading = "state/entrydb/quarantine/" ID ".loading";

	add(OTHER, "/b.so", "it crashed"); /* creates the directory */
	scratch_text(loading, "/a.so");
	assert_int_equal(chmod(scratch_path(loading), 0666), 0);
	check_found(ID, NULL);
	assert_int_equal(unlink(scratch_path(loading)), 0);
	assert_int_equal(mkfifo(scratch_path(loading), 0600), 0);
	alarm(TIME_MAX_SECONDS);
	check_found(ID, NULL);
	alarm(0);
}

/* Files in another user's directory are ignored, regardless of their owners. */
static void test_directory_of_another_user(void **state)
{
	static const char *const places[] = {"state/entrydb/quarantine", "state/entrydb", "state"};
	char told[256] = "";

	if (geteuid() != 0)
		skip(); /* only root can give directories away */
	add(ID, "/a.so", "it crashed");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		assert_int_equal(chown(scratch_path(places[i]), STRANGER, STRANGER), 0);
		check_found(ID, NULL);
		assert_int_equal(quarantine_walk(directory(), tell, told, NULL), 0);
		assert_string_equal(told, "");
		assert_int_equal(chown(scratch_path(places[i]), 0, 0), 0);
	}
	assert_int_equal(chown(scratch_path("state/entrydb/quarantine/" ID), STRANGER, STRANGER),
	                 0);
	check_found(ID, NULL);
}

/* A user who can write there can rename a mark, which then applies to another object. */
static void test_directories_others_can_write(void **state)
{
	static const char *const places[] = {"state/entrydb/quarantine", "state/entrydb", "state"};

	add(ID, "/a.so", "it crashed");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		assert_int_equal(chmod(scratch_path(places[i]), 0757), 0);
		check_found(ID, NULL);
		assert_int_equal(chmod(scratch_path(places[i]), 0755), 0);
		check_found(ID, "it crashed");
		if (geteuid() != 0)
			continue; /* only root can give a directory to a group of others */
		assert_int_equal(chown(scratch_path(places[i]), 0, STRANGER), 0);
		assert_int_equal(chmod(scratch_path(places[i]), 0775), 0);
		check_found(ID, NULL);
		assert_int_equal(chmod(scratch_path(places[i]), 0755), 0);
	}
}

/* A process that marks the start of a load, then waits, or ends as @dies says. */
static pid_t begin_in_a_child(int dies)
{
	struct quarantine_watch watch;
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		if (quarantine_watch_begin(directory(), ID, "/a.so", &watch, NULL) != 0 ||
		    write(ready[1], "", 1) != 1)
			_exit(2);
		if (dies)
			_exit(0);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_process_survives_loading(void **state)
{
	struct quarantine_watch watch;

	assert_int_equal(quarantine_watch_begin(directory(), ID, "/a.so", &watch, NULL), 0);
	check_found(ID, NULL);
	quarantine_watch_end(&watch);
	check_found(ID, NULL);
	assert_false(scratch_exists("state/entrydb/quarantine/" ID ".loading"));
}

static void test_process_dies_while_loading(void **state)
{
	end_child(begin_in_a_child(1));
	check_found(ID, "a process ended while it was being loaded");
	check_found(ID, "a process ended while it was being loaded");
	assert_false(scratch_exists("state/entrydb/quarantine/" ID ".loading"));
}

/* Two processes may load an object at once; the running one is not taken for the dead one. */
static void test_two_processes_load(void **state)
{
	struct quarantine_watch watch;
	pid_t child = begin_in_a_child(0);

	check_found(ID, NULL);
	assert_int_equal(quarantine_watch_begin(directory(), ID, "/a.so", &watch, NULL), 0);
	quarantine_watch_end(&watch);
	assert_true(scratch_exists("state/entrydb/quarantine/" ID ".loading"));
	end_child(child);
	check_found(ID, "a process ended while it was being loaded");
}

RUN_TESTS(SCRATCH_TEST(test_add_find_remove), SCRATCH_TEST(test_ids_with_slashes),
          SCRATCH_TEST(test_untrusted_files), SCRATCH_TEST(test_untrusted_loading_marks),
          SCRATCH_TEST(test_directory_of_another_user),
          SCRATCH_TEST(test_directories_others_can_write),
          SCRATCH_TEST(test_process_survives_loading),
          SCRATCH_TEST(test_process_dies_while_loading), SCRATCH_TEST(test_two_processes_load))
