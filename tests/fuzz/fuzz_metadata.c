/*
 * fuzz_metadata.c - what must hold for every text: an answer called complete is not
 * changed by text that follows, whatever place the text was cut at; and "\r\n" and '\r'
 * count as '\n'.
 */
#include "libquery/disk/metadata/metadata.h"
#include "tests/fuzz/input.h"

static bool same(struct slice a, struct slice b)
{
	return slice_is_null(a) == slice_is_null(b) && slice_equal(a, b);
}

static void check_same(const struct metadata *a, const struct metadata *b)
{
	require(same(a->name, b->name) && same(a->version, b->version) && a->folded == b->folded);
}

static void check_prefix(struct slice text, size_t n, const struct metadata *whole)
{
	struct arena arena = ARENA_INIT;
	struct metadata part;
	char *copy = malloc(n + 1); /* so that reading beyond it is noticed */

	memcpy(copy, text.ptr, n);
	require(metadata_parse((struct slice){copy, n}, &arena, &part) == 0);
	if (part.complete) {
		check_same(&part, whole);
		require(whole->complete);
	}
	free(copy);
	arena_free(&arena);
}

/* The same with each line end replaced, by '\n' for the answer to be compared with. */
static void check_line_ends(struct slice text, const char *replacement,
                            const struct metadata *whole)
{
	struct arena arena = ARENA_INIT;
	struct metadata metadata;
	char *copy = malloc(2 * text.len + 1);
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\r' && i + 1 < text.len && text.ptr[i + 1] == '\n')
			i++;
		if (text.ptr[i] == '\n' || text.ptr[i] == '\r')
			n += (size_t)(stpcpy(copy + n, replacement) - (copy + n));
		else
			copy[n++] = text.ptr[i];
	}
	require(metadata_parse((struct slice){copy, n}, &arena, &metadata) == 0);
	check_same(&metadata, whole);
	free(copy);
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	struct metadata whole;
	size_t cut = size > 2 ? data[size - 1] * size / 256 : 0;
	struct slice text = {size > 0 ? (const char *)data : "", size > 0 ? size - 1 : 0};

	require(metadata_parse(text, &arena, &whole) == 0);
	check_prefix(text, cut < text.len ? cut : text.len, &whole);
	check_prefix(text, text.len, &whole);
	check_line_ends(text, "\n", &whole);
	check_line_ends(text, "\r\n", &whole);
	check_line_ends(text, "\r", &whole);
	arena_free(&arena);
	return 0;
}
