/*
 * ld_cache.c - looks a library up where the dynamic linker does first.
 *
 * The entries are ordered, but by rules that have changed; a search through all of them is quick
 * enough, and right for any order.
 */
#include "libquery/disk/elf/ld_cache.h"

#define MAGIC     SLICE("glibc-ld.so.cache1.1")
#define OLD_MAGIC SLICE("ld.so-1.7.0")

#define HEADER_SIZE     48
#define ENTRY_SIZE      24
#define OLD_HEADER_SIZE 16
#define OLD_ENTRY_SIZE  12
#define OLD_ALIGNMENT   8

#define HEADER_COUNT     20 /* offsets in bytes */
#define HEADER_FLAGS     28
#define OLD_HEADER_COUNT 12
#define ENTRY_NAME       4
#define ENTRY_PATH       8

#define FLAGS_ORDER_MASK 3 /* the order of bytes: 0 is not known, */
#define FLAGS_LITTLE     2 /* as caches were before 2020 */
#define FLAGS_BIG        3

static uint32_t number_at(struct slice bytes, size_t offset)
{
	uint32_t number;

	memcpy(&number, bytes.ptr + offset, sizeof(number));
	return number;
}

/* The file without what precedes the newer format; null where that is not in it. */
static struct slice skip_older(struct slice file)
{
	size_t length;

	if (!slice_starts(file, OLD_MAGIC))
		return file;
	if (file.len < OLD_HEADER_SIZE)
		return (struct slice){0};
	length = OLD_HEADER_SIZE + (size_t)number_at(file, OLD_HEADER_COUNT) * OLD_ENTRY_SIZE;
	length = (length + OLD_ALIGNMENT - 1) / OLD_ALIGNMENT * OLD_ALIGNMENT;
	return length < file.len ? slice_from(file, length) : (struct slice){0};
}

static bool is_of_this_order(struct slice bytes)
{
	const uint16_t one = 1;
	bool is_little = *(const unsigned char *)&one == 1;
	int order = bytes.ptr[HEADER_FLAGS] & FLAGS_ORDER_MASK;

	return order == 0 || order == (is_little ? FLAGS_LITTLE : FLAGS_BIG);
}

bool ld_cache_open(struct slice file, struct ld_cache *out)
{
	struct slice bytes = skip_older(file);
	size_t count;

	if (bytes.len < HEADER_SIZE || !slice_starts(bytes, MAGIC) || !is_of_this_order(bytes))
		return false;
	count = number_at(bytes, HEADER_COUNT);
	if (count > (bytes.len - HEADER_SIZE) / ENTRY_SIZE)
		return false;
	*out = (struct ld_cache){bytes, {bytes.ptr + HEADER_SIZE, count * ENTRY_SIZE}};
	return true;
}

/* Null where there is no string. */
static struct slice string_at(const struct ld_cache *cache, size_t offset)
{
	struct slice rest;
	const char *end;

	if (offset >= cache->bytes.len)
		return (struct slice){0};
	rest = slice_from(cache->bytes, offset);
	end = memchr(rest.ptr, '\0', rest.len);
	return end ? slice_between(rest.ptr, end) : (struct slice){0};
}

/* Without looking at more than the name's length of it. */
static bool is_called(const struct ld_cache *cache, size_t offset, struct slice name)
{
	return offset < cache->bytes.len && name.len < cache->bytes.len - offset &&
	       memcmp(cache->bytes.ptr + offset, name.ptr, name.len) == 0 &&
	       cache->bytes.ptr[offset + name.len] == '\0';
}

bool ld_cache_find(const struct ld_cache *cache, struct slice name, size_t *at, struct slice *path)
{
	while (*at < cache->entries.len) {
		struct slice entry = slice_from(cache->entries, *at);
		struct slice found;

		*at += ENTRY_SIZE;
		if (name.len == 0 || !is_called(cache, number_at(entry, ENTRY_NAME), name))
			continue;
		found = string_at(cache, number_at(entry, ENTRY_PATH));
		if (!slice_starts(found, SLICE("/")))
			continue;
		*path = found;
		return true;
	}
	return false;
}
