/*
 * plugin_kinds.c - matches shared objects with kinds of plugins.
 */
#include "libquery/disk/target/plugin_kinds.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/hash.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "libquery/disk/elf/object_name.h"

#define NO_BYTE 256 /* the list of patterns that start with their star */

/* "before*after", or, without a star, "before". */
struct pattern {
	struct slice before, after;
	bool has_star;
};

/* A symbol of a rule. */
struct wanted_symbol {
	struct pattern pattern;
	uint16_t rule;
	uint8_t number;   /* its bit within the rule; the first is what a host looks up */
	uint16_t another; /* the next with the same first byte: its index + 1, or 0 */
};

/* A "symbol" line. */
struct rule {
	size_t kind, first; /* of its symbols */
	uint32_t all, none; /* bits of required and of excluded symbols */
};

struct kind {
	struct slice name;
	struct slice files, names; /* values of its lines "file" and "name"; null for none */
	bool is_limited;           /* to some names of files, not only by "!" */
	bool is_replaced;          /* by a later kind of the same name */
};

struct plugin_kinds {
	struct arena arena;
	int64_t digest;
	struct kind kinds[PLUGIN_RULES_MAX];
	struct rule rules[PLUGIN_RULES_MAX];
	struct wanted_symbol symbols[PLUGIN_SYMBOLS_MAX];
	size_t kind_count, rule_count, symbol_count;
	uint16_t by_byte[NO_BYTE + 1]; /* the first symbol by first byte: its index + 1, or 0 */
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
	size_t len = text.len;
	struct slice before = slice_take(&text, '*');

	return (struct pattern){before, text, before.len < len};
}

/* Does @text match, and what does the star match? It must not match nothing. */
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

/* Take the next word off *text; false if there is none. */
static bool next_word(struct slice *text, struct slice *word)
{
	*word = (struct slice){0};
	while (word->len == 0 && text->len > 0) /* it may be null */
		*word = slice_take(text, ' ');
	return word->len > 0;
}

/* --- reading the text --- */

static int too_many(const struct entry_points_line *line, struct error *error)
{
	return error_set(error, ERROR_LIMIT, "line %zu: too many kinds, lines or symbols",
	                 line->number);
}

/* "first second !not" */
static int add_rule(struct plugin_kinds *kinds, size_t kind, const struct entry_points_line *line,
                    struct error *error)
{
	struct rule rule = {.kind = kind, .first = kinds->symbol_count};
	struct slice rest = line->value, word;

	if (kinds->rule_count == PLUGIN_RULES_MAX)
		return too_many(line, error);
	while (next_word(&rest, &word)) {
		struct wanted_symbol *symbol = &kinds->symbols[kinds->symbol_count];
		size_t number = kinds->symbol_count - rule.first;
		bool is_against = slice_starts(word, SLICE("!"));
		uint16_t *list;

		if (kinds->symbol_count == PLUGIN_SYMBOLS_MAX || number == PLUGIN_RULE_SYMBOLS)
			return too_many(line, error);
		*(is_against ? &rule.none : &rule.all) |= (uint32_t)1 << number;
		symbol->pattern = pattern_of(slice_from(word, is_against));
		symbol->rule = (uint16_t)kinds->rule_count;
		symbol->number = (uint8_t)number;
		word = symbol->pattern.before;
		list = &kinds->by_byte[word.len ? (unsigned char)word.ptr[0] : NO_BYTE];
		symbol->another = *list;
		*list = (uint16_t)++kinds->symbol_count;
	}
	if (!(rule.all & 1))
		return error_set(error, ERROR_FORMAT, "line %zu: no symbol to look up",
		                 line->number);
	kinds->rules[kinds->rule_count++] = rule;
	return 0;
}

static void limit(struct kind *kind, struct slice files)
{
	struct slice word;

	kind->files = files;
	kind->is_limited = false;
	while (next_word(&files, &word))
		kind->is_limited |= !slice_starts(word, SLICE("!"));
}

/* @first: the number of the first kind in this text. */
static int add_line(struct plugin_kinds *kinds, size_t first, const struct entry_points_line *line,
                    struct error *error)
{
	size_t kind = first;

	while (kind < kinds->kind_count && !slice_equal(kinds->kinds[kind].name, line->group))
		kind++;
	if (kind == PLUGIN_RULES_MAX)
		return too_many(line, error);
	if (kind == kinds->kind_count) {
		for (size_t i = 0; i < first; i++)
			kinds->kinds[i].is_replaced |=
			        slice_equal(kinds->kinds[i].name, line->group);
		kinds->kinds[kinds->kind_count++] = (struct kind){.name = line->group};
	}
	if (slice_equal(line->name, SLICE("symbol")))
		return add_rule(kinds, kind, line, error);
	if (slice_equal(line->name, SLICE("file")))
		limit(&kinds->kinds[kind], line->value);
	else if (slice_equal(line->name, SLICE("name")))
		kinds->kinds[kind].names = line->value;
	else if (!slice_equal(line->name, SLICE("group")))
		return error_set(error, ERROR_FORMAT,
		                 "line %zu: '%.*s' is neither symbol nor file nor name nor group",
		                 line->number, (int)line->name.len, line->name.ptr);
	return 0;
}

