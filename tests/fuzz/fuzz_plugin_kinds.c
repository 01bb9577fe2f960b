/*
 * fuzz_plugin_kinds.c - the input is a site's definitions of plugin kinds, a NUL, the name of a
 * file, and its symbols, each followed by a newline. Every match is one of the symbols, and
 * matching ends.
 */
#include <stdint.h>
#include <stdlib.h>

#include "libquery/disk/target/plugin_kinds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct slice take_line(struct slice *rest)
{
	const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
	struct slice line = end ? slice_between(rest->ptr, end) : *rest;

	*rest = slice_from(*rest, line.len + (end ? 1 : 0));
	return line;
}

static void match(const struct plugin_kinds *kinds, struct slice rest)
{
	static struct plugin_match found;
	struct slice name = take_line(&rest);
	struct plugin_found plugin;
	size_t at = 0, count = 0;

	plugin_match_begin(&found, kinds, name);
	while (rest.len > 0)
		plugin_match_symbol(&found, take_line(&rest));
	while (plugin_match_next(&found, &at, &plugin))
		if (plugin.symbol.len == 0 || slice_is_null(plugin.kind) ||
		    slice_is_null(plugin.name) || ++count > PLUGIN_RULES_MAX)
			abort();
	plugin_kinds_want(kinds, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + !size);
	struct plugin_kinds *kinds = plugin_kinds_create();
	const char *nul;
	struct slice text = {copy, size}, rest = SLICE("");

	if (!kinds)
		abort();
	if (size > 0)
		memcpy(copy, data, size);
	nul = size ? memchr(copy, '\0', size) : NULL;
	if (nul) {
		text = slice_between(copy, nul);
		rest = slice_between(nul + 1, copy + size);
	}
	if (plugin_kinds_add(kinds, text, NULL) == 0 && plugin_kinds_digest(kinds) == 0)
		abort();
	match(kinds, rest);
	plugin_kinds_free(kinds);
	free(copy);
	return 0;
}
