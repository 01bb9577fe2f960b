/*
 * setup_cfg.c - see setup_cfg.h.
 *
 * Source distributions that carry no entry_points.txt and no [project] table
 * still come with this file, whose format is what one parser makes of it. The
 * steps here are those of configparser.RawConfigParser._read() and, below, of
 * setuptools' handling of the options, in their order.
 */
#include "indexer/archive/setup_cfg.h"

#include <stdint.h>
#include <stdlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/text.h"
#include "db/base/unicode.h"

#define INTERPOLATION_DEPTH 10                /* as in configparser */
#define INTERPOLATIONS_MAX  ((size_t)1 << 16) /* references followed in one file */
#define EXPANDED_MAX        ((size_t)4 << 20) /* bytes of all values after interpolation */

struct option {
	struct slice section, name, value;
};

/* A file while it is read. */
struct config {
	struct arena *arena;
	struct error *error;
	struct option *options;
	size_t count, room;
	struct name_map seen; /* "section NUL option" -> its index; "section NUL" */
	char *values;         /* room for all values; the one in work is the last */
	size_t length;
	size_t number;        /* of the line */
	struct slice section; /* null before the first */
	size_t indent;        /* of the last option or section */
	bool in_option;
	size_t references, expanded; /* so far */
};

static int bad_line(struct config *config, const char *problem)
{
	return error_set(config->error, ERROR_FORMAT, "line %zu: %s", config->number, problem);
}

/* --- lines --- */

/* Universal newlines: no other character ends a line here. */
static struct slice take_line(struct slice *rest)
{
	size_t n = 0;
	struct slice line;

	while (n < rest->len && rest->ptr[n] != '\n' && rest->ptr[n] != '\r')
		n++;
	line = slice_first(*rest, n);
	if (n + 1 < rest->len && rest->ptr[n] == '\r' && rest->ptr[n + 1] == '\n')
		n++;
	*rest = slice_from(*rest, n < rest->len ? n + 1 : n);
	return line;
}

/* How many characters of white space @line begins with. */
static size_t indent_of(struct slice line)
{
	const char *at = line.ptr, *end = at + line.len;
	size_t count = 0;

	while (at < end && unicode_is_space(utf8_next(&at, end)))
		count++;
	return count;
}

static bool is_comment(struct slice stripped)
{
	return stripped.len > 0 && (stripped.ptr[0] == '#' || stripped.ptr[0] == ';');
}

/* --- values --- */

static struct option *last_option(struct config *config)
{
	return &config->options[config->count - 1];
}

/* Each line adds at most its own length and a newline to the values. */
static void append(struct config *config, struct slice text)
{
	memcpy(config->values + config->length, text.ptr, text.len);
	config->length += text.len;
	last_option(config)->value.len += text.len;
}

static void end_option(struct config *config)
{
	struct slice *value, stripped;

	if (config->count == 0)
		return;
	value = &last_option(config)->value;
	stripped = unicode_strip(*value);
	value->len = stripped.len ? (size_t)(stripped.ptr + stripped.len - value->ptr) : 0;
}

static int begin_option(struct config *config, struct slice name, struct slice value)
{
	if (!array_grow(&config->options, config->count, sizeof(*config->options), &config->room))
		return error_nomem(config->error);
	config->options[config->count++] = (struct option){
	        .section = config->section,
	        .name = name,
	        .value = {config->values + config->length, 0},
	};
	config->in_option = true;
	append(config, value);
	return 0;
}

/* --- sections and options --- */

/* The key of @name in @section, or of @section itself where @name is empty. */
static struct slice key_of(struct config *config, struct slice section, struct slice name)
{
	char *key = arena_alloc(config->arena, section.len + 1 + name.len);

	if (!key)
		return (struct slice){0};
	memcpy(key, section.ptr, section.len);
	key[section.len] = '\0';
	if (name.len > 0)
		memcpy(key + section.len + 1, name.ptr, name.len);
	return (struct slice){key, section.len + 1 + name.len};
}

