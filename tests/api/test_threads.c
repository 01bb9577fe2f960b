/*
 * test_threads.c - threads share a handle and a set while distributions come and go and the program
 * replaces the database. Every answer must have been right at some moment; ThreadSanitizer checks
 * the rest.
 */
#include "site.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 4
#define ROUNDS  12 /* of changes, each with a publication of the database */
#define PAUSE   20 /* milliseconds between two changes */

#define FIRST  SITE_PACKAGES
#define SECOND "second/lib/python3.12/site-packages"
#define THIRD  "third/lib/python3.12/site-packages"

struct crowd {
	struct site *site;
	atomic_bool stop;
	atomic_int wrong; /* answers */
	atomic_int answers;
};

/*
 * The distribution "moving" is absent, or in version 1 in the third path entry, or in version 2 in
 * the second, which shadows it. Each path entry has only one distribution with the group "g", so
 * the order is known.
 */
#define ALWAYS "here=m:a@here-1.dist-info native=native:entry@here-1.dist-info"
static const char *const answers[] = {
        ALWAYS,
        ALWAYS " n=m:b@moving-1.dist-info",
        ALWAYS " n=m:c@moving-2.dist-info",
};

static void complain(struct crowd *crowd, const char *what, const char *answer)
{
	fprintf(stderr, "wrong %s: %s\n", what, answer);
	atomic_fetch_add(&crowd->wrong, 1);
}

/* Like site_select(), but without a struct site to hold the text. */
static void tell(const entrydb_set *set, char *text, size_t room)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < entrydb_set_count(set) && used < room; i++) {
		const entrydb_entry_point *entry = entrydb_set_get(set, i);
		const char *slash = strrchr(entrydb_entry_point_file(entry), '/');

		used += (size_t)snprintf(text + used, room - used, "%s%s=%s@%s", i ? " " : "",
		                         entrydb_entry_point_name(entry),
		                         entrydb_entry_point_value(entry), slash + 1);
	}
}

static void check_answer(struct crowd *crowd, const entrydb_set *set)
{
	char answer[512];
	int valid = 0;

	tell(set, answer, sizeof(answer));
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		valid |= strcmp(answer, answers[i]) == 0;
	if (!valid || entrydb_set_problem_count(set) != 0)
		complain(crowd, "selection", answer);
}

static void check_selection(struct crowd *crowd)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_set *set;

	if (entrydb_select(crowd->site->db, "g", NULL, &set, &error) < 0) {
		complain(crowd, "selection", entrydb_error_message(&error));
		entrydb_error_clear(&error);
		return;
	}
	check_answer(crowd, set);
	entrydb_set_free(set);
}

static void check_load(struct crowd *crowd, const entrydb_entry_point *entry)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_target *target;
	void *symbol;

	if (entrydb_resolve(crowd->site->db, entry, &target, &error) < 0) {
		complain(crowd, "target", entrydb_error_message(&error));
	} else {
		if (entrydb_target_kind(target) != ENTRYDB_KIND_NATIVE ||
		    entrydb_target_state(target) != ENTRYDB_STATE_OK)
			complain(crowd, "target", entrydb_state_name(entrydb_target_state(target)));
		entrydb_target_free(target);
	}
	if (entrydb_load(crowd->site->db, entry, &symbol, &error) < 0)
		complain(crowd, "symbol", entrydb_error_message(&error));
	else if (site_call(symbol) != 42)
		complain(crowd, "symbol", "another function");
	entrydb_error_clear(&error);
}

static void check_path(struct crowd *crowd)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_path *path;

	if (entrydb_describe_path(crowd->site->db, &path, &error) < 0) {
		complain(crowd, "path", entrydb_error_message(&error));
		entrydb_error_clear(&error);
		return;
	}
	for (size_t i = 0; i < entrydb_path_count(path); i++) {
		const entrydb_path_entry *entry = entrydb_path_get(path, i);

		if (entrydb_path_entry_state(entry) == ENTRYDB_PATH_ABSENT ||
		    entrydb_path_entry_reason(entry)[0] == '\0')
			complain(crowd, "path entry", entrydb_path_entry_path(entry));
	}
	entrydb_path_free(path);
}

/* All threads share the set; its entries are resolved long after the database has changed. */
static void *ask(void *payload)
{
	struct crowd *crowd = payload;

	while (!atomic_load(&crowd->stop)) {
		check_selection(crowd);
		check_answer(crowd, crowd->site->set);
		check_load(crowd, entrydb_set_get(crowd->site->set, 1));
		check_path(crowd);
		atomic_fetch_add(&crowd->answers, 1);
	}
	return NULL;
}

/* Each change of a path entry is one rename of a prepared directory. */
static void move(struct site *site, const char *from, const char *to)
{
	assert_int_equal(rename(site_path(site, from), site_path(site, to)), 0);
	site_sleep(PAUSE);
	site_run(site, "update", site_path(site, "venv"), site_path(site, "second"),
	         site_path(site, "third"), NULL);
	site_sleep(PAUSE);
}

static void change(struct site *site)
{
	move(site, "aside/one", THIRD "/moving-1.dist-info");
	move(site, "aside/two", SECOND "/moving-2.dist-info");
	move(site, SECOND "/moving-2.dist-info", "aside/two");
	move(site, THIRD "/moving-1.dist-info", "aside/one");
	site_remove(site, SITE_DATABASE);
}

static void prepare(struct site *site)
{
	site_plugin(site, "native.so", FIRST "/native.so");
	site_distribution(site, FIRST, "here-1.dist-info", "here", "1",
	                  "[g]\nhere = m:a\nnative = native:entry\n");
	site_distribution(site, "aside", "one", "moving", "1", "[g]\nn = m:b\n");
	site_distribution(site, "aside", "two", "moving", "2", "[g]\nn = m:c\n");
	site_distribution(site, SECOND, "still-1.dist-info", "still", "1", "[h]\nn = m\n");
	site_distribution(site, THIRD, "still-2.dist-info", "still", "2", "[h]\nn = m\n");
}

static void test_threads(void **state)
{
	struct site *site = *state;
	struct crowd crowd = {.site = site};
	pthread_t threads[THREADS];

	prepare(site);
	site_open(site, NULL, FIRST, SECOND, THIRD, NULL);
	site_select(site, "g", NULL);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &crowd), 0);
	for (int i = 0; i < ROUNDS; i++)
		change(site);
	atomic_store(&crowd.stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&crowd.wrong), 0);
	assert_true(atomic_load(&crowd.answers) > THREADS);
}

RUN_TESTS(SITE_TEST(test_threads))
