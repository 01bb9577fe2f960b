/*
 * test_progress.c - the progress line on a terminal: when it is shown, and that no name breaks it.
 */
#include "indexer/message.h"

#include <pty.h>

#include "test.h"

#define END '@' /* occurs in no test */

struct fixture {
	int terminal, before; /* the master side; the original stderr */
	char text[4096];      /* what the terminal has received */
};

static int setup(void **state)
{
	static struct fixture f;
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	int theirs;

	*state = &f;
	if (openpty(&f.terminal, &theirs, NULL, NULL, &size) < 0)
		return -1;
	f.before = dup(STDERR_FILENO);
	dup2(theirs, STDERR_FILENO);
	return close(theirs);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	dup2(f->before, STDERR_FILENO);
	close(f->before);
	return close(f->terminal);
}

/* A terminal forwards output with a delay: wait for the END written after it. */
static const char *shown(struct fixture *f)
{
	size_t len = 0;
	ssize_t got = 0;

	dprintf(STDERR_FILENO, "%c", END);
	do {
		len += (size_t)got;
		got = read(f->terminal, f->text + len, sizeof(f->text) - 1 - len);
	} while (got > 0 && !memchr(f->text + len, END, (size_t)got));
	assert_true(got > 0);
	*strchr(f->text, END) = '\0';
	return f->text;
}

/* Work that began ten seconds ago. */
static struct progress begin_long_ago(bool quiet)
{
	struct progress progress = progress_begin("reading", quiet);

	progress.began -= 10000;
	return progress;
}

static void test_short_work_shows_nothing(void **state)
{
	struct progress progress = progress_begin("reading", false);

	progress_show(&progress, "a.whl", 1, 2);
	progress_erase(&progress);
	assert_string_equal(shown(*state), "");
}

static void test_an_estimate(void **state)
{
	struct progress progress = begin_long_ago(false);

	progress.began -= 50000;
	progress_show(&progress, NULL, 1, 3);
	assert_non_null(strstr(shown(*state), "1/3, 3 min left"));
}

static void test_quiet(void **state)
{
	struct progress progress = begin_long_ago(true);

	progress_show(&progress, "a.whl", 1, 2);
	assert_string_equal(shown(*state), "");
}

static void test_drawn_and_erased(void **state)
{
	struct progress progress = begin_long_ago(false);

	progress_show(&progress, "a.whl", 1, 2);
	assert_string_equal(shown(*state), "\r\033[Kreading [############............] 1/2 a.whl");
	progress_erase(&progress);
	assert_string_equal(shown(*state), "\r\033[K");
}

static void test_control_characters_in_names(void **state)
{
	struct progress progress = begin_long_ago(false);

	progress_show(&progress, "\x1b[\n\xff\xc2\x9b", 1, 2);
	assert_non_null(strstr(shown(*state), "] 1/2 \\x1b[\\x0a\\xff\\u009b"));
}

/* Eighty columns leave twenty for the name; no character is cut in half. */
static void test_long_name_is_cut(void **state)
{
	struct progress progress = begin_long_ago(false);
	const char *name;

	progress_show(&progress, "0123456789012345678\xc3\xa9", 1, 2);
	name = strstr(shown(*state), "0123");
	assert_non_null(name);
	assert_string_equal(name, "0123456789012345678");
}

RUN_TESTS(TEST(test_short_work_shows_nothing), TEST(test_quiet), TEST(test_an_estimate),
          TEST(test_drawn_and_erased), TEST(test_control_characters_in_names),
          TEST(test_long_name_is_cut))