/* Has @section, or the option that comes next in it, been there before? */
static int seen_before(struct config *config, struct slice section, struct slice name)
{
	struct slice key = key_of(config, section, name);
	size_t before = config->seen.count;
	bool failed = slice_is_null(key);

	if (!failed)
		name_map_put(&config->seen, key, (uint32_t)config->count, &failed);
	if (failed)
		return error_nomem(config->error);
	return config->seen.count == before;
}

/* "[" some characters "]", whatever follows: the last "]" counts. */
static bool match_section(struct slice line, struct slice *header)
{
	const char *end = line.ptr[0] == '[' ? memrchr(line.ptr, ']', line.len) : NULL;

	if (!end || end < line.ptr + 2)
		return false;
	*header = slice_between(line.ptr + 1, end);
	return true;
}

static int read_section(struct config *config, struct slice header)
{
	int seen = slice_equal(header, SLICE("DEFAULT"))
	                   ? 0
	                   : seen_before(config, header, (struct slice){0});

	end_option(config);
	config->section = header;
	config->in_option = false;
	if (seen > 0)
		return bad_line(config, "duplicate section");
	return seen;
}

static const char *find_delimiter(struct slice line)
{
	for (size_t i = 0; i < line.len; i++)
		if (line.ptr[i] == '=' || line.ptr[i] == ':')
			return line.ptr + i;
	return NULL;
}

static int read_option(struct config *config, struct slice line)
{
	const char *delimiter = find_delimiter(line);
	struct slice name, value;
	int seen;

	if (!delimiter)
		return bad_line(config, "neither a section nor an option");
	name = unicode_strip(slice_between(line.ptr, delimiter));
	value = unicode_strip(slice_between(delimiter + 1, line.ptr + line.len));
	if (name.len == 0)
		return bad_line(config, "an option without a name");
	seen = seen_before(config, config->section, name);
	if (seen > 0)
		return bad_line(config, "duplicate option");
	end_option(config);
	return seen < 0 ? seen : begin_option(config, name, value);
}

static int read_line(struct config *config, struct slice line)
{
	struct slice stripped = unicode_strip(line), header;
	size_t indent = indent_of(line);

	if (is_comment(stripped))
		return 0;
	if (stripped.len == 0) {
		if (config->in_option)
			append(config, SLICE("\n"));
		return 0;
	}
	if (config->in_option && indent > config->indent) {
		append(config, SLICE("\n"));
		append(config, stripped);
		return 0;
	}
	config->indent = indent;
	if (match_section(stripped, &header))
		return read_section(config, header);
	if (slice_is_null(config->section))
		return bad_line(config, "not in any section");
	return read_option(config, stripped);
}

static int read_lines(struct config *config, struct slice text)
{
	int code = 0;

	if (!utf8_valid(text))
		return error_set(config->error, ERROR_FORMAT, "not valid UTF-8");
	config->values = arena_alloc(config->arena, 2 * text.len + 1);
	if (!config->values)
		return error_nomem(config->error);
	while (code == 0 && text.len > 0) {
		config->number++;
		code = read_line(config, take_line(&text));
	}
	end_option(config);
	return code;
}

/* --- interpolation --- */

static const struct option *get_option(struct config *config, struct slice section,
                                       struct slice name)
{
	struct slice key = key_of(config, section, name);
	uint32_t at = slice_is_null(key) ? NAME_MAP_NONE : name_map_get(&config->seen, key);

	return at == NAME_MAP_NONE ? NULL : &config->options[at];
}

/* An option of @section, or of DEFAULT; NULL if there is none. */
static const struct option *find_option(struct config *config, struct slice section,
                                        struct slice name)
{
	const struct option *option = get_option(config, section, name);

	return option ? option : get_option(config, SLICE("DEFAULT"), name);
}

/* A value while it is put together. */
struct expansion {
	struct config *config;
	struct slice section;
	char *bytes;
	size_t length, room;
};

static int expand(struct expansion *expansion, struct slice value, int depth);

