/*
 * names.c - finds misleading names.
 */
#include <stdlib.h>
#include <string.h>
#include <uchar.h>

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/unicode.h"
#include "indexer/audit/collect.h"
#include "libquery/disk/tree/distname.h"

/*
 * Letters that look like Latin ones, from Unicode's confusables.txt: Cyrillic, Greek, Armenian,
 * Roman numerals and small capitals. Full-width, mathematical and circled forms follow rules.
 */
static const struct {
	const char32_t *letters;
	const char *latin; /* in the same order */
} confusables[] = {
        {U"\u0131\u0251\u0261\u13F4\u0262\u026A\u0274\u0280\u0299\u029C\u029F", "iagBginrbhl"},
        {U"\u1D00\u1D04\u1D05\u1D07\u1D0A\u1D0B\u1D0D\u1D0F\u1D18\u1D1B\u1D1C", "acdejkmoptu"},
        {U"\u1D20\u1D21\u1D22\u2113", "vwzl"},
        {U"\u0391\u0392\u0395\u0396\u0397\u0399\u039A\u039C\u039D\u039F\u03A1", "ABEZHIKMNOP"},
        {U"\u03A4\u03A5\u03A7\u03B1\u03B3\u03B9\u03BD\u03BF\u03C1\u03C3\u03C5", "TYXayivopou"},
        {U"\u03F2", "c"},
        {U"\u0405\u0406\u0408\u0410\u0412\u0415\u041A\u041C\u041D\u041E\u0420", "SIJABEKMHOP"},
        {U"\u0421\u0422\u0425\u0430\u0433\u0435\u043E\u043F\u0440\u0441\u0443", "CTXareonpcy"},
        {U"\u0445\u044C\u0455\u0456\u0458\u04BB\u04CF\u0501\u051B\u051D", "xbsijhldqw"},
        {U"\u0561\u0563\u0570\u0578\u057D\u0581\u0585", "wqhnugo"},
        {U"\u2170\u2174\u2179\u217C\u217D\u217E\u217F", "ivxlcdm"},
        {U"\u2010\u2011\u2012\u2013\u2014\u2212", "------"},
};

static char latin_of(uint32_t c)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	if (c >= 0xFF01 && c <= 0xFF5E)
		return (char)(c - 0xFF01 + '!');
	if (c >= 0x1D400 && c <= 0x1D6A3) /* bold, italic, ...: each A-Z and a-z */
		return letters[(c - 0x1D400) % 52];
	if (c >= 0x1D7CE && c <= 0x1D7FF)
		return (char)('0' + (c - 0x1D7CE) % 10);
	if (c >= 0x24B6 && c <= 0x24E9) /* in circles */
		return letters[c - 0x24B6];
	for (size_t i = 0; i < sizeof(confusables) / sizeof(*confusables); i++)
		for (size_t at = 0; confusables[i].letters[at]; at++)
			if (confusables[i].letters[at] == c)
				return confusables[i].latin[at];
	return '\0';
}

