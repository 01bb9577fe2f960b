/*
 * unicode.c - character properties as in CPython.
 *
 * The C library answers by the locale of the process and by its own version of Unicode; an index
 * must give every process the same answer, and that must be Python's. Hence these tables, which
 * unicode_tables.py extracts from CPython. ASCII is answered without them.
 */
#include "db/base/unicode.h"

#include <assert.h>
#include <stdlib.h>

#define COUNT_BITS          11 /* of a packed range; the rest is its first code point */
#define RANGE(first, count) ((uint32_t)(first) << COUNT_BITS | ((uint32_t)(count)-1))
#define COUNT(array)        (sizeof(array) / sizeof(*(array)))
#define WORD_OF_BYTES       0x0101010101010101u
#define CAPITAL_I_DOT       0x130u
#define CAPITAL_SIGMA       0x3A3u
#define SMALL_SIGMA         0x3C3u
#define FINAL_SIGMA         0x3C2u

/* Characters first, first + step, ...; the lower case of each is delta away. */
struct lower_run {
	uint32_t first;
	uint16_t count;
	uint16_t step;
	int32_t delta;
};

#include "db/base/unicode_tables.inc"

/* The end of @s, without arithmetic on the null slice. */
static const char *slice_end(struct slice s)
{
	return s.len > 0 ? s.ptr + s.len : s.ptr;
}

static int compare_range(const void *key, const void *range)
{
	uint32_t c = *(const uint32_t *)key, packed = *(const uint32_t *)range;
	uint32_t first = packed >> COUNT_BITS, last = first + (packed & ((1u << COUNT_BITS) - 1));

	return c < first ? -1 : c > last;
}

static bool in_ranges(const uint32_t *ranges, size_t n, uint32_t c)
{
	return bsearch(&c, ranges, n, sizeof(*ranges), compare_range) != NULL;
}

static bool is_ascii_space(uint32_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
}

bool unicode_is_space(uint32_t c)
{
	if (c < 0x80)
		return is_ascii_space(c);
	return in_ranges(space_ranges, COUNT(space_ranges), c);
}

static bool is_ascii_letter(uint32_t c)
{
	return (c | 0x20) - 'a' < 26;
}

bool unicode_is_word(uint32_t c)
{
	if (c < 0x80)
		return is_ascii_letter(c) || c - '0' < 10 || c == '_';
	return in_ranges(word_ranges, COUNT(word_ranges), c);
}

bool unicode_is_line_break(uint32_t c)
{
	return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
	       c == 0x2029;
}

/* The sequence length given by the lead byte @b; 0 if it cannot start a sequence. */
static size_t sequence_length(uint32_t b)
{
	if (b < 0x80)
		return 1;
	if (b < 0xC2 || b > 0xF4)
		return 0;
	return b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

/* The length of the well-formed sequence at @at, with its code point in *c; else 0. */
static size_t decode(const char *at, const char *end, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t value = (unsigned char)*at;
	size_t n = sequence_length(value);

	if (n == 0 || n > (size_t)(end - at))
		return 0;
	if (n > 1)
		value &= 0x7Fu >> n;
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xC0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3F);
	}
	if (value < least[n] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
		return 0;
	*c = value;
	return n;
}

uint32_t utf8_next(const char **at, const char *end)
{
	uint32_t c;
	size_t n = decode(*at, end, &c);

	if (n == 0) {
		c = UNICODE_ESCAPE + (unsigned char)**at;
		n = 1;
	}
	*at += n;
	return c;
}

static bool is_ascii(char c)
{
	return (unsigned char)c < 0x80;
}

/* Eight bytes at a time. */
size_t utf8_span_ascii(const char *at, const char *end)
{
	const char *begin = at;
	uint64_t word;

	for (; end - at >= (ptrdiff_t)sizeof(word); at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		if (word & (WORD_OF_BYTES << 7))
			break;
	}
	while (at < end && is_ascii(*at))
		at++;
	return (size_t)(at - begin);
}

bool utf8_valid(struct slice text)
{
	while (text.len > 0) {
		const char *end = text.ptr + text.len,
		           *at = text.ptr + utf8_span_ascii(text.ptr, end);
		uint32_t c;
		size_t n = at < end ? decode(at, end, &c) : 0;

		if (n == 0)
			return at == end;
		text = slice_between(at + n, end);
	}
	return true;
}

static size_t span(struct slice text, bool (*is_member)(uint32_t))
{
	const char *at = text.ptr, *end = slice_end(text);

	while (at < end) {
		const char *next = at;

		if (!is_member(utf8_next(&next, end)))
			break;
		at = next;
	}
	return (size_t)(at - text.ptr);
}

size_t unicode_span_word(struct slice text)
{
	return span(text, unicode_is_word);
}

size_t unicode_span_space(struct slice text)
{
	return span(text, unicode_is_space);
}

size_t utf8_cut(struct slice text, size_t limit)
{
	size_t len = limit;

	if (text.len <= limit)
		return text.len;
	while (len > 0 && limit - len < 3 && (text.ptr[len] & 0xC0) == 0x80)
		len--; /* one of the three bytes that may follow the first */
	return len;
}

