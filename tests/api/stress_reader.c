/*
 * stress_reader.c - readers for stress.py: stress_reader SITE THREADS SECONDS
 *
 * Each thread queries the group "demo" of one path entry repeatedly: every second thread with a new
 * handle for each answer, the others with a shared handle. If an answer differs from the thread's
 * previous one, a line is printed:
 *
 *     BEGIN END NAME=VALUE NAME=VALUE...
 *
 * with the times in nanoseconds of CLOCK_MONOTONIC. Exit status 0: no query failed.
 */
#include <entrydb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS_MAX 256
#define ANSWER_MAX  16384

static const char *site;
static entrydb *shared;
static long long deadline;

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what, const entrydb_error *error)
{
	fprintf(stderr, "%s: %s\n", what, entrydb_error_message(error));
	exit(1);
}

static entrydb *open_site(void)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb *db;

	if (entrydb_open(&site, 1, NULL, &db, &error) < 0)
		fail("open", &error);
	return db;
}

static void put_answer(const entrydb_set *set, char answer[ANSWER_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < entrydb_set_count(set) && len < ANSWER_MAX; i++) {
		const entrydb_entry_point *entry = entrydb_set_get(set, i);

		len += (size_t)snprintf(answer + len, ANSWER_MAX - len, " %s=%s",
		                        entrydb_entry_point_name(entry),
		                        entrydb_entry_point_value(entry));
	}
	answer[len < ANSWER_MAX ? len : ANSWER_MAX - 1] = '\0';
}

static void ask(entrydb *db, char answer[ANSWER_MAX])
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_set *set;

	if (entrydb_select(db, "demo", NULL, &set, &error) < 0)
		fail("select", &error);
	if (entrydb_set_problem_count(set) > 0) {
		fprintf(stderr, "problem: %s\n", entrydb_set_problem(set, 0));
		exit(1);
	}
	put_answer(set, answer);
	entrydb_set_free(set);
}

static void *read_repeatedly(void *has_own)
{
	char *last = calloc(2, ANSWER_MAX), *answer = last + ANSWER_MAX;

	if (!last)
		exit(1);
	strcpy(last, "none");
	while (now() < deadline) {
		long long begin = now();
		entrydb *db = has_own ? open_site() : shared;

		ask(db, answer);
		if (has_own)
			entrydb_close(db);
		if (strcmp(answer, last) == 0)
			continue;
		printf("%lld %lld%s\n", begin, now(), answer);
		strcpy(last, answer);
	}
	free(last);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	int count = argc == 4 ? atoi(argv[2]) : 0;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	site = argv[1];
	deadline = now() + atoll(argv[3]) * 1000000000LL;
	shared = open_site();
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, read_repeatedly, i % 2 ? &shared : NULL) != 0)
			return 2;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	entrydb_close(shared);
	return fflush(stdout) == 0 ? 0 : 2;
}
