/*
 * Orders versions as PEP 440 does.
 *
 *     [v][EPOCH!]RELEASE[{a|b|rc}N][.postN][.devN][+LOCAL]
 *
 * with all the spellings that PEP 440 allows: alpha, beta, c, pre, preview, rev, r, any
 * of ".-_" or none between the parts, numbers left out, "-N" for ".postN", upper case.
 * Numbers may have any length: they are compared as digits.
 */
#include "indexer/version.h"

#include <strings.h>

/* What may follow: of two versions that are alike so far, the one with the lesser kind is less. */
enum kind { DEV, ALPHA, BETA, CANDIDATE, END, LOCAL_WORD, LOCAL_NUMBER, POST };

struct part {
	enum kind kind;
	struct slice text; /* a number, where null is zero; of a LOCAL_WORD itself */
};

struct version {
	struct slice epoch, release, rest; /* rest: what has not been taken */
	int stage; /* of the part before: each may be there once, in this order */
	bool in_local;
};

static const struct label {
	const char *word; /* before those that it begins with */
	enum kind kind;
	int stage;
} labels[] = {
        {"alpha", ALPHA, 1},       {"a", ALPHA, 1},       {"beta", BETA, 1},    {"b", BETA, 1},
        {"preview", CANDIDATE, 1}, {"pre", CANDIDATE, 1}, {"rc", CANDIDATE, 1}, {"c", CANDIDATE, 1},
        {"post", POST, 2},         {"rev", POST, 2},      {"r", POST, 2},       {"dev", DEV, 3},
};

#define LABEL_COUNT (sizeof(labels) / sizeof(*labels))

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alphanumeric(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
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
	if (rest->len > 0 && memchr(".-_", rest->ptr[0], 3))
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

static bool begins_with_number(struct slice text, char before)
{
	return text.len >= 2 && text.ptr[0] == before && is_digit(text.ptr[1]);
}

/* Take the epoch and the release. False: there is no release. */
static bool begin(struct slice text, struct version *out)
{
	struct slice after;

	*out = (struct version){.rest = text};
	take_while(&out->rest, is_space);
	while (out->rest.len > 0 && is_space(out->rest.ptr[out->rest.len - 1]))
		out->rest.len--;
	take_word(&out->rest, "v");
	after = out->rest;
	out->epoch = take_while(&after, is_digit);
	if (out->epoch.len > 0 && take_word(&after, "!"))
		out->rest = after;
	else
		out->epoch = (struct slice){0};
	out->release = out->rest;
	if (take_while(&out->rest, is_digit).len == 0)
		return false;
	while (begins_with_number(out->rest, '.')) {
		out->rest = slice_from(out->rest, 1);
		take_while(&out->rest, is_digit);
	}
	out->release.len -= out->rest.len;
	return true;
}

/* Letters and digits, with one separator between any two runs of them. */
static bool next_of_local(struct version *version, struct part *out)
{
	struct slice rest;

	if (version->in_local)
		skip_separator(&version->rest);
	version->in_local = true;
	out->text = rest = take_while(&version->rest, is_alphanumeric);
	take_while(&rest, is_digit);
	out->kind = rest.len > 0 ? LOCAL_WORD : LOCAL_NUMBER;
	return out->text.len > 0;
}

/* The next part behind the release; END is the last. False: this is no version. */
static bool next(struct version *version, struct part *out)
{
	const struct label *label = labels;
	struct slice after = version->rest;

	*out = (struct part){.kind = END};
	if (after.len == 0)
		return true;
	if (version->in_local || take_word(&version->rest, "+"))
		return next_of_local(version, out);
	if (version->stage < 2 && begins_with_number(after, '-')) { /* "1.0-2" is "1.0.post2" */
		version->rest = slice_from(after, 1);
		version->stage = 2;
		*out = (struct part){POST, take_while(&version->rest, is_digit)};
		return true;
	}
	skip_separator(&after);
	while (label < labels + LABEL_COUNT && !take_word(&after, label->word))
		label++;
	if (label == labels + LABEL_COUNT || label->stage <= version->stage)
		return false;
	skip_separator(&after);
	*out = (struct part){label->kind, take_while(&after, is_digit)};
	version->rest = after;
	version->stage = label->stage;
	return true;
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

static int compare_parts(const struct part *a, const struct part *b)
{
	size_t least = a->text.len < b->text.len ? a->text.len : b->text.len;
	int order;

	if (a->kind != b->kind)
		return (int)a->kind - (int)b->kind;
	if (a->kind != LOCAL_WORD)
		return compare_numbers(a->text, b->text);
	order = strncasecmp(a->text.ptr, b->text.ptr, least);
	return order != 0 ? order : (a->text.len > b->text.len) - (a->text.len < b->text.len);
}

bool version_compare(struct slice a, struct slice b, int *order)
{
	struct part left = {.kind = POST}, right = left;
	struct version one, other;
	int first;

	if (slice_is_null(a) || slice_is_null(b) || !begin(a, &one) || !begin(b, &other))
		return false;
	first = compare_numbers(one.epoch, other.epoch);
	if (first == 0)
		first = compare_releases(one.release, other.release);
	while (left.kind != END || right.kind != END) {
		if (!next(&one, &left) || !next(&other, &right))
			return false;
		if (first == 0)
			first = compare_parts(&left, &right);
	}
	*order = first;
	return true;
}
