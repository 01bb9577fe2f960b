/*
 * test_ld_cache.c - /etc/ld.so.cache as ldconfig writes it, and damaged.
 */
#include "test.h"

#include "libquery/disk/elf/ld_cache.h"

/* Entries of the newer format; a test sets the fields that it needs. */
struct entry {
	const char *name, *path;
};

struct image {
	char bytes[1024];
	size_t length;
};

static void put(struct image *image, size_t at, uint32_t number)
{
	memcpy(image->bytes + at, &number, sizeof(number));
}

static uint32_t put_text(struct image *image, size_t from, const char *text)
{
	uint32_t offset = (uint32_t)(image->length - from);

	strcpy(image->bytes + image->length, text);
	image->length += strlen(text) + 1;
	return offset;
}

static void add_cache(struct image *image, const struct entry *entries, size_t count)
{
	size_t from = image->length;

	memcpy(image->bytes + from, "glibc-ld.so.cache1.1", 20);
	put(image, from + 20, (uint32_t)count);
	image->length += 48 + count * 24;
	for (size_t i = 0; i < count; i++) {
		put(image, from + 48 + i * 24 + 4, put_text(image, from, entries[i].name));
		put(image, from + 48 + i * 24 + 8, put_text(image, from, entries[i].path));
	}
}

static const struct entry three[] = {
        {"liba.so.1", "/lib/liba.so.1"},
        {"libb.so", "/lib/libb.so"},
        {"liba.so.1", "/lib32/liba.so.1"},
};

static struct slice slice_of_image(const struct image *image)
{
	return (struct slice){image->bytes, image->length};
}

static void check_three(struct slice file)
{
	struct ld_cache cache;
	struct slice path;
	size_t at = 0;

	assert_true(ld_cache_open(file, &cache));
	assert_true(ld_cache_find(&cache, SLICE("liba.so.1"), &at, &path));
	assert_true(slice_equal(path, SLICE("/lib/liba.so.1")));
	assert_true(ld_cache_find(&cache, SLICE("liba.so.1"), &at, &path));
	assert_true(slice_equal(path, SLICE("/lib32/liba.so.1")));
	assert_false(ld_cache_find(&cache, SLICE("liba.so.1"), &at, &path));
	at = 0;
	assert_false(ld_cache_find(&cache, SLICE("liba.so"), &at, &path)); /* a prefix */
	at = 0;
	assert_false(ld_cache_find(&cache, SLICE(""), &at, &path));
}

static void test_new_format(void **state)
{
	struct image image = {.length = 0};

	add_cache(&image, three, 3);
	check_three(slice_of_image(&image));
}

static void test_new_format_behind_the_old(void **state)
{
	struct image image = {.length = 0};

	memcpy(image.bytes, "ld.so-1.7.0", 11);
	put(&image, 12, 1);
	image.length = 32; /* 16 and one entry of 12, padded */
	add_cache(&image, three, 3);
	check_three(slice_of_image(&image));
}

static void test_no_cache(void **state)
{
	struct image image = {.length = 0};
	struct ld_cache cache;

	assert_false(ld_cache_open(SLICE(""), &cache));
	assert_false(ld_cache_open(SLICE("ld.so-1.7.0"), &cache));
	assert_false(ld_cache_open(SLICE("glibc-ld.so.cache1.1"), &cache));
	add_cache(&image, three, 3);
	put(&image, 20, UINT32_MAX); /* too many entries */
	assert_false(ld_cache_open(slice_of_image(&image), &cache));
	put(&image, 20, 3);
	image.bytes[28] = 1; /* an unknown byte order */
	assert_false(ld_cache_open(slice_of_image(&image), &cache));
}

/* Offsets beyond the end of the file, and other invalid paths, find nothing. */
static void test_damaged(void **state)
{
	static const struct entry relative[] = {{"liba.so.1", "lib/liba.so.1"}};
	struct image image = {.length = 0};
	struct ld_cache cache;
	struct slice path;
	size_t at = 0;

	add_cache(&image, relative, 1);
	assert_true(ld_cache_open(slice_of_image(&image), &cache));
	assert_false(ld_cache_find(&cache, SLICE("liba.so.1"), &at, &path));
	for (uint32_t offset = 0; offset < image.length + 8; offset++) {
		put(&image, 48 + 8, offset);
		at = 0;
		if (ld_cache_find(&cache, SLICE("liba.so.1"), &at, &path))
			assert_int_equal(path.ptr[0], '/');
	}
	put(&image, 48 + 4, UINT32_MAX);
	at = 0;
	assert_false(ld_cache_find(&cache, SLICE("liba.so.1"), &at, &path));
}

RUN_TESTS(cmocka_unit_test(test_new_format), cmocka_unit_test(test_new_format_behind_the_old),
          cmocka_unit_test(test_no_cache), cmocka_unit_test(test_damaged))
