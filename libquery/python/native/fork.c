/*
 * fork.c - delays fork() while a thread is in the library.
 *
 * Threads in the library do not hold the GIL, and may hold a lock of the library or of SQLite, for
 * which a child forked at that moment would wait forever. So fork() waits until all threads of all
 * interpreters have left the library.
 */
#include <pthread.h>

#include "libquery/python/native/native.h"

static pthread_rwlock_t in_library;
static pthread_once_t forks_are_watched = PTHREAD_ONCE_INIT;

static void init_in_library(void)
{
	pthread_rwlockattr_t how;

	/* A waiting fork() has priority over new threads; musl lacks this kind. */
	pthread_rwlockattr_init(&how);
#ifdef __GLIBC__
	pthread_rwlockattr_setkind_np(&how, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
	pthread_rwlock_init(&in_library, &how);
	pthread_rwlockattr_destroy(&how);
}

static void before_fork(void)
{
	pthread_rwlock_wrlock(&in_library);
}

static void watch_once(void)
{
	init_in_library();
	pthread_atfork(before_fork, release_forks, init_in_library);
}

void watch_forks(void)
{
	pthread_once(&forks_are_watched, watch_once);
}

void hold_forks(void)
{
	pthread_rwlock_rdlock(&in_library);
}

void release_forks(void)
{
	pthread_rwlock_unlock(&in_library);
}

PyThreadState *enter_library(void)
{
	PyThreadState *thread = PyEval_SaveThread();

	hold_forks();
	return thread;
}

void leave_library(PyThreadState *thread)
{
	release_forks();
	PyEval_RestoreThread(thread);
}