int plugin_kinds_add(struct plugin_kinds *kinds, struct slice text, struct error *error)
{
	CLEANUP(cleanup_free) struct plugin_kinds *next = NULL;
	uint64_t pair[2] = {(uint64_t)kinds->digest, hash_stable(text.ptr, text.len)};
	struct entry_points_txt txt;
	struct entry_points_line line;
	bool failed = false;
	int code;

	if (text.len > PLUGIN_KINDS_TEXT_MAX || !utf8_valid(text))
		return error_set(error, ERROR_FORMAT, "too long, or not valid UTF-8");
	text = arena_copy(&kinds->arena, text, &failed);
	next = failed ? NULL : malloc(sizeof(*next));
	if (!next)
		return error_nomem(error);
	*next = *kinds;
	entry_points_txt_begin(&txt, text);
	while ((code = entry_points_txt_next(&txt, &line, error)) > 0) {
		code = add_line(next, kinds->kind_count, &line, error);
		if (code < 0)
			return code;
	}
	if (code < 0)
		return code;
	*kinds = *next;
	kinds->digest = (int64_t)(hash_numbers(pair, 2) | 1);
	return 0;
}

int plugin_kinds_load(const char *sysroot, struct plugin_kinds **out, struct error *problem,
                      struct error *error)
{
	CLEANUP(cleanup_plugin_kinds) struct plugin_kinds *kinds = plugin_kinds_create();
	CLEANUP(cleanup_free)
	char *path = text_format("%s%s", sysroot ? sysroot : "", PLUGIN_KINDS_FILE);
	CLEANUP(cleanup_free) char *text = NULL;
	CLEANUP(error_clear) struct error own = {0}, why = {0};
	size_t len = 0;
	int code;

	if (!kinds || !path)
		return error_nomem(error);
	code = plugin_kinds_add(kinds, slice_of(plugin_kinds_text), error);
	if (code < 0)
		return code;
	code = small_file_read_trusted(path, PLUGIN_KINDS_TEXT_MAX + 1, TRUST_NO_OTHER, &text, &len,
	                               &own);
	if (code > 0 && plugin_kinds_add(kinds, (struct slice){text, len}, &why) < 0)
		code = error_set(&own, why.code, "%s: %s", path, error_text(&why));
	if (error_is_failure(code))
		return error_move(error, &own);
	if (code < 0 && problem)
		error_move(problem, &own);
	*out = take(kinds);
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

/* "_x.cpython-312-x86_64-linux-gnu.so" and "_x.abi3.so" are Python extensions. */
static bool is_library(struct slice name)
{
	return object_name_suffix(name) && !memmem(name.ptr, name.len, ".cpython-", 9) &&
	       !slice_ends(name, SLICE(".abi3.so"));
}

static bool may_be(const struct kind *kind, struct slice name)
{
	struct slice rest = kind->files, word, star;
	bool is_wanted = false;

	while (next_word(&rest, &word)) {
		bool is_against = slice_starts(word, SLICE("!"));
		struct pattern pattern = pattern_of(slice_from(word, is_against));
		bool matches = is_like(&pattern, name, &star);

		if (is_against && matches)
			return false;
		is_wanted |= matches;
	}
	return !kind->is_replaced && (kind->is_limited ? is_wanted : is_library(name));
}

bool plugin_kinds_want(const struct plugin_kinds *kinds, struct slice name)
{
	if (is_library(name))
		return true;
	for (size_t i = 0; i < kinds->kind_count; i++)
		if (kinds->kinds[i].is_limited && may_be(&kinds->kinds[i], name))
			return true;
	return false;
}

#define DIGEST_DIGITS 8

/*
 * Strip "lib", the suffix, and the digest that auditwheel adds to names of libraries:
 * "libpocl-21062cec.so" becomes "pocl".
 */
static struct slice stem_of(struct slice name)
{
	size_t suffix = object_name_suffix(name), digits = 0;
	const char *dot = memrchr(name.ptr, '.', name.len);

	if (suffix == 0 && dot)
		suffix = (size_t)(name.ptr + name.len - dot);
	name.len -= suffix;
	while (digits < name.len && memchr("0123456789abcdef", name.ptr[name.len - 1 - digits], 16))
		digits++;
	if (digits == DIGEST_DIGITS && name.len > digits + 1 &&
	    name.ptr[name.len - 1 - digits] == '-')
		name.len -= digits + 1;
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
 * Of several matching symbols prefer the one that the file is named after: vec0.so exports
 * sqlite3_vec_init and sqlite3_vec_numpy_init. Then the shorter one, then by bytes.
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

static void note_in_list(struct plugin_match *match, size_t list, struct slice symbol)
{
	const struct wanted_symbol *wanted;
	struct slice star;

	for (unsigned i = match->kinds->by_byte[list]; i; i = wanted->another) {
		wanted = &match->kinds->symbols[i - 1];
		if (!is_like(&wanted->pattern, symbol, &star))
			continue;
		match->found[wanted->rule] |= (uint32_t)1 << wanted->number;
		if (wanted->number == 0 &&
		    is_better(match, &wanted->pattern, symbol, match->first[wanted->rule]))
			match->first[wanted->rule] = symbol;
	}
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

/* Did an earlier rule already match the same kind? */
static bool is_known(const struct plugin_match *match, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (match->kinds->rules[i].kind == match->kinds->rules[number].kind &&
		    is_met(match, i))
			return true;
	return false;
}

static struct slice name_of(const struct plugin_match *match, size_t rule)
{
	const struct plugin_kinds *kinds = match->kinds;
	const struct pattern *symbol = &kinds->symbols[kinds->rules[rule].first].pattern;
	struct slice names = kinds->kinds[kinds->rules[rule].kind].names, word;
	struct slice stem = stem_of(match->name), star;

	if (slice_equal(names, SLICE("symbol")) && is_like(symbol, match->first[rule], &star))
		return star;
	while (next_word(&names, &word)) {
		struct pattern pattern = pattern_of(word);

		if (!slice_starts(word, SLICE("!")) && is_like(&pattern, stem, &star))
			return star;
	}
	return stem;
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
		out->name = name_of(match, rule);
		return true;
	}
	return false;
}
