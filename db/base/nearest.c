/*
 * nearest.c - the optimal string alignment distance: Levenshtein's, with the swap of two neighbours
 * as one change.
 */
#include "db/base/nearest.h"

#include <stdint.h>

#define NEAR_PART 3 /* bytes of the name for each change */

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t nearest_distance(struct slice a, struct slice b, size_t limit)
{
	size_t rows[3][NEAREST_LEN_MAX + 1], least = 0; /* no later row has a smaller value */

	if ((a.len > b.len ? a.len - b.len : b.len - a.len) > limit)
		return limit + 1;
	for (size_t j = 0; j <= b.len; j++)
		rows[2][j] = j;
	for (size_t i = 0; i < a.len && least <= limit; i++) {
		size_t *now = rows[i % 3], *before = rows[(i + 2) % 3],
		       *earlier = rows[(i + 1) % 3];

		least = now[0] = i + 1;
		for (size_t j = 0; j < b.len; j++) {
			size_t cost = min(before[j] + (a.ptr[i] != b.ptr[j]),
			                  min(now[j], before[j + 1]) + 1);

			if (i > 0 && j > 0 && a.ptr[i] == b.ptr[j - 1] && a.ptr[i - 1] == b.ptr[j])
				cost = min(cost, earlier[j - 1] + 1);
			now[j + 1] = cost;
			least = min(least, cost);
		}
	}
	return least > limit ? least : rows[(a.len + 2) % 3][b.len];
}

struct nearest nearest_to(struct slice wanted)
{
	size_t allowed = wanted.len > NEAREST_LEN_MAX ? 0 : (wanted.len + 1) / NEAR_PART;

	return (struct nearest){.wanted = wanted, .distance = allowed + 1};
}

void nearest_offer(struct nearest *nearest, struct slice name)
{
	size_t distance;

	if (nearest->wanted.len > NEAREST_LEN_MAX || name.len > NEAREST_LEN_MAX)
		return;
	distance = nearest_distance(nearest->wanted, name, nearest->distance);
	if (distance > nearest->distance ||
	    (distance == nearest->distance &&
	     (slice_is_null(nearest->found) || slice_compare(name, nearest->found) >= 0)))
		return;
	nearest->found = name;
	nearest->distance = distance;
}
