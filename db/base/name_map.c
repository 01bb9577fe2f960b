/*
 * name_map.c - a hash table with open addressing, at most half full.
 */
#include "db/base/name_map.h"

#include <stdlib.h>

#define FIRST_ROOM 64

struct name_map_slot {
	struct slice name; /* null: free */
	uint64_t hash;
	uint32_t number;
};

static uint64_t hash_of(const struct name_map *map, struct slice name)
{
	return hash_keyed(map->key, name.ptr, name.len);
}

/* The slot of @name, or the free slot for it. There is always a free slot. */
static struct name_map_slot *find(const struct name_map *map, struct slice name, uint64_t hash)
{
	size_t at = (size_t)hash & (map->room - 1);

	while (!slice_is_null(map->slots[at].name) &&
	       (map->slots[at].hash != hash || !slice_equal(map->slots[at].name, name)))
		at = (at + 1) & (map->room - 1);
	return &map->slots[at];
}

static bool grow(struct name_map *map)
{
	struct name_map larger = {
	        .room = map->room ? map->room * 2 : FIRST_ROOM,
	        .count = map->count,
	        .key = map->room ? map->key : hash_own_key(),
	};

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < map->room; i++)
		if (!slice_is_null(map->slots[i].name))
			*find(&larger, map->slots[i].name, map->slots[i].hash) = map->slots[i];
	free(map->slots);
	*map = larger;
	return true;
}

/* The number of @name, initially NAME_MAP_NONE; NULL if out of memory. */
static uint32_t *number_of(struct name_map *map, struct slice name, bool *failed)
{
	struct name_map_slot *slot;
	uint64_t hash;

	if (map->count * 2 >= map->room && !grow(map)) {
		*failed = true;
		return NULL;
	}
	hash = hash_of(map, name);
	slot = find(map, name, hash);
	if (slice_is_null(slot->name)) {
		*slot = (struct name_map_slot){name.ptr ? name : SLICE(""), hash, NAME_MAP_NONE};
		map->count++;
	}
	return &slot->number;
}

uint32_t name_map_put(struct name_map *map, struct slice name, uint32_t fresh, bool *failed)
{
	uint32_t *number = number_of(map, name, failed);

	if (number && *number == NAME_MAP_NONE)
		*number = fresh;
	return number ? *number : fresh;
}

void name_map_set(struct name_map *map, struct slice name, uint32_t number, bool *failed)
{
	uint32_t *old = number_of(map, name, failed);

	if (old)
		*old = number;
}

uint32_t name_map_get(const struct name_map *map, struct slice name)
{
	const struct name_map_slot *slot;

	if (map->room == 0)
		return NAME_MAP_NONE;
	slot = find(map, name, hash_of(map, name));
	return slice_is_null(slot->name) ? NAME_MAP_NONE : slot->number;
}

void name_map_free(struct name_map *map)
{
	free(map->slots);
	*map = (struct name_map){0};
}
