/*
 * version.c - reads versions as PEP 440 spells them, and orders them.
 *
 *     [v][EPOCH!]RELEASE[{a|b|rc}N][.postN][.devN][+LOCAL]
 *
 * with all the spellings that PEP 440 allows: alpha, beta, c, pre, preview, rev, r, any
 * of ".-_" or none between the parts, numbers left out, "-N" for ".postN", upper case.
 * Numbers may have any length: they are compared as digits.
 */
#include "indexer/version.h"

#include <strings.h>

/* What a version lacks sorts before or after what has it: the rank says which. */
struct part {
	int rank;
	struct slice number; /* null is zero */
};

/* In the order in which these sort; a release without any is RANK_FINAL. */
enum pre_rank { RANK_DEV_ONLY, RANK_ALPHA, RANK_BETA, RANK_CANDIDATE, RANK_FINAL };

struct version {
	struct slice epoch, release, local; /* local: null where there is none */
	struct part pre, post, dev;
};

/* --- reading --- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
	return c == '.' || c == '-' || c == '_';
}

static bool is_alphanumeric(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct slice strip(struct slice text)
{
	while (text.len > 0 && is_space(text.ptr[0]))
		text = slice_from(text, 1);
	while (text.len > 0 && is_space(text.ptr[text.len - 1]))
		text.len--;
	return text;
}

/* Take what @belongs from the front of *rest. */
static struct slice take_while(struct slice *rest, bool (*belongs)(char c))
{
	size_t n = 0;
	struct slice taken;

	while (n < rest->len && belongs(rest->ptr[n]))
		n++;
	taken = slice_first(*rest, n);
	*rest = slice_from(*rest, n);
	return taken;
}

static void skip_separator(struct slice *rest)
{
	if (rest->len > 0 && is_separator(rest->ptr[0]))
		*rest = slice_from(*rest, 1);
}

/* Take @word, whatever its case, off *rest. */
static bool take_word(struct slice *rest, const char *word)
{
	size_t n = strlen(word);

	if (rest->len < n || strncasecmp(rest->ptr, word, n) != 0)
		return false;
	*rest = slice_from(*rest, n);
	return true;
}

struct label {
	const char *word;
	int rank;
};

/* A word before those that it begins with. */
static const struct label pre_labels[] = {
        {"alpha", RANK_ALPHA}, {"a", RANK_ALPHA},           {"beta", RANK_BETA},
        {"b", RANK_BETA},      {"preview", RANK_CANDIDATE}, {"pre", RANK_CANDIDATE},
        {"c", RANK_CANDIDATE}, {"rc", RANK_CANDIDATE},      {NULL, 0},
};
static const struct label post_labels[] = {{"post", 1}, {"rev", 1}, {"r", 1}, {NULL, 0}};
static const struct label dev_labels[] = {{"dev", 0}, {NULL, 0}};

/* Take one of the labels, with its number, off *rest; @part stays as it is if none is there. */
static bool take_part(struct slice *rest, const struct label *labels, struct part *part)
{
	struct slice after = *rest;

	skip_separator(&after);
	while (labels->word && !take_word(&after, labels->word))
		labels++;
	if (!labels->word)
		return false;
	skip_separator(&after);
	*part = (struct part){labels->rank, take_while(&after, is_digit)};
	*rest = after;
	return true;
}

/* "1.0-2" is "1.0.post2". */
static bool take_bare_post(struct slice *rest, struct part *part)
{
	if (rest->len < 2 || rest->ptr[0] != '-' || !is_digit(rest->ptr[1]))
		return false;
	*rest = slice_from(*rest, 1);
	*part = (struct part){1, take_while(rest, is_digit)};
	return true;
}

/* Numbers with dots between them. Null: there is not even one. */
static struct slice take_release(struct slice *rest)
{
	const char *begin = rest->ptr;

	if (take_while(rest, is_digit).len == 0)
		return (struct slice){0};
	while (rest->len >= 2 && rest->ptr[0] == '.' && is_digit(rest->ptr[1])) {
		*rest = slice_from(*rest, 1);
		take_while(rest, is_digit);
	}
	return slice_between(begin, rest->ptr);
}

