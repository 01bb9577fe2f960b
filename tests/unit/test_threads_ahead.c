/*
 * test_threads_ahead.c - files read ahead concurrently are delivered one by one and in order, and
 * the host's threads and signals are unaffected.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/tree/ahead.h"

#include "faults.h"
#include "scratch.h"

#define FILES         500
#define DISTRIBUTIONS 200

static atomic_bool unblocked; /* a thread accepts signals */

static size_t count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	size_t count = 0;

	while (tasks && readdir(tasks))
		count++;
	if (tasks)
		closedir(tasks);
	return count;
}

static void pause_for(long microseconds)
{
	nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}

/* A joined thread remains visible for a moment. */
static void assert_no_more_threads(size_t before)
{
	for (int tries = 0; tries < 5000 && count_threads() != before; tries++)
		pause_for(1000);
	assert_int_equal(count_threads(), before);
}

/* Later files are often ready before earlier ones. */
static void read_number(const void *payload, size_t index, struct ahead_file *out)
{
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (!sigismember(&blocked, SIGUSR1) || !sigismember(&blocked, SIGTERM))
		unblocked = true;
	pause_for((long)(index * 7 % 5) * 100);
	out->answer = *(const int *)payload + (int)index;
	out->text = arena_copy(&out->arena, SLICE("bytes"), &out->left);
}

static int take_number(struct ahead *ahead, size_t index)
{
	struct ahead_file file;

	ahead_take(ahead, index, &file);
	assert_string_equal(file.text.ptr, "bytes");
	ahead_file_free(&file);
	return file.answer;
}

static void test_in_order(void **state)
{
	const int base = 1000;
	size_t before = count_threads();
	struct ahead *ahead = ahead_begin(read_number, &base, 3, FILES);
	sigset_t blocked;

	assert_non_null(ahead);
	for (size_t i = 3; i < FILES; i++)
		assert_int_equal(take_number(ahead, i), base + (int)i);
	ahead_end(ahead);
	assert_no_more_threads(before);
	assert_false(unblocked);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	assert_false(sigismember(&blocked, SIGUSR1));
}

static void test_skipped_files(void **state)
{
	const int base = 0;
	size_t before = count_threads();
	struct ahead *ahead = ahead_begin(read_number, &base, 0, FILES);

	assert_int_equal(take_number(ahead, 0), 0);
	assert_int_equal(take_number(ahead, 5), 5);
	assert_int_equal(take_number(ahead, 5 + 2 * AHEAD_WINDOW), 5 + 2 * AHEAD_WINDOW);
	assert_int_equal(take_number(ahead, FILES - 1), FILES - 1);
	ahead_end(ahead);
	assert_no_more_threads(before);
}

static void test_ended_early(void **state)
{
	const int base = 0;
	size_t before = count_threads();

	for (size_t taken = 0; taken < 3; taken++) {
		struct ahead *ahead = ahead_begin(read_number, &base, 0, FILES);

		for (size_t i = 0; i < taken; i++)
			assert_int_equal(take_number(ahead, i), (int)i);
		ahead_end(ahead);
		assert_no_more_threads(before);
	}
	ahead_end(NULL);
}

/* --- a scan of a slow directory --- */

static atomic_int at_once, most_at_once;

static void slow_down(const char *name)
{
	const char *file = strrchr(name, '/');
	int now;

	if (file && strcmp(file, "/entry_points.txt") == 0) {
		now = ++at_once;
		if (now > most_at_once)
			most_at_once = now;
		pause_for(500);
		at_once--;
	}
}

static void make_distribution(int number)
{
	char path[128], text[128];

	snprintf(path, sizeof(path), "site/d%d-1.dist-info", number);
	scratch_directory(path);
	snprintf(path, sizeof(path), "site/d%d-1.dist-info/entry_points.txt", number);
	snprintf(text, sizeof(text), "[g]\nn%d = m:f\n", number);
	if (number % 5 == 0) /* without metadata */
		scratch_directory(path);
	else if (number % 3 == 0)
		scratch_text(path, number % 2 ? text : "broken");
}

static struct root_record scan(void)
{
	struct scan_options options = {0};
	struct root_record root = {0};

	assert_int_equal(scan_path(scratch_path("site"), &options, &root, NULL), 0);
	return root;
}

static void assert_same(const struct distribution_record *a, const struct distribution_record *b)
{
	assert_true(slice_equal(a->directory, b->directory));
	assert_int_equal(slice_is_null(a->error), slice_is_null(b->error));
	assert_true(slice_is_null(a->error) || slice_equal(a->error, b->error));
	assert_int_equal(a->entry_point_count, b->entry_point_count);
	for (size_t i = 0; i < a->entry_point_count; i++)
		assert_true(slice_equal(a->entry_points[i].name, b->entry_points[i].name));
}

static void test_slow_directory(void **state)
{
	struct root_record alone, together;
	size_t before = count_threads();

	for (int i = 0; i < DISTRIBUTIONS; i++)
		make_distribution(i);
	alone = scan();
	assert_int_equal(most_at_once, 0);
	faults_at_openat = slow_down;
	together = scan();
	faults_at_openat = NULL;
	assert_true(most_at_once > 1);
	assert_no_more_threads(before);
	assert_int_equal(together.distribution_count, DISTRIBUTIONS);
	assert_int_equal(together.broken, alone.broken);
	for (size_t i = 0; i < DISTRIBUTIONS; i++)
		assert_same(&together.distributions[i], &alone.distributions[i]);
	root_record_free(&alone);
	root_record_free(&together);
}

/* With the first thread, a sanitizer may start one of its own. */
static void *nothing(void *unused)
{
	return unused;
}

static int make_first_thread(void **state)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_in_order),
	        cmocka_unit_test(test_skipped_files),
	        cmocka_unit_test(test_ended_early),
	        SCRATCH_TEST(test_slow_directory),
	};

	return cmocka_run_group_tests(tests, make_first_thread, NULL);
}
