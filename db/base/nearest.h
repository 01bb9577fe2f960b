/*
 * nearest.h - "did you mean": finds the most similar of many names.
 *
 * The distance of two names is the number of letters omitted, inserted, replaced, or swapped with
 * their neighbour. A name is similar if the distance is at most about a third of the wanted name's
 * length. Bytes are counted, not characters.
 */
#ifndef DB_BASE_NEAREST_H
#define DB_BASE_NEAREST_H

#include "db/base/slice.h"

#define NEAREST_LEN_MAX 64 /* bytes; longer names are ignored */

struct nearest {
	struct slice wanted;
	struct slice found; /* the nearest so far; null: none */
	size_t distance;    /* of @found; if null, the smallest that is too far */
};

struct nearest nearest_to(struct slice wanted);

/*
 * Consider a candidate; it must outlive @nearest. Of several equally near names, the first in byte
 * order is kept, so the order of calls does not matter.
 */
void nearest_offer(struct nearest *nearest, struct slice name);

/*
 * The distance between @a and @b, neither longer than NEAREST_LEN_MAX; if it exceeds @limit, any
 * number above @limit.
 */
size_t nearest_distance(struct slice a, struct slice b, size_t limit);

#endif
