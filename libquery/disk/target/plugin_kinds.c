/*
 * plugin_kinds.c - matches shared objects with the kinds of plugins that a text describes.
 */
#include "libquery/disk/target/plugin_kinds.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/hash.h"
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "libquery/disk/elf/object_name.h"

#define NO_BYTE 256 /* of the lists by first byte: patterns that begin with their star */

/* before*after, or, without a star, before alone. */
struct pattern {
	struct slice before, after;
	bool has_star;
};

/* A symbol of a rule. */
struct wanted_symbol {
	struct pattern pattern;
	uint16_t rule;
	uint8_t number;   /* within the rule: its bit; the first is what a host looks up */
	uint16_t another; /* with the same first byte: one more than its index, or 0 */
};

/* A line "symbol". */
struct rule {
	size_t kind;
	uint32_t all, none; /* bits of its symbols: those to be there, those not to be */
};

struct kind {
	struct slice name;
	struct slice files, names; /* the values of its lines; null for none */
	bool is_replaced;          /* by a later one of the same name */
};

struct plugin_kinds {
	struct arena arena;
	int64_t digest;
	struct kind kinds[PLUGIN_RULES_MAX];
	struct rule rules[PLUGIN_RULES_MAX];
	struct wanted_symbol symbols[PLUGIN_SYMBOLS_MAX];
	size_t kind_count, rule_count, symbol_count;
	uint16_t by_byte[NO_BYTE + 1]; /* the first of each list: one more than its index, or 0 */
};

struct plugin_kinds *plugin_kinds_create(void)
{
	return calloc(1, sizeof(struct plugin_kinds));
}

void plugin_kinds_free(struct plugin_kinds *kinds)
{
	if (!kinds)
		return;
	arena_free(&kinds->arena);
	free(kinds);
}

int64_t plugin_kinds_digest(const struct plugin_kinds *kinds)
{
	return kinds->digest;
}

/* --- patterns --- */

static struct pattern pattern_of(struct slice text)
{
	const char *star = text.len ? memchr(text.ptr, '*', text.len) : NULL;

	if (!star)
		return (struct pattern){.before = text};
	return (struct pattern){
	        .before = slice_between(text.ptr, star),
	        .after = slice_between(star + 1, text.ptr + text.len),
	        .has_star = true,
	};
}

/* Is @text like that, and what does the star stand for? Nothing is not enough. */
static bool is_like(const struct pattern *pattern, struct slice text, struct slice *star)
{
	size_t fixed = pattern->before.len + pattern->after.len;

	if (!pattern->has_star) {
		*star = text;
		return slice_equal(text, pattern->before);
	}
	if (text.len <= fixed || !slice_starts(text, pattern->before) ||
	    !slice_ends(text, pattern->after))
		return false;
	*star = slice_first(slice_from(text, pattern->before.len), text.len - fixed);
	return true;
}

/* The next word of *text, which is moved behind it; false where there is none. */
static bool next_word(struct slice *text, struct slice *word)
{
	size_t begin = 0, end;

	if (text->len == 0) /* it may be null */
		return false;
	while (begin < text->len && text->ptr[begin] == ' ')
		begin++;
	for (end = begin; end < text->len && text->ptr[end] != ' ';)
		end++;
	*word = slice_first(slice_from(*text, begin), end - begin);
	*text = slice_from(*text, end);
	return word->len > 0;
}

/* --- reading the text --- */

static int too_many(size_t number, struct error *error)
{
	return error_set(error, ERROR_LIMIT, "line %zu: too many kinds, lines or symbols", number);
}

static size_t list_of(const struct pattern *pattern)
{
	return pattern->before.len ? (unsigned char)pattern->before.ptr[0] : NO_BYTE;
}

