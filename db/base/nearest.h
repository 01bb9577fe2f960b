/*
 * nearest.h - "did you mean": which of many names is most like the one that was asked for.
 *
 * Likeness is the number of letters that were left out, put in, mistaken for another,
 * or swapped with their neighbour. A name is near if that is at most about a third of
 * what was asked for. Bytes are counted, not characters.
 */
#ifndef DB_BASE_NEAREST_H
#define DB_BASE_NEAREST_H

#include "db/base/slice.h"

#define NEAREST_LEN_MAX 64 /* bytes; nothing longer is asked for, or offered */

struct nearest {
	struct slice wanted;
	struct slice found; /* the nearest so far; null: none is near */
	size_t distance;    /* that of @found, or the first that is not near */
};

struct nearest nearest_to(struct slice wanted);

/*
 * One more name that there is; it must stay as long as @nearest. Of several that are
 * equally near, the first in byte order is kept, so that their order does not matter.
 */
void nearest_offer(struct nearest *nearest, struct slice name);

/*
 * How many changes turn @a into @b, neither of them longer than NEAREST_LEN_MAX; for
 * more than @limit, any number above it.
 */
size_t nearest_distance(struct slice a, struct slice b, size_t limit);

#endif
