/*
 * slice.h - a borrowed piece of text: pointer and length.
 *
 * Every parser of this project reads slices. A slice is not NUL-terminated, may contain NUL bytes,
 * never owns its bytes, and is never written through. The null slice (ptr NULL) means "absent", as
 * opposed to the empty slice (len 0).
 */
#ifndef DB_BASE_SLICE_H
#define DB_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
	const char *ptr;
	size_t len;
};

/* The slice over a string literal. */
#define SLICE(literal) ((struct slice){"" literal, sizeof(literal) - 1})

/* The slice over the bytes of @s without its NUL; NULL gives the null slice. */
static inline struct slice slice_of(const char *s)
{
	return (struct slice){s, s ? strlen(s) : 0};
}

static inline struct slice slice_between(const char *begin, const char *end)
{
	return (struct slice){begin, (size_t)(end - begin)};
}

static inline bool slice_is_null(struct slice s)
{
	return s.ptr == NULL;
}

/* Byte order, which for UTF-8 is the order of code points; null sorts as empty. */
static inline int slice_compare(struct slice a, struct slice b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;

	if (c != 0)
		return c;
	return (a.len > b.len) - (a.len < b.len);
}

static inline bool slice_equal(struct slice a, struct slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool slice_starts(struct slice s, struct slice prefix)
{
	return s.len >= prefix.len &&
	       (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

static inline bool slice_ends(struct slice s, struct slice suffix)
{
	return s.len >= suffix.len &&
	       (suffix.len == 0 || memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

/* @s without its first @n bytes; @n <= s.len. */
static inline struct slice slice_from(struct slice s, size_t n)
{
	return (struct slice){s.ptr + n, s.len - n};
}

/* The first @n bytes of @s; @n <= s.len. */
static inline struct slice slice_first(struct slice s, size_t n)
{
	return (struct slice){s.ptr, n};
}

/* The NUL-terminated string at @offset in @s, without its NUL; null if there is none. */
static inline struct slice slice_text_at(struct slice s, size_t offset)
{
	const char *begin = offset < s.len ? s.ptr + offset : NULL;
	const char *end = begin ? memchr(begin, '\0', s.len - offset) : NULL;

	return end ? slice_between(begin, end) : (struct slice){0};
}

/*
 * Remove and return the part of @text before the first @separator, which is removed too. @text must
 * not be empty.
 */
static inline struct slice slice_take(struct slice *text, char separator)
{
	const char *end = memchr(text->ptr, separator, text->len);
	struct slice taken = end ? slice_between(text->ptr, end) : *text;

	*text = slice_from(*text, taken.len + (end != NULL));
	return taken;
}

/* The part of @text before the first @separator. @text may be empty. */
static inline struct slice slice_before(struct slice text, char separator)
{
	return text.len ? slice_take(&text, separator) : text;
}

/* slice_take() for one line. */
static inline struct slice slice_take_line(struct slice *text)
{
	return slice_take(text, '\n');
}

#endif
