/*
 * module_text.c - see module_text.h.
 *
 * A statement is at the module's level unless a def or a class that begins a line is above
 * it, with less indentation: so the parts of a try or an if count, as they mostly run.
 */
#include "indexer/verbs/module_text.h"

#include <ctype.h>

/* Where the reading of a text stands. */
struct reading {
	const char *at, *end;
	size_t line;
	size_t depth;       /* of brackets: a statement goes on in the next line */
	bool begins;        /* nothing of this statement has been read yet */
	bool is_indented;   /* this statement is */
	bool in_definition; /* what is indented now belongs to a def or a class */
	bool in_import;     /* this statement is import ... or from ... */
	struct slice host, attr;
	struct module_facts facts;
};

static bool is_name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* --- what is skipped --- */

static bool is_triple(const struct reading *reading)
{
	return reading->end - reading->at >= 3 && reading->at[1] == reading->at[0] &&
	       reading->at[2] == reading->at[0];
}

/* A string, from its quotation mark on; one that is not closed ends with its line, or the text. */
static void skip_string(struct reading *reading)
{
	char quote = *reading->at;
	bool triple = is_triple(reading);

	reading->at += triple ? 3 : 1;
	for (; reading->at < reading->end; reading->at++) {
		if (*reading->at == '\\' && reading->end - reading->at > 1)
			reading->at++;
		else if (*reading->at == quote && (!triple || is_triple(reading)))
			break;
		else if (*reading->at == '\n' && !triple)
			return;
		reading->line += *reading->at == '\n';
	}
	if (reading->at < reading->end)
		reading->at += triple ? 3 : 1;
}

static void skip_comment(struct reading *reading)
{
	while (reading->at < reading->end && *reading->at != '\n')
		reading->at++;
}

/* --- names --- */

static bool runs_at_import(const struct reading *reading)
{
	return !(reading->is_indented && reading->in_definition);
}

static bool is_word(struct slice name, const char *word)
{
	return slice_equal(name, slice_of(word));
}

/* The first name of a statement tells what it is. */
static void begin_statement(struct reading *reading, struct slice name)
{
	bool defines = is_word(name, "def") || is_word(name, "class") || is_word(name, "async");

	reading->in_import = is_word(name, "import") || is_word(name, "from");
	if (!reading->is_indented)
		reading->in_definition = defines;
	reading->begins = false;
}

static void note_name(struct reading *reading, struct slice name)
{
	struct module_facts *facts = &reading->facts;

	if (is_word(name, "__getattr__") || is_word(name, "globals") || is_word(name, "setattr"))
		facts->may_have_any = true;
	if (!runs_at_import(reading))
		return;
	if (slice_equal(name, reading->attr) && !facts->has_attr)
		facts->has_attr = reading->line;
	if (reading->in_import && slice_equal(name, reading->host) && !facts->imports_host)
		facts->imports_host = reading->line;
}

/* With a dot before it, it is a part of another's: from .torch import x. */
static void read_name(struct reading *reading, bool after_dot)
{
	const char *start = reading->at;
	struct slice name;

	while (reading->at < reading->end && is_name_character(*reading->at))
		reading->at++;
	name = slice_between(start, reading->at);
	if (reading->begins)
		begin_statement(reading, name);
	if (!after_dot)
		note_name(reading, name);
}

/* --- the text --- */

static void end_line(struct reading *reading)
{
	reading->line++;
	reading->at++;
	if (reading->depth > 0)
		return;
	reading->begins = true;
	reading->in_import = false;
	reading->is_indented =
	        reading->at < reading->end && (*reading->at == ' ' || *reading->at == '\t');
}

static void read_other(struct reading *reading)
{
	char c = *reading->at++;

	if (c == '(' || c == '[' || c == '{')
		reading->depth++;
	else if ((c == ')' || c == ']' || c == '}') && reading->depth > 0)
		reading->depth--;
	else if (c == '*' && reading->in_import)
		reading->facts.may_have_any = true;
	else if (c == '\\' && reading->at < reading->end && *reading->at == '\n') {
		reading->at++;
		reading->line++;
	}
}

struct module_facts module_text_read(struct slice text, struct slice host, struct slice attr)
{
	const char *start = text.len ? text.ptr : "";
	struct reading reading = {
	        .at = start,
	        .end = start + text.len,
	        .line = 1,
	        .begins = true,
	        .host = host,
	        .attr = attr,
	};
	char before = '\0';

	reading.is_indented = *start == ' ' || *start == '\t';
	while (reading.at < reading.end) {
		char c = *reading.at;

		if (c == '\n')
			end_line(&reading);
		else if (c == '#')
			skip_comment(&reading);
		else if (c == '"' || c == '\'')
			skip_string(&reading);
		else if (is_name_character(c))
			read_name(&reading, before == '.');
		else
			read_other(&reading);
		before = c;
	}
	return reading.facts;
}