static int put(struct expansion *expansion, struct slice text)
{
	size_t need = expansion->length + text.len;

	expansion->config->expanded += text.len;
	if (expansion->config->expanded > EXPANDED_MAX)
		return error_set(expansion->config->error, ERROR_LIMIT,
		                 "the values expand to more than %zu bytes", EXPANDED_MAX);
	if (need >= expansion->room) {
		char *bytes = realloc(expansion->bytes, expansion->room = 2 * need + 64);

		if (!bytes)
			return error_nomem(expansion->config->error);
		expansion->bytes = bytes;
	}
	memcpy(expansion->bytes + expansion->length, text.ptr, text.len);
	expansion->length = need;
	return 0;
}

static int bad_value(struct expansion *expansion, const char *problem)
{
	return error_set(expansion->config->error, ERROR_FORMAT, "[%.*s]: %s",
	                 (int)expansion->section.len, expansion->section.ptr, problem);
}

/* "%(name)s" at the beginning of *rest, which is moved behind it. */
static int expand_reference(struct expansion *expansion, struct slice *rest, int depth)
{
	const char *end = memchr(rest->ptr, ')', rest->len);
	const struct option *option;
	struct slice name;

	if (!end || end + 1 == rest->ptr + rest->len || end[1] != 's' || end == rest->ptr + 2)
		return bad_value(expansion, "bad interpolation");
	expansion->config->references++;
	name = slice_between(rest->ptr + 2, end);
	*rest = slice_between(end + 2, rest->ptr + rest->len);
	option = find_option(expansion->config, expansion->section, name);
	if (!option)
		return bad_value(expansion, "reference to an option that does not exist");
	return expand(expansion, option->value, depth + 1);
}

static int expand(struct expansion *expansion, struct slice rest, int depth)
{
	int code = 0;

	if (depth > INTERPOLATION_DEPTH || expansion->config->references > INTERPOLATIONS_MAX)
		return bad_value(expansion, "references are nested too deeply");
	while (code == 0 && rest.len > 0) {
		const char *percent = memchr(rest.ptr, '%', rest.len);
		struct slice plain = percent ? slice_between(rest.ptr, percent) : rest;

		code = put(expansion, plain);
		rest = slice_from(rest, plain.len);
		if (code < 0 || !percent)
			return code;
		if (rest.len > 1 && rest.ptr[1] == '%') {
			code = put(expansion, SLICE("%"));
			rest = slice_from(rest, 2);
		} else if (rest.len > 1 && rest.ptr[1] == '(') {
			code = expand_reference(expansion, &rest, depth);
		} else {
			code = bad_value(expansion, "'%' must be followed by '%' or '('");
		}
	}
	return code;
}

static int interpolate(struct config *config, struct slice section, struct slice value,
                       struct slice *out)
{
	struct expansion expansion = {.config = config, .section = section};
	bool failed = false;
	int code;

	if (value.len == 0 || !memchr(value.ptr, '%', value.len)) {
		*out = value;
		return 0;
	}
	code = expand(&expansion, value, 1);
	if (code == 0)
		*out = arena_copy(
		        config->arena,
		        (struct slice){expansion.bytes ? expansion.bytes : "", expansion.length},
		        &failed);
	free(expansion.bytes);
	return failed ? error_nomem(config->error) : code;
}

/* --- what setuptools makes of it --- */

/* The items of a value: its lines or, if there is just one, what commas part. */
static bool next_item(struct slice *rest, bool lines, struct slice *out)
{
	while (rest->len > 0) {
		const char *at = rest->ptr, *end = at + rest->len, *next = at;

		while (at < end) {
			uint32_t c = utf8_next(&next, end);

			if (lines ? unicode_is_line_break(c) : c == ',')
				break;
			at = next;
		}
		*out = unicode_strip(slice_between(rest->ptr, at));
		*rest = slice_from(*rest, (size_t)(next - rest->ptr));
		if (out->len > 0)
			return true;
	}
	return false;
}

