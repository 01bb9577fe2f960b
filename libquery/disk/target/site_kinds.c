/*
 * site_kinds.c - the kinds of plugins that this machine knows besides the built-in ones.
 */
#include "libquery/disk/target/site_kinds.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "db/base/trust.h"

static int add_file(struct plugin_kinds *kinds, const char *path, struct error *error)
{
	CLEANUP(cleanup_free) char *text = NULL;
	struct error own = {0};
	size_t len = 0;
	int code = small_file_read_trusted(path, PLUGIN_KINDS_TEXT_MAX + 1, TRUST_NO_OTHER, &text,
	                                   &len, error);

	if (code <= 0)
		return code;
	code = plugin_kinds_add(kinds, (struct slice){text, len}, &own);
	if (code < 0)
		error_set(error, code, "%s: %s", path, error_text(&own));
	error_clear(&own);
	return code;
}

int site_kinds_load(const char *sysroot, struct plugin_kinds **out, struct error *problem,
                    struct error *error)
{
	CLEANUP(cleanup_plugin_kinds) struct plugin_kinds *kinds = plugin_kinds_create();
	CLEANUP(cleanup_free)
	char *path = text_format("%s%s", sysroot ? sysroot : "", SITE_KINDS_FILE);
	struct error own = {0};
	int code;

	if (!kinds || !path)
		return error_nomem(error);
	code = plugin_kinds_add(kinds, slice_of(plugin_kinds_text), error);
	if (code < 0)
		return code;
	code = add_file(kinds, path, &own);
	if (error_is_failure(code))
		return error_move(error, &own);
	if (code < 0 && problem)
		error_move(problem, &own);
	error_clear(&own);
	*out = take(kinds);
	return 0;
}
