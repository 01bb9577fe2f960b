/*
 * carried.c - compares the name, size and time that a copy preserves.
 */
#include "db/carried.h"

#include <stdlib.h>

#include "db/base/clock.h"

#define MICROSECOND 1000 /* nanoseconds */

struct carried carried_of(const struct publication_record *recorded, const struct stat *file)
{
	int64_t changed = nanoseconds_of(file->st_ctim), modified = nanoseconds_of(file->st_mtim);
	const int64_t published = recorded->time > 0 ? recorded->time : 0;

	return (struct carried){
	        .is_elsewhere = recorded->inode != (int64_t)file->st_ino,
	        .is_touched = changed < published - NANOSECONDS ||
	                      changed - CARRIED_PUBLISHING > published,
	        .is_sealed = recorded->sealed,
	        .is_set_back = modified < published - NANOSECONDS,
	        .time = published,
	        .mtime = modified,
	};
}

bool carried_with(const struct carried *carried, struct stamp recorded, struct stamp now)
{
	if (carried->is_sealed || carried->is_elsewhere)
		return true;
	return carried->is_touched && recorded.inode != now.inode;
}

bool carried_names_suffice(const struct carried *carried, struct stamp now)
{
	return carried->is_sealed && now.mtime <= carried->mtime;
}

bool carried_may_have_changed(const struct carried *carried, int64_t mtime)
{
	return mtime > carried->time - (mtime % NANOSECONDS == 0 ? NANOSECONDS : 0);
}

/*
 * Copies preserve nanoseconds, microseconds (or a double's approximation) or whole seconds. Whole
 * seconds cannot tell two builds of one second apart: they prove nothing if the directory @changed.
 */
static bool same_time(int64_t recorded, int64_t now, bool changed)
{
	int64_t lost;

	if (__builtin_sub_overflow(recorded, now, &lost))
		return false; /* a hostile database may hold any number */
	if (lost == 0)
		return true;
	return now % NANOSECONDS == 0 ? lost > 0 && lost < NANOSECONDS && !changed
	                              : lost > -MICROSECOND && lost < MICROSECOND;
}

bool carried_same(const struct carried *carried, const struct outline *recorded,
                  const struct outline *now, int64_t directory)
{
	if (!recorded->exists || !now->exists)
		return recorded->exists == now->exists;
	if (recorded->size != now->size)
		return false;
	if (carried->is_sealed)
		return now->mtime <= carried->mtime;
	return same_time(recorded->mtime, now->mtime,
	                 carried_may_have_changed(carried, directory)) ||
	       (carried->is_set_back && now->mtime == carried->mtime &&
	        recorded->mtime > now->mtime);
}
