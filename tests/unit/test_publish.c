/*
 * test_publish.c - replacing a file atomically: locks, leftovers, copies, modes, and the state
 * after nothing was published.
 */
#include "db/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "db/base/cleanup.h"
#include "scratch.h"

#define PATH "d/e/file.db"

struct fixture {
	struct publication first, second;
	struct error error;
	int child_works; /* the child holds the lock until this end of a pipe is closed */
};

static int setup(void **state)
{
	struct fixture *f = scratch_fixture(state, sizeof(*f));

	f->first = f->second = PUBLICATION_INIT;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	publication_end(&f->first);
	publication_end(&f->second);
	error_clear(&f->error);
	return scratch_teardown(state);
}

static void begin(struct fixture *f)
{
	if (publication_begin(&f->first, PATH, &(struct publication_wait){.timeout = 0},
	                      &f->error) < 0)
		fail_msg("%s", error_text(&f->error));
}

static void publish(struct fixture *f, const char *text, mode_t mode)
{
	begin(f);
	scratch_text(PATH ".new", text);
	assert_int_equal(publication_finish(&f->first, mode, &f->error), 0);
	publication_end(&f->first);
}

static void test_publish(void **state)
{
	struct fixture *f = *state;
	struct stat status;

	umask(077); /* must not affect the requested mode */
	publish(f, "one", 0644);
	umask(022);
	scratch_check(PATH, "one");
	assert_int_equal(stat(PATH, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0644);
	publish(f, "two", 0600);
	scratch_check(PATH, "two");
	assert_int_equal(stat(PATH, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_false(scratch_exists(PATH ".new"));
	assert_int_equal(stat(PATH ".lock", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

static void test_not_published(void **state)
{
	struct fixture *f = *state;

	publish(f, "one", 0644);
	begin(f);
	scratch_text(PATH ".new", "two");
	scratch_text(PATH ".new-journal", "x");
	publication_end(&f->first);
	scratch_check(PATH, "one");
	assert_false(scratch_exists(PATH ".new"));
	assert_false(scratch_exists(PATH ".new-journal"));
	publication_end(&f->first); /* a second call does nothing */
}

static void test_leftovers(void **state)
{
	struct fixture *f = *state;

	scratch_text(PATH ".new", "of one who was killed");
	scratch_text(PATH ".new-wal", "of one who was killed");
	begin(f);
	scratch_check(PATH ".new", "");
	assert_false(scratch_exists(PATH ".new-wal"));
}

static void test_link_in_place_of_the_new_file(void **state)
{
	struct fixture *f = *state;

	scratch_text("precious", "keep");
	scratch_directory("d/e");
	assert_int_equal(symlink("../../precious", PATH ".new"), 0);
	publish(f, "one", 0644);
	scratch_check("precious", "keep");
	scratch_check(PATH, "one");
}

static void test_copy(void **state)
{
	static char bytes[300000];
	struct fixture *f = *state;
	size_t length;
	char *copy;

	memset(bytes, 'x', sizeof(bytes));
	begin(f);
	assert_int_equal(publication_copy(&f->first, &f->error), ERROR_NOTFOUND);
	scratch_write(PATH, bytes, sizeof(bytes));
	assert_int_equal(publication_copy(&f->first, &f->error), 0);
	copy = scratch_read(PATH ".new", &length);
	assert_int_equal(length, sizeof(bytes));
	assert_memory_equal(copy, bytes, length);
	free(copy);
	assert_int_equal(publication_restart(&f->first, &f->error), 0);
	scratch_check(PATH ".new", "");
	scratch_text(PATH, "");
	assert_int_equal(publication_copy(&f->first, &f->error), 0);
	scratch_check(PATH ".new", "");
}

static void test_set_aside(void **state)
{
	struct fixture *f = *state;

	begin(f);
	assert_int_equal(publication_set_aside(&f->first, "old", &f->error), 0);
	assert_false(scratch_exists(PATH ".old"));
	scratch_text(PATH, "one");
	scratch_text(PATH ".old", "older");
	assert_int_equal(publication_set_aside(&f->first, "old", &f->error), 0);
	scratch_check(PATH, "one");
	scratch_check(PATH ".old", "one");
}

static void test_lock(void **state)
{
	struct fixture *f = *state;

	begin(f);
	assert_int_equal(publication_begin(&f->second, PATH,
	                                   &(struct publication_wait){.timeout = 30}, &f->error),
	                 ERROR_BUSY);
	assert_non_null(strstr(error_text(&f->error), "30 ms"));
	publication_end(&f->second);
	assert_true(scratch_exists(PATH ".new")); /* that of the first writer */
	publication_end(&f->first);
	assert_int_equal(publication_begin(&f->second, PATH,
	                                   &(struct publication_wait){.timeout = 0}, &f->error),
	                 0);
}

/* A writer in a child process that waits to do the same or other work. */
static pid_t wait_in_child(struct fixture *f, uint64_t work)
{
	struct publication_wait wait = {.timeout = 20000, .work = work};
	int channel[2];
	pid_t child;

	assert_int_equal(pipe(channel), 0);
	child = fork();
	if (child == 0) {
		char byte;
		int code;

		close(channel[1]);
		close(f->first.lock_fd); /* or the child would hold the lock, too */
		code = publication_begin(&f->second, PATH, &wait, NULL);
		if (read(channel[0], &byte, 1) != 0)
			code = ERROR_IO;
		_exit(code);
	}
	close(channel[0]);
	f->child_works = channel[1];
	return child;
}

/* Let the child finish; returns its status. */
static int status_of(struct fixture *f, pid_t child)
{
	int status = -1;

	close(f->child_works);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Wait until a child holds the byte of @work: others with the same work are then refused. */
static void wait_until_taken(struct fixture *f, uint64_t work)
{
	struct publication_wait none = {.timeout = 0, .work = work};
	int code;

	for (int i = 0; i < 1000; i++) {
		code = publication_begin(&f->second, PATH, &none, &f->error);
		publication_end(&f->second);
		error_clear(&f->error);
		if (code == 1)
			return;
		usleep(10000);
	}
	fail_msg("the child does not wait");
}

static void test_same_work_waits_once(void **state)
{
	struct fixture *f = *state;
	struct publication_wait other = {.timeout = 20, .work = 99};
	pid_t child;

	begin(f);
	child = wait_in_child(f, 12345);
	wait_until_taken(f, 12345);
	assert_int_equal(publication_begin(&f->second, PATH, &other, &f->error), ERROR_BUSY);
	publication_end(&f->second);
	assert_true(scratch_exists(PATH ".new")); /* that of the first writer */
	publication_end(&f->first);
	assert_int_equal(status_of(f, child), 0);
}

/* The byte is released before the work begins: a new writer then waits instead of being refused. */
static void test_queue_is_free_when_work_begins(void **state)
{
	struct fixture *f = *state;
	struct publication_wait none = {.timeout = 0, .work = 12345};
	pid_t child;
	int code = 1;

	begin(f);
	child = wait_in_child(f, 12345);
	wait_until_taken(f, 12345);
	publication_end(&f->first);
	for (int i = 0; code != ERROR_BUSY && i < 1000; i++) {
		usleep(10000); /* the child finds the lock free meanwhile */
		code = publication_begin(&f->second, PATH, &none, &f->error);
		publication_end(&f->second);
	}
	assert_int_equal(code, ERROR_BUSY);
	assert_int_equal(status_of(f, child), 0);
}

static void test_work_without_a_number(void **state)
{
	struct fixture *f = *state;
	pid_t child;

	begin(f);
	child = wait_in_child(f, 0);
	usleep(100000);
	assert_int_equal(publication_begin(&f->second, PATH,
	                                   &(struct publication_wait){.timeout = 50}, &f->error),
	                 ERROR_BUSY);
	publication_end(&f->second);
	publication_end(&f->first);
	assert_int_equal(status_of(f, child), 0);
}

static bool stopped(void)
{
	return true;
}

static void test_stopped(void **state)
{
	struct fixture *f = *state;
	struct publication_wait wait = {.timeout = 60000, .stopped = stopped};

	begin(f);
	assert_int_equal(publication_begin(&f->second, PATH, &wait, &f->error), ERROR_BUSY);
	assert_non_null(strstr(error_text(&f->error), "interrupted"));
}

static int held_lock;

/* Replace the lock file by another one, which is locked, and then let go of the former. */
static bool replace_lock(void)
{
	int former = held_lock;

	unlink(PATH ".lock");
	held_lock = open(PATH ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	flock(held_lock, LOCK_EX);
	close(former);
	return false;
}

static void test_lock_replaced_again_and_again(void **state)
{
	struct fixture *f = *state;
	struct publication_wait wait = {.timeout = 100, .stopped = replace_lock};

	publish(f, "one", 0644);
	held_lock = open(PATH ".lock", O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(held_lock, LOCK_EX), 0);
	assert_int_equal(publication_begin(&f->second, PATH, &wait, &f->error), ERROR_BUSY);
	close(held_lock);
}

/* On file systems where the first lock covers all bytes, it is not taken for a waiting writer. */
static void test_lock_on_all_bytes(void **state)
{
	struct fixture *f = *state;
	struct publication_wait wait = {.timeout = 20, .work = 12345};
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	begin(f);
	assert_int_equal(fcntl(f->first.lock_fd, F_OFD_SETLK, &all), 0);
	assert_int_equal(publication_begin(&f->second, PATH, &wait, &f->error), ERROR_BUSY);
}

/* The kernel releases the lock of a writer that is killed. */
static void test_killed(void **state)
{
	struct fixture *f = *state;
	int channel[2], status;
	char byte;
	pid_t child;

	assert_int_equal(pipe(channel), 0);
	child = fork();
	if (child == 0) {
		(void)!write(channel[1],
		             publication_begin(&f->second, PATH,
		                               &(struct publication_wait){.timeout = 0}, NULL)
		                     ? "n"
		                     : "y",
		             1);
		for (;;)
			pause();
	}
	assert_int_equal(read(channel[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	assert_int_equal(publication_begin(&f->first, PATH,
	                                   &(struct publication_wait){.timeout = 20}, &f->error),
	                 ERROR_BUSY);
	publication_end(&f->first);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	begin(f);
	close(channel[0]);
	close(channel[1]);
}

static void test_impossible_places(void **state)
{
	struct fixture *f = *state;

	scratch_text("file", "x");
	assert_int_equal(publication_begin(&f->first, "file/sub/x.db",
	                                   &(struct publication_wait){.timeout = 0}, &f->error),
	                 ERROR_NOTFOUND);
	assert_non_null(strstr(error_text(&f->error), "file"));
	publication_end(&f->first);
	assert_int_equal(publication_begin(&f->first, "/proc/x/y.db",
	                                   &(struct publication_wait){.timeout = 0}, &f->error),
	                 ERROR_NOTFOUND);
	publication_end(&f->first);
	begin(f);
	scratch_directory(PATH);
	assert_int_equal(publication_finish(&f->first, 0644, &f->error), ERROR_FORMAT);
	publication_end(&f->first);
	assert_false(scratch_exists(PATH ".new"));
	scratch_directory(PATH ".new/sub");
	assert_true(publication_begin(&f->first, PATH, &(struct publication_wait){.timeout = 0},
	                              &f->error) < 0);
	assert_non_null(strstr(error_text(&f->error), strerror(ENOTEMPTY)));
}

static void test_current_directory(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(publication_begin(&f->first, "plain.db",
	                                   &(struct publication_wait){.timeout = 0}, &f->error),
	                 0);
	assert_int_equal(publication_finish(&f->first, 0644, &f->error), 0);
	assert_true(scratch_exists("plain.db"));
}

RUN_TESTS(TEST(test_publish), TEST(test_not_published), TEST(test_leftovers),
          TEST(test_link_in_place_of_the_new_file), TEST(test_copy), TEST(test_set_aside),
          TEST(test_lock), TEST(test_same_work_waits_once),
          TEST(test_queue_is_free_when_work_begins), TEST(test_work_without_a_number),
          TEST(test_stopped), TEST(test_lock_replaced_again_and_again),
          TEST(test_lock_on_all_bytes), TEST(test_killed), TEST(test_impossible_places),
          TEST(test_current_directory))