static int write_group(FILE *stream, struct config *config, const struct option *option)
{
	struct slice value, item;
	bool lines;
	int code = interpolate(config, SLICE("options.entry_points"), option->value, &value);

	if (code < 0)
		return code;
	lines = value.len > 0 && memchr(value.ptr, '\n', value.len) != NULL;
	fputc('[', stream);
	fwrite(option->name.ptr, 1, option->name.len, stream);
	fputs("]\n", stream);
	while (next_item(&value, lines, &item)) {
		fwrite(item.ptr, 1, item.len, stream);
		fputc('\n', stream);
	}
	return 0;
}

/* Options of DEFAULT count in every section, unless the section has its own. */
static bool counts_in(struct config *config, const struct option *option, struct slice section)
{
	if (slice_equal(option->section, section))
		return true;
	return slice_equal(option->section, SLICE("DEFAULT")) &&
	       find_option(config, section, option->name) == option;
}

/* [options.entry_points]: an option is a group. */
static int read_groups(struct config *config, struct setup_cfg *out)
{
	CLEANUP(cleanup_free) char *text = NULL;
	size_t size, count = 0;
	bool failed = false;
	int code = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return error_nomem(config->error);
	for (size_t i = 0; code == 0 && i < config->count; i++) {
		const struct option *option = &config->options[i];

		if (!counts_in(config, option, SLICE("options.entry_points")))
			continue;
		code = write_group(stream, config, option);
		count++;
	}
	if (!text_close(stream, &text))
		return error_nomem(config->error);
	if (code == 0 && count > 0)
		out->entry_points = arena_copy(config->arena, (struct slice){text, size}, &failed);
	return failed ? error_nomem(config->error) : code;
}

/* [options] entry_points: "file:" and names, or the text itself. */
static int read_value(struct config *config, struct setup_cfg *out)
{
	const struct option *option = find_option(config, SLICE("options"), SLICE("entry_points"));
	struct slice value;
	int code;

	if (!option)
		option = find_option(config, SLICE("options"), SLICE("entry-points"));
	if (!option)
		return 0;
	code = interpolate(config, SLICE("options"), option->value, &value);
	if (code < 0 || value.len == 0)
		return code;
	if (slice_starts(value, SLICE("file:")))
		out->files = slice_from(value, sizeof("file:") - 1);
	else
		out->entry_points = value;
	return 0;
}

static bool has_section(struct config *config, struct slice section)
{
	struct slice key = key_of(config, section, (struct slice){0});

	return !slice_is_null(key) && name_map_get(&config->seen, key) != NAME_MAP_NONE;
}

/* Is [options] before [options.entry_points]? The first of the two that says anything counts. */
static bool value_is_first(const struct config *config)
{
	for (size_t i = 0; i < config->count; i++) {
		if (slice_equal(config->options[i].section, SLICE("options")))
			return true;
		if (slice_equal(config->options[i].section, SLICE("options.entry_points")))
			return false;
	}
	return true;
}

static int read_options(struct config *config, struct setup_cfg *out)
{
	bool value_first = value_is_first(config);
	int code = 0;

	if (value_first && has_section(config, SLICE("options")))
		code = read_value(config, out);
	if (code == 0 && slice_is_null(out->entry_points) && slice_is_null(out->files) &&
	    has_section(config, SLICE("options.entry_points")))
		code = read_groups(config, out);
	if (code == 0 && !value_first && slice_is_null(out->entry_points))
		code = read_value(config, out);
	return code;
}

int setup_cfg_read(struct slice text, struct arena *arena, struct setup_cfg *out,
                   struct error *error)
{
	struct config config = {.arena = arena, .error = error};
	struct setup_cfg result = {0};
	int code = read_lines(&config, text);

	if (code == 0)
		code = read_options(&config, &result);
	if (code == 0)
		*out = result;
	free(config.options);
	name_map_free(&config.seen);
	return code;
}

bool setup_cfg_next_file(struct slice *files, struct slice *out)
{
	return next_item(files, false, out);
}
