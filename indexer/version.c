/*
 * Compares versions as PEP 440 does, parsed by its regular expression.
 *
 *     [v][EPOCH!]RELEASE[{a|b|rc}N][.postN][.devN][+LOCAL]
 *
 * with all the spellings that PEP 440 allows. Numbers may be long and are compared as digits.
 */
#include "indexer/version.h"

#include <regex.h>
#include <string.h>
#include <strings.h>

#include "db/base/unicode.h"

#define VERSION_MAX 1024 /* bytes; longer texts are no versions */

#define SEPARATOR "[-_.]?"
#define NUMBER    SEPARATOR "([0-9]*)"

/* PEP 440, appendix B. */
static const char pattern[] = "^[[:space:]]*v?(([0-9]+)!)?([0-9]+(\\.[0-9]+)*)"
                              "(" SEPARATOR "(alpha|beta|preview|pre|rc|a|b|c)" NUMBER ")?"
                              "(-([0-9]+)|" SEPARATOR "(post|rev|r)" NUMBER ")?"
                              "(" SEPARATOR "dev" NUMBER ")?"
                              "(\\+([a-z0-9]+([-_.][a-z0-9]+)*))?[[:space:]]*$";

/* Groups of the pattern. */
enum { EPOCH = 2, RELEASE, STAGE = 6, STAGE_NUMBER, POST, DASH_NUMBER, POST_NUMBER = 11, DEV };
enum { DEV_NUMBER = DEV + 1, LOCAL = 15, GROUPS };

/* A part after the release; with equal parts before it, the lower rank is the lower version. */
struct part {
	int rank;
	struct slice number;
};

enum { PARTS = 3, FINAL = 4 };

struct version {
	char text[VERSION_MAX + 1];
	struct slice epoch, release, local;
	struct part parts[PARTS];
};

/* A development release of the final release comes first, then alpha, beta, candidate. */
static int stage_of(struct slice word, bool is_early)
{
	if (word.len == 0)
		return is_early ? 0 : FINAL;
	return (word.ptr[0] | 0x20) == 'a' ? 1 : (word.ptr[0] | 0x20) == 'b' ? 2 : 3;
}

/* False if it is not a version. */
static bool parse(struct slice text, struct version *out)
{
	static regex_t expression; /* compiled once */
	static bool is_made;
	struct slice at[GROUPS];
	regmatch_t found[GROUPS];
	bool has_post, has_dev;

	if (slice_is_null(text) || text.len > VERSION_MAX || memchr(text.ptr, '\0', text.len))
		return false;
	memcpy(out->text, text.ptr, text.len);
	out->text[text.len] = '\0';
	if (!is_made && regcomp(&expression, pattern, REG_EXTENDED | REG_ICASE) != 0)
		return false;
	is_made = true;
	if (regexec(&expression, out->text, GROUPS, found, 0) != 0)
		return false;
	for (size_t i = 0; i < GROUPS; i++)
		at[i] = found[i].rm_so < 0 ? (struct slice){0}
		                           : slice_between(out->text + found[i].rm_so,
		                                           out->text + found[i].rm_eo);
	has_post = at[POST].len > 0;
	has_dev = at[DEV].len > 0;
	out->epoch = at[EPOCH];
	out->release = at[RELEASE];
	out->local = at[LOCAL];
	out->parts[0] = (struct part){stage_of(at[STAGE], has_dev && !has_post), at[STAGE_NUMBER]};
	out->parts[1] =
	        (struct part){has_post, at[at[DASH_NUMBER].len ? DASH_NUMBER : POST_NUMBER]};
	out->parts[2] = (struct part){!has_dev, at[DEV_NUMBER]};
	return true;
}

/* --- comparing --- */

/* Empty is zero. */
static int compare_numbers(struct slice a, struct slice b)
{
	while (slice_starts(a, SLICE("0")))
		a = slice_from(a, 1);
	while (slice_starts(b, SLICE("0")))
		b = slice_from(b, 1);
	if (a.len != b.len)
		return a.len < b.len ? -1 : 1;
	return slice_compare(a, b);
}

/* Take the part before the next separator. */
static struct slice take_part(struct slice *rest)
{
	size_t length = 0;
	struct slice part;

	while (length < rest->len && !memchr("-_.", rest->ptr[length], 3))
		length++;
	part = slice_first(*rest, length);
	*rest = slice_from(*rest, length + (length < rest->len));
	return part;
}

/* 1.0 equals 1.0.0. */
static int compare_releases(struct slice a, struct slice b)
{
	int order = 0;

	while (order == 0 && (a.len > 0 || b.len > 0))
		order = compare_numbers(take_part(&a), take_part(&b));
	return order;
}