/* Invisible characters, characters that look like a space, and invalid bytes. */
static bool is_hidden(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
	        {0xA0, 0xA0},       {0xAD, 0xAD},     {0x34F, 0x34F},   {0x115F, 0x1160},
	        {0x1680, 0x1680},   {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x2000, 0x200D},
	        {0x202F, 0x202F},   {0x205F, 0x2064}, {0x206A, 0x206F}, {0x2800, 0x2800},
	        {0x3000, 0x3000},   {0x3164, 0x3164}, {0xD800, 0xDFFF}, {0xFE00, 0xFE0F},
	        {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB}, {0x1D173, 0x1D17A},
	        {0xE0000, 0xE01EF},
	};

	for (size_t i = 0; c >= 0x80 && i < sizeof(ranges) / sizeof(*ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return escape_is_control(c);
}

/* Combining strokes through the previous letter, invisible in a small font. */
static bool is_stroke(uint32_t c)
{
	return c >= 0x334 && c <= 0x338;
}

struct look {
	bool hidden;     /* contains hidden characters */
	bool confusable; /* contains a word that looks Latin but is not */
};

/* The kinds of letters in a word: ASCII, similar to ASCII, and others. */
struct word {
	bool ascii, alike, foreign;
};

/* A word in one script is legitimate: Russian words contain many letters that look Latin. */
static bool is_disguise(const struct word *word, bool strict)
{
	return word->alike && !word->foreign && (word->ascii || strict);
}

static bool is_ascii_letter(uint32_t c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/*
 * Write the Latin look of @name to @shown, which has room for it. @strict: a word that looks
 * entirely Latin is also suspicious.
 */
static struct look look_at(struct slice name, bool strict, char *shown)
{
	struct look look = {0};
	struct word word = {0};
	const char *at = name.ptr, *end = name.ptr + name.len;

	while (at < end) {
		uint32_t c = utf8_next(&at, end);
		char latin = c < 0x80 ? (char)c : latin_of(c);

		look.hidden |= is_hidden(c);
		word.ascii |= is_ascii_letter(c);
		word.alike |= c >= 0x80 && (latin || is_stroke(c));
		word.foreign |= !latin && !is_stroke(c);
		if (latin)
			*shown++ = latin;
		if (c >= 0x80 || is_ascii_letter(c))
			continue;
		look.confusable |= is_disguise(&word, strict);
		word = (struct word){0};
	}
	look.confusable |= is_disguise(&word, strict);
	*shown = '\0';
	return look;
}

/* The owner of a name. */
struct owner {
	struct site *site;
	int64_t distribution, entry_point; /* 0: the distribution itself */
};

static void put_trait(const struct owner *owner, const char *trait, const char *field,
                      struct slice shown)
{
	worksheet_put(owner->site->collect->sheet, "trait",
	              FACTS(fact(owner->distribution), fact_id(owner->entry_point), fact(trait),
	                    fact(field), fact(shown)));
}

static void judge(const struct owner *owner, const char *field, struct slice name, bool strict)
{
	CLEANUP(cleanup_free) char *shown = malloc(name.len + 1);
	struct look look;

	owner->site->collect->no_memory |= !shown;
	if (!shown || name.len == 0)
		return;
	look = look_at(name, strict, shown);
	if (look.hidden)
		put_trait(owner, "control", field, name);
	else if (look.confusable)
		put_trait(owner, "confusable", field, slice_of(shown));
}

/* Does the name in METADATA differ from that of the directory? */
static bool is_mismatch(const struct distribution_record *row)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	bool failed = false;
	struct slice name = distname_normalize_in(&arena, row->name, &failed);
	struct slice directory = distname_normalize_in(&arena, row->directory, &failed);

	return !failed && name.len > 0 && slice_ends(row->directory, SLICE(".dist-info")) &&
	       !(slice_starts(directory, name) && directory.len > name.len &&
	         directory.ptr[name.len] == '_');
}

static void judge_entry_point(const struct owner *owner, const struct entry_point_record *e)
{
	judge(owner, "group", e->group, false);
	judge(owner, "name", e->name, is_command(e));
	judge(owner, "value", e->value, false);
	if (is_command(e) &&
	    (e->name.len == 0 || memchr("-.", e->name.ptr[0], 2) ||
	     memchr(e->name.ptr, '/', e->name.len) || memchr(e->name.ptr, '\\', e->name.len)))
		put_trait(owner, "path", "name", e->name);
}

void names_read(struct site *site)
{
	for (size_t i = 0; i < site->disk.distribution_count; i++) {
		const struct distribution_record *row = &site->disk.distributions[i];
		struct owner owner = {site, distribution_id(site->id, i), 0};

		judge(&owner, "name of the directory", row->directory, false);
		judge(&owner, "name of the distribution", row->name, true);
		if (!site->managed && is_mismatch(row))
			put_trait(&owner, "mismatch", "name of the distribution", row->name);
		for (size_t j = 0; j < row->entry_point_count; j++) {
			owner.entry_point = entry_point_id(owner.distribution, j);
			judge_entry_point(&owner, &row->entry_points[j]);
		}
	}
}
