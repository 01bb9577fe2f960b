/*
 * clock.h - times as one number.
 */
#ifndef DB_BASE_CLOCK_H
#define DB_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NANOSECONDS INT64_C(1000000000) /* in a second */

static inline int64_t nanoseconds_of(struct timespec time)
{
	return (int64_t)time.tv_sec * NANOSECONDS + time.tv_nsec;
}

/* What the clock says now; 0 where there is no such clock. */
static inline int64_t nanoseconds_now(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return nanoseconds_of(now);
}

/* Milliseconds by a clock that nobody sets, to measure how long something takes. */
static inline int64_t milliseconds_now(void)
{
	return nanoseconds_now(CLOCK_MONOTONIC) / 1000000;
}

#endif
