/*
 * name_map.c - see name_map.h. Open addressing, at most half full.
 */
#include "name_map.h"

#include <stdlib.h>

#define FIRST_ROOM 64

struct name_map_slot {
	struct slice name; /* null: free */
	uint64_t hash;
	uint32_t number;
};

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	h ^= h >> 32;
	return h;
}

uint64_t name_map_hash(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t hash = 0x9e3779b97f4a7c15u ^ len;

	for (; len >= 8; at += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		hash = mix(hash ^ word) + 0x9e3779b97f4a7c15u;
	}
	for (; len; len--)
		hash = mix(hash ^ *at++) + 1;
	return mix(hash);
}

/* Where @name is, or where it would be put. There is always a free slot. */
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
	struct name_map larger = {.room = map->room ? map->room * 2 : FIRST_ROOM,
	                          .count = map->count};

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

uint32_t name_map_put(struct name_map *map, struct slice name, uint32_t fresh, bool *failed)
{
	uint64_t hash = name_map_hash(name.ptr, name.len);
	struct name_map_slot *slot;

	if (map->count * 2 >= map->room && !grow(map)) {
		*failed = true;
		return fresh;
	}
	slot = find(map, name, hash);
	if (!slice_is_null(slot->name))
		return slot->number;
	if (fresh != NAME_MAP_NONE) {
		*slot = (struct name_map_slot){
		        .name = name.ptr ? name : SLICE(""), .hash = hash, .number = fresh};
		map->count++;
	}
	return fresh;
}

uint32_t name_map_get(const struct name_map *map, struct slice name)
{
	const struct name_map_slot *slot;

	if (map->room == 0)
		return NAME_MAP_NONE;
	slot = find(map, name, name_map_hash(name.ptr, name.len));
	return slice_is_null(slot->name) ? NAME_MAP_NONE : slot->number;
}

void name_map_free(struct name_map *map)
{
	free(map->slots);
	*map = (struct name_map){0};
}
