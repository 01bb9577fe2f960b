/*
 * ld_cache.c - looks up libraries in the cache.
 *
 * The entries are sorted, but by rules that have changed; a linear search is fast enough, and
 * correct for any order.
 */
#include "libquery/disk/elf/ld_cache.h"

#define MAGIC     SLICE("glibc-ld.so.cache1.1")
#define OLD_MAGIC SLICE("ld.so-1.7.0")

#define OLD_HEADER_SIZE  16
#define OLD_HEADER_COUNT 12 /* offset in bytes */
#define OLD_ENTRY_SIZE   12
#define OLD_ALIGNMENT    8

#define FLAGS_ORDER_MASK 3 /* the byte order; 0: unknown, as before 2020 */
#define FLAGS_LITTLE     2
#define FLAGS_BIG        3

struct header {
	char magic[20];
	uint32_t count, length;
	uint8_t flags, unused[3];
	uint32_t offset, reserved[3];
};

struct entry {
	uint32_t flags, name, path, reserved;
	uint64_t hwcap;
};

_Static_assert(sizeof(struct header) == 48 && sizeof(struct entry) == 24, "as in ld_cache.h");

/* The part of the file from the newer format on; null if it has none. */
static struct slice skip_older(struct slice file)
{
	uint32_t count;
	size_t length;

	if (!slice_starts(file, OLD_MAGIC))
		return file;
	if (file.len < OLD_HEADER_SIZE)
		return (struct slice){0};
	memcpy(&count, file.ptr + OLD_HEADER_COUNT, sizeof(count));
	length = OLD_HEADER_SIZE + (size_t)count * OLD_ENTRY_SIZE;
	length = (length + OLD_ALIGNMENT - 1) / OLD_ALIGNMENT * OLD_ALIGNMENT;
	return length < file.len ? slice_from(file, length) : (struct slice){0};
}

bool ld_cache_open(struct slice file, struct ld_cache *out)
{
	struct slice bytes = skip_older(file);
	struct header header;
	int order;

	if (bytes.len < sizeof(header) || !slice_starts(bytes, MAGIC))
		return false;
	memcpy(&header, bytes.ptr, sizeof(header));
	order = header.flags & FLAGS_ORDER_MASK;
	if ((order != 0 &&
	     order != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? FLAGS_LITTLE : FLAGS_BIG)) ||
	    header.count > (bytes.len - sizeof(header)) / sizeof(struct entry))
		return false;
	*out = (struct ld_cache){bytes,
	                         {bytes.ptr + sizeof(header), header.count * sizeof(struct entry)}};
	return true;
}

/* Compares without searching for the end of the stored string. */
static bool is_called(const struct ld_cache *cache, size_t offset, struct slice name)
{
	return offset < cache->bytes.len && name.len < cache->bytes.len - offset &&
	       memcmp(cache->bytes.ptr + offset, name.ptr, name.len) == 0 &&
	       cache->bytes.ptr[offset + name.len] == '\0';
}

bool ld_cache_find(const struct ld_cache *cache, struct slice name, size_t *at, struct slice *path)
{
	struct entry entry;

	while (name.len > 0 && *at < cache->entries.len) {
		memcpy(&entry, cache->entries.ptr + *at, sizeof(entry));
		*at += sizeof(entry);
		if (!is_called(cache, entry.name, name))
			continue;
		*path = slice_text_at(cache->bytes, entry.path);
		if (slice_starts(*path, SLICE("/")))
			return true;
	}
	return false;
}