static bool is_number(struct slice part)
{
	return strspn(part.ptr, "0123456789") >= part.len;
}

/* A number sorts after a word, and either after nothing. */
static int compare_locals(struct slice a, struct slice b)
{
	int order = 0;

	while (order == 0 && a.len > 0 && b.len > 0) {
		struct slice one = take_part(&a), other = take_part(&b);
		size_t least = one.len < other.len ? one.len : other.len;

		order = is_number(one) - is_number(other);
		if (order == 0 && is_number(one))
			order = compare_numbers(one, other);
		else if (order == 0 && (order = strncasecmp(one.ptr, other.ptr, least)) == 0)
			order = (one.len > other.len) - (one.len < other.len);
	}
	return order ? order : (a.len > 0) - (b.len > 0);
}

static int compare(const struct version *one, const struct version *other)
{
	int order = compare_numbers(one->epoch, other->epoch);

	if (order == 0)
		order = compare_releases(one->release, other->release);
	for (size_t i = 0; order == 0 && i < PARTS; i++) {
		order = one->parts[i].rank - other->parts[i].rank;
		if (order == 0)
			order = compare_numbers(one->parts[i].number, other->parts[i].number);
	}
	return order ? order : compare_locals(one->local, other->local);
}

bool version_compare(struct slice a, struct slice b, int *order)
{
	struct version one, other;

	if (!parse(a, &one) || !parse(b, &other))
		return false;
	*order = compare(&one, &other);
	return true;
}

static bool is_early(const struct version *version)
{
	return version->parts[0].rank < FINAL || version->parts[2].rank == 0;
}

bool version_is_early(struct slice version)
{
	struct version parsed;

	return parse(version, &parsed) && is_early(&parsed);
}

/* --- specifiers --- */

/* Does the release start with the numbers of @prefix, without the last @less of them? */
static bool has_prefix(const struct version *version, const struct version *prefix, size_t less)
{
	struct slice numbers = version->release, wanted = prefix->release;
	int order = compare_numbers(version->epoch, prefix->epoch);

	for (; less > 0; less--) {
		const char *dot = memrchr(wanted.ptr, '.', wanted.len);

		if (!dot)
			return true;
		wanted = slice_between(wanted.ptr, dot);
	}
	while (order == 0 && wanted.len > 0)
		order = compare_numbers(take_part(&numbers), take_part(&wanted));
	return order == 0;
}

/*
 * "<2" excludes 2.0rc1, and ">2" excludes 2.0.post1, unless the specifier itself names such a
 * release.
 */
static bool is_strictly(const struct version *version, const struct version *wanted, bool before)
{
	int order = compare(version, wanted);

	if (before ? order >= 0 : order <= 0)
		return false;
	if (compare_numbers(version->epoch, wanted->epoch) != 0 ||
	    compare_releases(version->release, wanted->release) != 0)
		return true;
	return before ? !is_early(version) || is_early(wanted)
	              : version->local.len == 0 &&
	                        (!version->parts[1].rank || wanted->parts[1].rank);
}

static bool allows(struct slice specifier, struct slice text)
{
	static const char operators[][4] = {"===", "==", "!=", "<=", ">=", "~=", "<", ">"};
	enum { SAME, EQUAL, OTHER, UP_TO, FROM, COMPATIBLE, BEFORE, BEHIND, COUNT } is = SAME;
	struct version version, wanted;
	bool is_pattern;
	int order;

	while (is < COUNT && !slice_starts(specifier, slice_of(operators[is])))
		is++;
	if (is == COUNT)
		return true;
	specifier = unicode_strip(slice_from(specifier, strlen(operators[is])));
	is_pattern = (is == EQUAL || is == OTHER) && slice_ends(specifier, SLICE(".*"));
	if (is_pattern)
		specifier = slice_first(specifier, specifier.len - 2);
	if (is == SAME)
		return slice_equal(text, specifier);
	if (!parse(text, &version) || !parse(specifier, &wanted))
		return true;
	if (is == BEFORE || is == BEHIND)
		return is_strictly(&version, &wanted, is == BEFORE);
	if (wanted.local.len == 0 || is > OTHER)
		version.local = (struct slice){0};
	order = is_pattern ? !has_prefix(&version, &wanted, 0) : compare(&version, &wanted);
	return is == EQUAL   ? order == 0
	       : is == OTHER ? order != 0
	       : is == UP_TO ? order <= 0
	                     : order >= 0 && (is == FROM || has_prefix(&version, &wanted, 1));
}

bool version_is_allowed(struct slice version, struct slice specifiers)
{
	while (specifiers.len > 0)
		if (!allows(unicode_strip(slice_take(&specifiers, ',')), version))
			return false;
	return true;
}