static bool add_symbol(struct plugin_kinds *kinds, struct slice word, size_t number)
{
	struct wanted_symbol *symbol = &kinds->symbols[kinds->symbol_count];
	struct rule *rule = &kinds->rules[kinds->rule_count];
	bool is_against = slice_starts(word, SLICE("!"));
	uint16_t *first;

	if (kinds->symbol_count == PLUGIN_SYMBOLS_MAX || number == PLUGIN_RULE_SYMBOLS)
		return false;
	*(is_against ? &rule->none : &rule->all) |= (uint32_t)1 << number;
	symbol->pattern = pattern_of(slice_from(word, is_against));
	symbol->rule = (uint16_t)kinds->rule_count;
	symbol->number = (uint8_t)number;
	first = &kinds->by_byte[list_of(&symbol->pattern)];
	symbol->another = *first;
	*first = (uint16_t)++kinds->symbol_count;
	return true;
}

/* "first second !not" */
static int add_rule(struct plugin_kinds *kinds, size_t kind, const struct entry_points_line *line,
                    struct error *error)
{
	struct slice rest = line->value, word;
	size_t number = 0;

	if (kinds->rule_count == PLUGIN_RULES_MAX)
		return too_many(line->number, error);
	kinds->rules[kinds->rule_count] = (struct rule){.kind = kind};
	while (next_word(&rest, &word))
		if (!add_symbol(kinds, word, number++))
			return too_many(line->number, error);
	if (!(kinds->rules[kinds->rule_count].all & 1))
		return error_set(error, ERROR_FORMAT, "line %zu: no symbol to be looked up",
		                 line->number);
	kinds->rule_count++;
	return 0;
}

/* The kind called @name among those from number @first on; SIZE_MAX: there is none. */
static size_t find_kind(const struct plugin_kinds *kinds, struct slice name, size_t first)
{
	for (size_t i = first; i < kinds->kind_count; i++)
		if (slice_equal(kinds->kinds[i].name, name))
			return i;
	return SIZE_MAX;
}

static size_t make_kind(struct plugin_kinds *kinds, struct slice name)
{
	size_t old = find_kind(kinds, name, 0);

	if (kinds->kind_count == PLUGIN_RULES_MAX)
		return SIZE_MAX;
	while (old != SIZE_MAX) {
		kinds->kinds[old].is_replaced = true;
		old = find_kind(kinds, name, old + 1);
	}
	kinds->kinds[kinds->kind_count] = (struct kind){.name = name};
	return kinds->kind_count++;
}

static int add_line(struct plugin_kinds *kinds, size_t first, const struct entry_points_line *line,
                    struct error *error)
{
	size_t kind = find_kind(kinds, line->group, first);

	if (kind == SIZE_MAX)
		kind = make_kind(kinds, line->group);
	if (kind == SIZE_MAX)
		return too_many(line->number, error);
	if (slice_equal(line->name, SLICE("symbol")))
		return add_rule(kinds, kind, line, error);
	if (slice_equal(line->name, SLICE("file")))
		kinds->kinds[kind].files = line->value;
	else if (slice_equal(line->name, SLICE("name")))
		kinds->kinds[kind].names = line->value;
	else if (!slice_equal(line->name, SLICE("group")))
		return error_set(error, ERROR_FORMAT,
		                 "line %zu: '%.*s' is neither symbol nor file nor name nor group",
		                 line->number, (int)line->name.len, line->name.ptr);
	return 0;
}

static int add_lines(struct plugin_kinds *kinds, struct slice text, struct error *error)
{
	size_t first = kinds->kind_count;
	struct entry_points_txt txt;
	struct entry_points_line line;
	int code;

	entry_points_txt_begin(&txt, text);
	while ((code = entry_points_txt_next(&txt, &line, error)) > 0) {
		code = add_line(kinds, first, &line, error);
		if (code < 0)
			return code;
	}
	return code;
}

int plugin_kinds_add(struct plugin_kinds *kinds, struct slice text, struct error *error)
{
	CLEANUP(cleanup_free) struct plugin_kinds *next = NULL;
	uint64_t pair[2] = {(uint64_t)kinds->digest, hash_stable(text.ptr, text.len)};
	bool failed = false;
	int code;

	if (text.len > PLUGIN_KINDS_TEXT_MAX || !utf8_valid(text))
		return error_set(error, ERROR_FORMAT, "too long, or not valid UTF-8");
	text = arena_copy(&kinds->arena, text, &failed);
	next = failed ? NULL : malloc(sizeof(*next));
	if (!next)
		return error_nomem(error);
	*next = *kinds;
	code = add_lines(next, text, error);
	if (code < 0)
		return code;
	*kinds = *next;
	kinds->digest = (int64_t)(hash_numbers(pair, 2) | 1);
	return 0;
}

