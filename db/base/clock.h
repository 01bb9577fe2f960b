/*
 * clock.h - times as a single number of nanoseconds.
 */
#ifndef DB_BASE_CLOCK_H
#define DB_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NANOSECONDS INT64_C(1000000000) /* in a second */

/* Times of files before 1678 or after 2262 wrap around: they remain distinct. */
static inline int64_t nanoseconds_of(struct timespec time)
{
	return (int64_t)((uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec);
}

/* The current time of @clock; 0 if the clock does not exist. */
static inline int64_t nanoseconds_now(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return nanoseconds_of(now);
}

/* Milliseconds of the monotonic clock, for measuring durations. */
static inline int64_t milliseconds_now(void)
{
	return nanoseconds_now(CLOCK_MONOTONIC) / 1000000;
}

#endif
