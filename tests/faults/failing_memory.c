/*
 * failing_memory.c - a preloaded library that makes one allocation of the process and its children
 * fail.
 *
 *     FAULT_AT=n      the n-th allocation, counted from 1, fails
 *     FAULT_STAYS=1   and all later ones
 *     FAULT_COUNT=f   at exit, write the number of allocations to the file f
 *
 * Counts the allocations of the program and its libraries, from the load of this library on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long early, *count = &early, at = -1;
static bool stays;

/* glibc's own functions, by names that need no dlsym(), which would allocate. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static bool strikes(void)
{
	long now = __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);

	if (now != at && !(stays && at > 0 && now > at))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return strikes() ? NULL : __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
	return strikes() ? NULL : __libc_calloc(number, size);
}

void *realloc(void *old, size_t size)
{
	return strikes() ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t number, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(number, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return strikes() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	*out = strikes() ? NULL : __libc_memalign(alignment, size);
	return *out ? 0 : ENOMEM;
}

__attribute__((constructor)) static void begin(void)
{
	const char *when = getenv("FAULT_AT");
	void *shared = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		_exit(99);
	count = shared; /* restart: the dynamic linker's allocations do not count */
	stays = getenv("FAULT_STAYS") != NULL;
	at = when ? atol(when) : -1;
}

__attribute__((destructor)) static void end(void)
{
	const char *file = getenv("FAULT_COUNT");
	char text[32];
	int fd = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%ld\n", *count);
	if (write(fd, text, strlen(text)) < 0)
		_exit(99);
	close(fd);
}
