/*
 * Orders versions as PEP 440 does, which its regular expression takes apart.
 *
 *     [v][EPOCH!]RELEASE[{a|b|rc}N][.postN][.devN][+LOCAL]
 *
 * with all the spellings that PEP 440 allows. Numbers are compared as digits: they may be long.
 */
#include "indexer/version.h"

#include <regex.h>
#include <string.h>
#include <strings.h>

#include "db/base/unicode.h"

#define VERSION_MAX 1024 /* bytes; what is longer is no version */

#define SEPARATOR "[-_.]?"
#define NUMBER    SEPARATOR "([0-9]*)"

/* PEP 440, appendix B. */
static const char pattern[] = "^[[:space:]]*v?(([0-9]+)!)?([0-9]+(\\.[0-9]+)*)"
                              "(" SEPARATOR "(alpha|beta|preview|pre|rc|a|b|c)" NUMBER ")?"
                              "(-([0-9]+)|" SEPARATOR "(post|rev|r)" NUMBER ")?"
                              "(" SEPARATOR "dev" NUMBER ")?"
                              "(\\+([a-z0-9]+([-_.][a-z0-9]+)*))?[[:space:]]*$";

/* Its groups. */
enum { EPOCH = 2, RELEASE, STAGE = 6, STAGE_NUMBER, POST, DASH_NUMBER, POST_NUMBER = 11, DEV };
enum { DEV_NUMBER = DEV + 1, LOCAL = 15, GROUPS };

/* What may follow the release; of two that are alike so far, the one with the lesser rank is less.
 */
struct part {
	int rank;
	struct slice number;
};

enum { PARTS = 3 };

struct version {
	char text[VERSION_MAX + 1];
	struct slice epoch, release, local;
	struct part parts[PARTS];
};

/* A development release of the release itself comes first, then alpha, beta, candidate. */
static int stage_of(struct slice word, bool is_early)
{
	if (word.len == 0)
		return is_early ? 0 : 4;
	return (word.ptr[0] | 0x20) == 'a' ? 1 : (word.ptr[0] | 0x20) == 'b' ? 2 : 3;
}

/* False: this is no version. */
static bool parse(struct slice text, struct version *out)
{
	static regex_t expression; /* made once, for as long as the process lives */
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

/* What is missing is zero. */
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

/* What is before the next separator. */
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

/* 1.0 is 1.0.0. */
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

/* A number is more than a word, and either is more than nothing. */
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

bool version_compare(struct slice a, struct slice b, int *order)
{
	struct version one, other;
	int first;

	if (!parse(a, &one) || !parse(b, &other))
		return false;
	first = compare_numbers(one.epoch, other.epoch);
	if (first == 0)
		first = compare_releases(one.release, other.release);
	for (size_t i = 0; first == 0 && i < PARTS; i++) {
		first = one.parts[i].rank - other.parts[i].rank;
		if (first == 0)
			first = compare_numbers(one.parts[i].number, other.parts[i].number);
	}
	*order = first ? first : compare_locals(one.local, other.local);
	return true;
}

bool version_is_early(struct slice version)
{
	struct version parsed;

	return parse(version, &parsed) && (parsed.parts[0].rank < 4 || parsed.parts[2].rank == 0);
}

/* --- specifiers --- */

/* Are the first numbers of the release those of @prefix, "3.10"? */
static bool has_prefix(struct slice version, struct slice prefix)
{
	struct version one, other;
	struct slice a, b;
	int order = 0;

	if (!parse(version, &one) || !parse(prefix, &other))
		return false;
	order = compare_numbers(one.epoch, other.epoch);
	for (a = one.release, b = other.release; order == 0 && b.len > 0;)
		order = compare_numbers(take_part(&a), take_part(&b));
	return order == 0;
}

/* "~=2.2.1" is ">=2.2.1, ==2.2.*". */
static bool is_compatible(struct slice version, struct slice wanted)
{
	const char *dot = memrchr(wanted.ptr, '.', wanted.len);

	return dot && has_prefix(version, slice_between(wanted.ptr, dot));
}

static bool allows(struct slice specifier, struct slice version)
{
	static const char operators[][4] = {"===", "==", "!=", "<=", ">=", "~=", "<", ">"};
	enum { SAME, EQUAL, OTHER, UP_TO, FROM, COMPATIBLE, BEFORE, BEHIND, COUNT } is = SAME;
	struct slice wanted;
	int order = 0;

	while (is < COUNT && !slice_starts(specifier, slice_of(operators[is])))
		is++;
	if (is == COUNT)
		return true;
	wanted = unicode_strip(slice_from(specifier, strlen(operators[is])));
	if ((is == EQUAL || is == OTHER) && slice_ends(wanted, SLICE(".*")))
		return has_prefix(version, slice_first(wanted, wanted.len - 2)) == (is == EQUAL);
	if (is == SAME || !version_compare(version, wanted, &order))
		return is != SAME || slice_equal(version, wanted);
	return is == EQUAL        ? order == 0
	       : is == OTHER      ? order != 0
	       : is == UP_TO      ? order <= 0
	       : is == FROM       ? order >= 0
	       : is == COMPATIBLE ? order >= 0 && is_compatible(version, wanted)
	       : is == BEFORE     ? order < 0
	                          : order > 0;
}

bool version_is_allowed(struct slice version, struct slice specifiers)
{
	while (specifiers.len > 0)
		if (!allows(unicode_strip(slice_take(&specifiers, ',')), version))
			return false;
	return true;
}
