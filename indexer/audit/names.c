/*
 * names.c - names that are not what they seem.
 */
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/unicode.h"
#include "indexer/audit/collect.h"
#include "libquery/disk/tree/distname.h"

/*
 * Letters that are drawn as Latin ones are, after Unicode's confusables.txt: Cyrillic,
 * Greek, Armenian, Roman numerals and small capitals. The full-width forms, those of
 * mathematics and those in circles follow from rules.
 */
static const struct {
	uint32_t c;
	char latin;
} confusables[] = {
        {0x0131, 'i'}, {0x0251, 'a'}, {0x0261, 'g'}, {0x0391, 'A'}, {0x0392, 'B'}, {0x0395, 'E'},
        {0x0396, 'Z'}, {0x0397, 'H'}, {0x0399, 'I'}, {0x039A, 'K'}, {0x039C, 'M'}, {0x039D, 'N'},
        {0x039F, 'O'}, {0x03A1, 'P'}, {0x03A4, 'T'}, {0x03A5, 'Y'}, {0x03A7, 'X'}, {0x03B1, 'a'},
        {0x03B3, 'y'}, {0x03B9, 'i'}, {0x03BD, 'v'}, {0x03BF, 'o'}, {0x03C1, 'p'}, {0x03C3, 'o'},
        {0x03C5, 'u'}, {0x03F2, 'c'}, {0x0405, 'S'}, {0x0406, 'I'}, {0x0408, 'J'}, {0x0410, 'A'},
        {0x0412, 'B'}, {0x0415, 'E'}, {0x041A, 'K'}, {0x041C, 'M'}, {0x041D, 'H'}, {0x041E, 'O'},
        {0x0420, 'P'}, {0x0421, 'C'}, {0x0422, 'T'}, {0x0425, 'X'}, {0x0430, 'a'}, {0x0433, 'r'},
        {0x0435, 'e'}, {0x043E, 'o'}, {0x043F, 'n'}, {0x0440, 'p'}, {0x0441, 'c'}, {0x0443, 'y'},
        {0x0445, 'x'}, {0x044C, 'b'}, {0x0455, 's'}, {0x0456, 'i'}, {0x0458, 'j'}, {0x04BB, 'h'},
        {0x04CF, 'l'}, {0x0501, 'd'}, {0x051B, 'q'}, {0x051D, 'w'}, {0x0561, 'w'}, {0x0563, 'q'},
        {0x0570, 'h'}, {0x0578, 'n'}, {0x057D, 'u'}, {0x0581, 'g'}, {0x0585, 'o'}, {0x13F4, 'B'},
        {0x2010, '-'}, {0x2011, '-'}, {0x2012, '-'}, {0x2013, '-'}, {0x2014, '-'}, {0x2212, '-'},
        {0x2170, 'i'}, {0x2174, 'v'}, {0x2179, 'x'}, {0x217C, 'l'}, {0x217D, 'c'}, {0x217E, 'd'},
        {0x217F, 'm'}, {0x0262, 'g'}, {0x026A, 'i'}, {0x0274, 'n'}, {0x0280, 'r'}, {0x0299, 'b'},
        {0x029C, 'h'}, {0x029F, 'l'}, {0x1D00, 'a'}, {0x1D04, 'c'}, {0x1D05, 'd'}, {0x1D07, 'e'},
        {0x1D0A, 'j'}, {0x1D0B, 'k'}, {0x1D0D, 'm'}, {0x1D0F, 'o'}, {0x1D18, 'p'}, {0x1D1B, 't'},
        {0x1D1C, 'u'}, {0x1D20, 'v'}, {0x1D21, 'w'}, {0x1D22, 'z'}, {0x2113, 'l'},
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
		if (confusables[i].c == c)
			return confusables[i].latin;
	return '\0';
}

/* What is not shown, or looks like a space and is none; a byte that is no UTF-8. */
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

/* Strokes through the letter before, which nobody sees in a small font. */
static bool is_stroke(uint32_t c)
{
	return c >= 0x334 && c <= 0x338;
}

struct look {
	bool hidden;     /* there are such letters */
	bool confusable; /* a word is drawn as a Latin one, and is none */
};

/* A word so far: letters of ASCII, ones that look like these, and all others. */
struct word {
	bool ascii, alike, foreign;
};

/* A word in one script is honest: whoever writes Russian has many letters that look Latin. */
static bool is_disguise(const struct word *word, bool strict)
{
	return word->alike && !word->foreign && (word->ascii || strict);
}

static bool is_ascii_letter(uint32_t c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/*
 * Write what @name looks like to @shown, which has room for it. @strict: a word that looks
 * Latin as a whole is no honest one either.
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

/* Whose name it is. */
struct owner {
	struct site *site;
	int64_t distribution, entry_point; /* 0: its own */
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

/* Does METADATA give another name than that with which the directory's begins? */
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