/* The start of the last character of @text, which is not empty. */
static const char *last_character(struct slice text)
{
	const char *end = text.ptr + text.len, *at = end - 1;
	size_t limit = text.len < 4 ? text.len : 4; /* bytes in the longest sequence */
	uint32_t c;

	while ((size_t)(end - at) < limit && (*at & 0xC0) == 0x80)
		at--;
	return decode(at, end, &c) == (size_t)(end - at) ? at : end - 1;
}

static struct slice strip_ascii(struct slice text)
{
	while (text.len > 0 && is_ascii_space((unsigned char)text.ptr[0]))
		text = slice_from(text, 1);
	while (text.len > 0 && is_ascii_space((unsigned char)text.ptr[text.len - 1]))
		text.len--;
	return text;
}

struct slice unicode_strip(struct slice text)
{
	text = strip_ascii(text);
	if (text.len == 0 || (is_ascii(text.ptr[0]) && is_ascii(text.ptr[text.len - 1])))
		return text;
	text = slice_from(text, unicode_span_space(text));
	while (text.len > 0) {
		const char *last = last_character(text), *at = last;

		if (!unicode_is_space(utf8_next(&at, text.ptr + text.len)))
			break;
		text.len = (size_t)(last - text.ptr);
	}
	return text;
}

struct slice unicode_take_word(struct slice *rest)
{
	struct slice text = unicode_strip(*rest);
	size_t length = 0;

	while (length < text.len && unicode_span_space(slice_from(text, length)) == 0)
		length++;
	*rest = unicode_strip(slice_from(text, length));
	return slice_first(text, length);
}

static char ascii_lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

bool ascii_ends_ignoring_case(struct slice text, struct slice ascii)
{
	if (text.len < ascii.len)
		return false;
	text = slice_from(text, text.len - ascii.len);
	for (size_t i = 0; i < ascii.len; i++)
		if (ascii_lower(text.ptr[i]) != ascii.ptr[i])
			return false;
	return true;
}

static int compare_run(const void *key, const void *item)
{
	const struct lower_run *run = item;
	uint32_t c = *(const uint32_t *)key;

	return c < run->first ? -1 : c > run->first + (run->count - 1u) * run->step;
}

/* The lower case of a character with a one-to-one mapping. */
static uint32_t lower_one(uint32_t c)
{
	const struct lower_run *run =
	        bsearch(&c, lower_runs, COUNT(lower_runs), sizeof(*lower_runs), compare_run);

	return run && (c - run->first) % run->step == 0 ? (uint32_t)((int32_t)c + run->delta) : c;
}

/* Is the first character from @at on that is not ignorable a cased letter? */
static bool letter_follows(const char *at, const char *end)
{
	while (at < end) {
		uint32_t c = utf8_next(&at, end);

		if (!in_ranges(ignorable_ranges, COUNT(ignorable_ranges), c))
			return in_ranges(cased_ranges, COUNT(cased_ranges), c);
	}
	return false;
}

char *utf8_put(char *out, uint32_t c)
{
	static const unsigned char leads[] = {0, 0xC0, 0xE0, 0xF0};
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

	*out++ = (char)(leads[more] | c >> 6 * more);
	while (more-- > 0)
		*out++ = (char)(0x80 | (c >> 6 * more & 0x3F));
	return out;
}

/* The lower case of the non-ASCII @c; @letter_before and @at.. are its context. */
static char *put_lower(char *out, uint32_t c, bool letter_before, const char *at, const char *end)
{
	if (c == CAPITAL_I_DOT)
		return utf8_put(utf8_put(out, 'i'), 0x307);
	if (c == CAPITAL_SIGMA)
		return utf8_put(out, letter_before && !letter_follows(at, end) ? FINAL_SIGMA
		                                                               : SMALL_SIGMA);
	if (c >= UNICODE_ESCAPE + 0x80 && c <= UNICODE_ESCAPE + 0xFF) {
		*out++ = (char)(c - UNICODE_ESCAPE);
		return out;
	}
	return utf8_put(out, lower_one(c));
}

static size_t lower_any(struct slice in, char *out)
{
	const char *at = in.ptr, *end = slice_end(in);
	char *begin = out;
	bool letter_before = false;

	while (at < end) {
		uint32_t c = utf8_next(&at, end);

		if (c < 0x80)
			*out++ = ascii_lower((char)c);
		else
			out = put_lower(out, c, letter_before, at, end);
		if (!in_ranges(ignorable_ranges, COUNT(ignorable_ranges), c))
			letter_before = in_ranges(cased_ranges, COUNT(cased_ranges), c);
	}
	return (size_t)(out - begin);
}

size_t unicode_lower(struct slice in, char *out, size_t room)
{
	assert(room >= UNICODE_LOWER_ROOM(in.len));
	(void)room;
	if (utf8_span_ascii(in.ptr, slice_end(in)) < in.len)
		return lower_any(in, out);
	for (size_t i = 0; i < in.len; i++)
		out[i] = ascii_lower(in.ptr[i]);
	return in.len;
}
