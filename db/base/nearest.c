/*
 * nearest.c - what the user may have meant. The distance is "optimal string alignment": rows of the
 * usual table for Levenshtein's distance, with the swap of two neighbours as one change.
 */
#include "db/base/nearest.h"

#include <stdint.h>

#define NEAR_PART 3 /* one change for so many bytes */

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t length_difference(struct slice a, struct slice b)
{
	return a.len > b.len ? a.len - b.len : b.len - a.len;
}

/* Three rows of the table: this letter of @a, the one before it, and the one before that. */
struct rows {
	size_t now[NEAREST_LEN_MAX + 1];
	size_t before[NEAREST_LEN_MAX + 1];
	size_t earlier[NEAREST_LEN_MAX + 1];
};

/* Fill the row of a.ptr[i]; the smallest number in it, below which no later row goes. */
static size_t fill_row(struct rows *rows, struct slice a, struct slice b, size_t i)
{
	size_t least = rows->now[0] = i + 1;

	for (size_t j = 0; j < b.len; j++) {
		size_t cost = rows->before[j] + (a.ptr[i] != b.ptr[j]);

		cost = min(cost, rows->now[j] + 1);
		cost = min(cost, rows->before[j + 1] + 1);
		if (i > 0 && j > 0 && a.ptr[i] == b.ptr[j - 1] && a.ptr[i - 1] == b.ptr[j])
			cost = min(cost, rows->earlier[j - 1] + 1);
		rows->now[j + 1] = cost;
		least = min(least, cost);
	}
	return least;
}

size_t nearest_distance(struct slice a, struct slice b, size_t limit)
{
	struct rows rows;

	if (length_difference(a, b) > limit)
		return limit + 1;
	for (size_t j = 0; j <= b.len; j++)
		rows.before[j] = rows.earlier[j] = j;
	for (size_t i = 0; i < a.len; i++) {
		if (fill_row(&rows, a, b, i) > limit)
			return limit + 1;
		memcpy(rows.earlier, rows.before, sizeof(rows.before));
		memcpy(rows.before, rows.now, sizeof(rows.now));
	}
	return rows.before[b.len];
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
