/*
 * ahead.c - a ring buffer of AHEAD_WINDOW results under one lock: threads claim the next file and
 * wait while too far ahead.
 */
#include "libquery/disk/tree/ahead.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "db/base/clock.h"
#include "db/base/file.h"

#define STACK_SIZE ((size_t)256 * 1024) /* bytes, of each thread */

struct place {
	bool filled;
	struct ahead_file file;
};

struct ahead {
	ahead_read *read;
	const void *payload;
	const struct file_sysroot *sysroot;
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	size_t taken; /* files below this number are no longer wanted */
	size_t next;  /* the next file to read */
	size_t count;
	size_t thread_count;
	pthread_t threads[AHEAD_THREADS];
	struct place ring[AHEAD_WINDOW];
};

static struct place *place_of(struct ahead *ahead, size_t index)
{
	return &ahead->ring[index % AHEAD_WINDOW];
}

/* --- the threads --- */

static void *work(void *argument)
{
	struct ahead *ahead = argument;

	file_set_sysroot(ahead->sysroot);
	pthread_mutex_lock(&ahead->lock);
	while (ahead->next < ahead->count) {
		struct ahead_file file = {0};
		size_t index = ahead->next;

		if (index - ahead->taken >= AHEAD_WINDOW) {
			pthread_cond_wait(&ahead->emptied, &ahead->lock);
			continue;
		}
		ahead->next++;
		pthread_mutex_unlock(&ahead->lock);
		ahead->read(ahead->payload, index, &file);
		pthread_mutex_lock(&ahead->lock);
		*place_of(ahead, index) = (struct place){true, file};
		pthread_cond_signal(&ahead->filled);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

static void start_threads(struct ahead *ahead)
{
	size_t wanted = ahead->count - ahead->next;
	pthread_attr_t attributes;
	sigset_t all, before;

	if (pthread_attr_init(&attributes) != 0)
		return;
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (ahead->thread_count < AHEAD_THREADS && ahead->thread_count < wanted &&
	       pthread_create(&ahead->threads[ahead->thread_count], &attributes, work, ahead) == 0)
		ahead->thread_count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

/* --- the caller --- */

bool ahead_pays(struct ahead_pace *pace, int64_t began, size_t left)
{
	pace->timed++;
	pace->slow += nanoseconds_now(CLOCK_MONOTONIC) - began > AHEAD_SLOW;
	return pace->slow >= AHEAD_SLOW_FILES && pace->slow * 2 >= pace->timed &&
	       left >= AHEAD_WORTH_FILES;
}

struct ahead *ahead_begin(ahead_read *read, const void *payload, size_t first, size_t count)
{
	struct ahead *ahead = calloc(1, sizeof(*ahead));

	if (!ahead)
		return NULL;
	ahead->read = read;
	ahead->payload = payload;
	ahead->sysroot = file_sysroot();
	ahead->taken = ahead->next = first;
	ahead->count = count;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->filled, NULL);
	pthread_cond_init(&ahead->emptied, NULL);
	start_threads(ahead);
	if (ahead->thread_count > 0)
		return ahead;
	ahead_end(ahead);
	return NULL;
}

void ahead_take(struct ahead *ahead, size_t index, struct ahead_file *out)
{
	*out = (struct ahead_file){0};
	pthread_mutex_lock(&ahead->lock);
	while (ahead->taken <= index) {
		struct place *place = place_of(ahead, ahead->taken);

		while (!place->filled)
			pthread_cond_wait(&ahead->filled, &ahead->lock);
		ahead_file_free(out);
		*out = place->file;
		*place = (struct place){0};
		ahead->taken++;
		pthread_cond_signal(&ahead->emptied);
	}
	pthread_mutex_unlock(&ahead->lock);
}

void ahead_end(struct ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->count = 0;
	pthread_cond_broadcast(&ahead->emptied);
	pthread_mutex_unlock(&ahead->lock);
	for (size_t i = 0; i < ahead->thread_count; i++)
		pthread_join(ahead->threads[i], NULL);
	for (size_t i = 0; i < AHEAD_WINDOW; i++)
		ahead_file_free(&ahead->ring[i].file);
	pthread_cond_destroy(&ahead->emptied);
	pthread_cond_destroy(&ahead->filled);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}
