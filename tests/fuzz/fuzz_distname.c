/*
 * fuzz_distname.c - what must hold for every name: no more is written than promised
 * (the buffers are exact), normal forms are stable and have no separators left but
 * single '_', and for ASCII the look-up key is the normalized stem.
 */
#include "libquery/disk/tree/distname.h"
#include "tests/fuzz/input.h"

static void check_normal(struct slice s)
{
	char *again = malloc(DISTNAME_ROOM(s.len) + 1);
	size_t n = distname_normalize(s, again, DISTNAME_ROOM(s.len));

	require(slice_equal((struct slice){again, n}, s));
	require(s.len == 0 || (!memchr(s.ptr, '-', s.len) && !memchr(s.ptr, '.', s.len)));
	require(!memmem(s.ptr, s.len, "__", 2));
	free(again);
}

/* Normalizing with room to spare gives the same as with none. */
static void check_room(struct slice name, struct slice normal)
{
	size_t room = DISTNAME_ROOM(name.len) + 7;
	char *out = malloc(room);
	size_t n = distname_normalize(name, out, room);

	require(slice_equal((struct slice){out, n}, normal));
	free(out);
}

static bool is_ascii(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] >= 0x80)
			return false;
	return true;
}

/* Behind the last '/', as of what lies in directories in an archive. */
static bool is_last_part(struct slice name, struct slice stem)
{
	return (stem.ptr == name.ptr || stem.ptr[-1] == '/') && !memchr(stem.ptr, '/', stem.len);
}

static void check_stem(struct slice name, struct slice key)
{
	struct slice stem = {0};
	char *out;
	size_t n;

	if (!distname_stem(name, &stem))
		return;
	require(distname_is_info(name) && stem.len > 0 && is_last_part(name, stem));
	out = malloc(DISTNAME_ROOM(stem.len));
	n = distname_normalize(stem, out, DISTNAME_ROOM(stem.len));
	require(!is_ascii(name) || stem.ptr != name.ptr ||
	        slice_equal(key, (struct slice){out, n}));
	free(out);
}

static void check_name(struct slice name, char *out, size_t room)
{
	size_t n = distname_normalize(name, out, room);

	require(n <= room);
	check_normal((struct slice){out, n});
	check_room(name, (struct slice){out, n});
	n = distname_lookup_key(name, out, room);
	require(n <= room);
	check_normal((struct slice){out, n});
	check_stem(name, (struct slice){out, n});
	n = unicode_lower(name, out, room);
	require(utf8_valid(name) == utf8_valid((struct slice){out, n}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room = DISTNAME_ROOM(size);
	char *name = malloc(size + 1), *out = malloc(room);

	if (size > 0)
		memcpy(name, data, size);
	if (out)
		check_name((struct slice){name, size}, out, room);
	free(name);
	free(out);
	return 0;
}