struct slice plugin_kinds_symbol_of(struct slice group)
{
	struct slice text = slice_of(plugin_kinds_text), symbols = {0}, symbol;
	struct entry_points_txt txt;
	struct entry_points_line line;
	bool is_of_group = false;

	if (!memmem(text.ptr, text.len, group.ptr, group.len)) /* as a rule */
		return (struct slice){0};
	entry_points_txt_begin(&txt, text);
	while (!is_of_group && entry_points_txt_next(&txt, &line, NULL) > 0) {
		if (slice_equal(line.name, SLICE("symbol")))
			symbols = line.value;
		is_of_group =
		        slice_equal(line.name, SLICE("group")) && slice_equal(line.value, group);
	}
	return is_of_group && next_word(&symbols, &symbol) ? symbol : (struct slice){0};
}

/* --- files --- */

/* "_x.cpython-312-x86_64-linux-gnu.so" and "_x.abi3.so" are for Python alone. */
static bool is_python_module(struct slice name)
{
	return memmem(name.ptr, name.len, ".cpython-", 9) || slice_ends(name, SLICE(".abi3.so"));
}

static bool is_library(struct slice name)
{
	return object_name_suffix(name) && !is_python_module(name);
}

/* Is @name like one of the words of @patterns, of those behind a ! if @against? */
static bool is_one_of(struct slice patterns, bool against, struct slice name, struct slice *star)
{
	struct slice word;

	while (next_word(&patterns, &word)) {
		bool excludes = slice_starts(word, SLICE("!"));
		struct pattern pattern = pattern_of(slice_from(word, excludes));

		if (excludes == against && is_like(&pattern, name, star))
			return true;
	}
	return false;
}

/* Does @patterns only exclude? */
static bool excludes_only(struct slice patterns)
{
	struct slice word;

	while (next_word(&patterns, &word))
		if (!slice_starts(word, SLICE("!")))
			return false;
	return true;
}

static bool may_be(const struct kind *kind, struct slice name)
{
	struct slice star;

	if (kind->is_replaced || is_one_of(kind->files, true, name, &star))
		return false;
	return excludes_only(kind->files) ? is_library(name)
	                                  : is_one_of(kind->files, false, name, &star);
}

bool plugin_kinds_want(const struct plugin_kinds *kinds, struct slice name)
{
	if (is_library(name))
		return true;
	for (size_t i = 0; i < kinds->kind_count; i++)
		if (!slice_is_null(kinds->kinds[i].files) && may_be(&kinds->kinds[i], name))
			return true;
	return false;
}

/* auditwheel puts a digest into the names of libraries: "libpocl-21062cec.so" is pocl's. */
#define DIGEST_LENGTH 9 /* with its hyphen */

static struct slice without_digest(struct slice name)
{
	struct slice end;

	if (name.len <= DIGEST_LENGTH)
		return name;
	end = slice_from(name, name.len - DIGEST_LENGTH);
	for (size_t i = 1; i < DIGEST_LENGTH; i++)
		if (!memchr("0123456789abcdef", end.ptr[i], 16))
			return name;
	return end.ptr[0] == '-' ? slice_first(name, name.len - DIGEST_LENGTH) : name;
}

/* Without "lib" and suffix. */
static struct slice stem_of(struct slice name)
{
	size_t suffix = object_name_suffix(name);
	const char *dot = memrchr(name.ptr, '.', name.len);

	if (suffix == 0 && dot)
		suffix = (size_t)(name.ptr + name.len - dot);
	name = without_digest(slice_first(name, name.len - suffix));
	return name.len > 3 && slice_starts(name, SLICE("lib")) ? slice_from(name, 3) : name;
}

/* --- matching --- */

void plugin_match_begin(struct plugin_match *match, const struct plugin_kinds *kinds,
                        struct slice name)
{
	*match = (struct plugin_match){.kinds = kinds, .name = name};
	for (unsigned i = kinds->by_byte[NO_BYTE]; i && !match->asks_all;
	     i = kinds->symbols[i - 1].another)
		match->asks_all =
		        may_be(&kinds->kinds[kinds->rules[kinds->symbols[i - 1].rule].kind], name);
}