/* All of @rest: letters and digits, with one separator between any two runs of them. */
static bool is_local(struct slice rest)
{
	while (take_while(&rest, is_alphanumeric).len > 0) {
		if (rest.len == 0)
			return true;
		if (!is_separator(rest.ptr[0]))
			return false;
		rest = slice_from(rest, 1);
	}
	return false;
}

static bool parse(struct slice text, struct version *out)
{
	struct slice rest = strip(text), after;

	*out = (struct version){.pre = {.rank = RANK_FINAL}, .dev = {.rank = 1}};
	take_word(&rest, "v");
	after = rest;
	out->epoch = take_while(&after, is_digit);
	if (out->epoch.len > 0 && take_word(&after, "!"))
		rest = after;
	else
		out->epoch = (struct slice){0};
	out->release = take_release(&rest);
	if (slice_is_null(out->release))
		return false;
	take_part(&rest, pre_labels, &out->pre);
	if (!take_bare_post(&rest, &out->post))
		take_part(&rest, post_labels, &out->post);
	if (take_part(&rest, dev_labels, &out->dev) && out->pre.rank == RANK_FINAL &&
	    out->post.rank == 0)
		out->pre.rank = RANK_DEV_ONLY;
	if (take_word(&rest, "+")) {
		out->local = rest;
		return is_local(rest);
	}
	return rest.len == 0;
}

/* --- comparing --- */

static int compare_numbers(struct slice a, struct slice b)
{
	while (a.len > 0 && a.ptr[0] == '0')
		a = slice_from(a, 1);
	while (b.len > 0 && b.ptr[0] == '0')
		b = slice_from(b, 1);
	if (a.len != b.len)
		return a.len < b.len ? -1 : 1;
	return slice_compare(a, b);
}

static int compare_parts(const struct part *a, const struct part *b)
{
	return a->rank != b->rank ? a->rank - b->rank : compare_numbers(a->number, b->number);
}

/* 1.0 is 1.0.0: what one of them lacks is zero. */
static int compare_releases(struct slice a, struct slice b)
{
	int order = 0;

	while (order == 0 && (a.len > 0 || b.len > 0)) {
		order = compare_numbers(take_while(&a, is_digit), take_while(&b, is_digit));
		skip_separator(&a);
		skip_separator(&b);
	}
	return order;
}

static bool is_number(struct slice segment)
{
	return take_while(&segment, is_digit).len > 0 && segment.len == 0;
}

/* Words come before numbers. */
static int compare_segments(struct slice a, struct slice b)
{
	size_t least = a.len < b.len ? a.len : b.len;
	int order;

	if (is_number(a) != is_number(b))
		return is_number(a) ? 1 : -1;
	if (is_number(a))
		return compare_numbers(a, b);
	order = strncasecmp(a.ptr, b.ptr, least);
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* None comes before any, and one that begins like the other, and is longer, after it. */
static int compare_locals(struct slice a, struct slice b)
{
	int order = 0;

	while (order == 0 && a.len > 0 && b.len > 0) {
		order = compare_segments(take_while(&a, is_alphanumeric),
		                         take_while(&b, is_alphanumeric));
		skip_separator(&a);
		skip_separator(&b);
	}
	return order != 0 ? order : (a.len > 0) - (b.len > 0);
}

static int compare(const struct version *a, const struct version *b)
{
	int order = compare_numbers(a->epoch, b->epoch);

	if (order == 0)
		order = compare_releases(a->release, b->release);
	if (order == 0)
		order = compare_parts(&a->pre, &b->pre);
	if (order == 0)
		order = compare_parts(&a->post, &b->post);
	if (order == 0)
		order = compare_parts(&a->dev, &b->dev);
	return order != 0 ? order : compare_locals(a->local, b->local);
}

bool version_compare(struct slice a, struct slice b, int *order)
{
	struct version left, right;

	if (slice_is_null(a) || slice_is_null(b) || !parse(a, &left) || !parse(b, &right))
		return false;
	*order = compare(&left, &right);
	return true;
}
