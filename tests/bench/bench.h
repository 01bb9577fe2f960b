/*
 * bench.h - shared by the measuring programs: a clock, errors, and the layout of the environments
 * that environments.py creates.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATH_ENTRIES 3

static volatile size_t bench_sink; /* keeps reads from being optimized away */

static inline int64_t bench_now(void) /* nanoseconds */
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

__attribute__((format(printf, 1, 2), noreturn)) static inline void bench_fail(const char *format,
                                                                              ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(3);
}

__attribute__((format(printf, 1, 2))) static inline char *bench_print(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		bench_fail("out of memory");
	va_end(arguments);
	return text;
}

static inline char *bench_database(const char *prefix)
{
	return bench_print("%s/var/lib/entrydb/entry_points.db", prefix);
}

/* The sys.path of such an environment, without its zip. */
static inline void bench_path(const char *prefix, char *path[PATH_ENTRIES])
{
	path[0] = bench_print("%s/lib/python3.12", prefix);
	path[1] = bench_print("%s/lib/python3.12/lib-dynload", prefix);
	path[2] = bench_print("%s/lib/python3.12/site-packages", prefix);
}

static inline void bench_use(const char *text, size_t length)
{
	bench_sink += length + (text ? (unsigned char)text[0] : 0);
}

#endif