/*
 * Of several symbols that would do, the one that the file is called after: vec0.so exports
 * sqlite3_vec_init beside sqlite3_vec_numpy_init. Then the shorter one, then by its bytes.
 */
static bool is_better(const struct plugin_match *match, const struct pattern *pattern,
                      struct slice symbol, struct slice other)
{
	struct slice star, other_star;
	bool named, other_named;

	if (slice_is_null(other))
		return true;
	is_like(pattern, symbol, &star);
	is_like(pattern, other, &other_star);
	named = memmem(match->name.ptr, match->name.len, star.ptr, star.len) != NULL;
	other_named =
	        memmem(match->name.ptr, match->name.len, other_star.ptr, other_star.len) != NULL;
	if (named != other_named)
		return named;
	if (symbol.len != other.len)
		return symbol.len < other.len;
	return slice_compare(symbol, other) < 0;
}

static void note_symbol(struct plugin_match *match, const struct wanted_symbol *wanted,
                        struct slice symbol)
{
	struct slice star;

	if (!is_like(&wanted->pattern, symbol, &star))
		return;
	match->found[wanted->rule] |= (uint32_t)1 << wanted->number;
	if (wanted->number == 0 &&
	    is_better(match, &wanted->pattern, symbol, match->first[wanted->rule]))
		match->first[wanted->rule] = symbol;
}

static void note_in_list(struct plugin_match *match, size_t list, struct slice symbol)
{
	const struct plugin_kinds *kinds = match->kinds;

	for (unsigned i = kinds->by_byte[list]; i; i = kinds->symbols[i - 1].another)
		note_symbol(match, &kinds->symbols[i - 1], symbol);
}

void plugin_match_symbol(struct plugin_match *match, struct slice symbol)
{
	if (symbol.len == 0)
		return;
	note_in_list(match, (unsigned char)symbol.ptr[0], symbol);
	if (match->asks_all)
		note_in_list(match, NO_BYTE, symbol);
}

static bool is_met(const struct plugin_match *match, size_t number)
{
	const struct rule *rule = &match->kinds->rules[number];
	uint32_t found = match->found[number];

	return (found & rule->all) == rule->all && !(found & rule->none) &&
	       may_be(&match->kinds->kinds[rule->kind], match->name);
}

/* Has a rule before that one made it a plugin of the same kind? */
static bool is_known(const struct plugin_match *match, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (match->kinds->rules[i].kind == match->kinds->rules[number].kind &&
		    is_met(match, i))
			return true;
	return false;
}

/* The pattern of the symbol that a rule's host looks up. */
static const struct pattern *first_pattern(const struct plugin_kinds *kinds, size_t rule)
{
	for (size_t i = 0; i < kinds->symbol_count; i++)
		if (kinds->symbols[i].rule == rule && kinds->symbols[i].number == 0)
			return &kinds->symbols[i].pattern;
	return NULL;
}

static struct slice name_of(const struct plugin_match *match, size_t rule, struct slice symbol)
{
	const struct plugin_kinds *kinds = match->kinds;
	struct slice names = kinds->kinds[kinds->rules[rule].kind].names;
	struct slice stem = stem_of(match->name), star;
	const struct pattern *pattern = first_pattern(kinds, rule);

	if (slice_equal(names, SLICE("symbol")) && pattern && is_like(pattern, symbol, &star))
		return star;
	return is_one_of(names, false, stem, &star) ? star : stem;
}

bool plugin_match_next(const struct plugin_match *match, size_t *at, struct plugin_found *out)
{
	const struct plugin_kinds *kinds = match->kinds;

	while (*at < kinds->rule_count) {
		size_t rule = (*at)++;

		if (!is_met(match, rule) || is_known(match, rule))
			continue;
		out->kind = kinds->kinds[kinds->rules[rule].kind].name;
		out->symbol = match->first[rule];
		out->name = name_of(match, rule, out->symbol);
		return true;
	}
	return false;
}
