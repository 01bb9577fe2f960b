/*
 * name_map.h - a hash table from names to small numbers.
 *
 * The names are not copied: they must outlive the map. The hash is keyed with a secret of the
 * process, so names that collide cannot be chosen on purpose.
 */
#ifndef DB_BASE_NAME_MAP_H
#define DB_BASE_NAME_MAP_H

#include <stdint.h>

#include "db/base/hash.h"
#include "db/base/slice.h"

#define NAME_MAP_NONE UINT32_MAX /* no such name */

struct name_map {
	struct name_map_slot *slots;
	size_t room, count; /* room: a power of two, or 0 */
	struct hash_key key;
};

/* The number of @name; if it has none, it is given @fresh. Sets *failed if out of memory. */
uint32_t name_map_put(struct name_map *map, struct slice name, uint32_t fresh, bool *failed);

/* Set the number of @name, replacing any other; NAME_MAP_NONE removes it. */
void name_map_set(struct name_map *map, struct slice name, uint32_t number, bool *failed);

/* The number of @name, or NAME_MAP_NONE. */
uint32_t name_map_get(const struct name_map *map, struct slice name);

void name_map_free(struct name_map *map);

#endif
