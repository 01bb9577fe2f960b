/*
 * site_kinds.c - the kinds of plugins that this machine knows besides the built-in ones.
 */
#include "libquery/site_kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "db/base/trust.h"

/* 1: the text of the file at @path, malloc'd; 0: there is none; or why it is not to be had. */
static int read_text(const char *path, struct slice *out, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path, 0);
	CLEANUP(cleanup_free) char *text = NULL;
	struct stat status;
	ssize_t length;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "%s", path);
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_FORMAT, "%s: not a file", path);
	if (trust_of(fd, &status, TRUST_NO_OTHER) != TRUST_BELIEVED)
		return error_set(error, ERROR_PERMISSION,
		                 "%s: not believed: others than root and you could have written it",
		                 path);
	text = malloc(PLUGIN_KINDS_TEXT_MAX + 1);
	if (!text)
		return error_nomem(error);
	length = file_read(fd, text, PLUGIN_KINDS_TEXT_MAX + 1);
	if (length < 0)
		return error_errno(error, errno, "%s", path);
	*out = (struct slice){take(text), (size_t)length};
	return 1;
}

static int add_file(struct plugin_kinds *kinds, const char *path, struct error *error)
{
	CLEANUP(cleanup_free) char *owned = NULL;
	struct slice text = {0};
	struct error own = {0};
	int code = read_text(path, &text, error);

	owned = (char *)text.ptr;
	if (code <= 0)
		return code;
	code = plugin_kinds_add(kinds, text, &own);
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
