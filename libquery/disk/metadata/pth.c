/*
 * pth.c - reads .pth files as CPython's Lib/site.py does, in addsitedir() and addpackage().
 */
#include "libquery/disk/metadata/pth.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/arena.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/text.h"
#include "db/base/unicode.h"
#include "libquery/disk/tree/path_index.h"

#define BYTE_ORDER_MARK SLICE("\xef\xbb\xbf")

struct walk {
	const char *directory, *site;
	struct readers readers;
	pth_each *each;
	void *payload;
	struct error *error;
};

/* --- the files --- */

static bool is_pth(struct slice name)
{
	return slice_ends(name, SLICE(".pth")) && name.ptr[0] != '.';
}

/* --- the lines --- */

static struct slice next_line(struct slice *text, bool everywhere)
{
	const char *begin = text->ptr, *at = begin, *end = begin + text->len, *stop = begin;
	bool ended = false;
	uint32_t point;

	while (at < end && !ended) {
		stop = at;
		point = utf8_next(&at, end);
		ended = everywhere ? unicode_is_line_break(point) : point == '\n' || point == '\r';
	}
	if (!ended)
		stop = at;
	if (ended && *stop == '\r' && at < end && *at == '\n')
		at++;
	*text = slice_between(at, end);
	return slice_between(begin, stop);
}

int pth_read(struct slice text, bool everywhere, pth_line *each, void *payload)
{
	int code = 0;

	if (slice_starts(text, BYTE_ORDER_MARK))
		text = slice_from(text, BYTE_ORDER_MARK.len);
	for (size_t number = 1; code == 0 && text.len > 0; number++)
		code = each(payload, number, next_line(&text, everywhere));
	return code;
}

static int give_line(void *payload, size_t number, struct slice line)
{
	const struct walk *walk = payload;
	CLEANUP(cleanup_free) char *path = NULL;

	(void)number;
	while (line.len > 0 && strchr(" \t\f\v", line.ptr[line.len - 1]))
		line.len--;
	if (line.len == 0 || line.ptr[0] == '#' || slice_starts(line, SLICE("import ")) ||
	    slice_starts(line, SLICE("import\t")) || memchr(line.ptr, '\0', line.len))
		return 0; /* code, a comment, or blank */
	if (line.ptr[0] == '/')
		path = strndup(line.ptr, line.len);
	else
		path = text_format("%s/%.*s", walk->site, (int)line.len, line.ptr);
	if (!path)
		return error_nomem(walk->error);
	return walk->each(walk->payload, path_normalize(path));
}

static int give_file(struct walk *walk, const char *name)
{
	CLEANUP(cleanup_free) char *path = text_format("%s/%s", walk->directory, name);
	CLEANUP(cleanup_free) char *text = NULL;
	CLEANUP(cleanup_close) int fd = -1;
	size_t len = 0;
	int code;

	if (!path)
		return error_nomem(walk->error);
	fd = file_open_for(walk->readers, AT_FDCWD, path);
	code = small_file_read_fd(fd, path, PTH_FILE_MAX, &text, &len, walk->error);
	return code > 0 ? pth_read((struct slice){text, len}, false, give_line, walk) : code;
}

int pth_walk(const char *directory, const char *site, struct readers readers, pth_each *each,
             void *payload, struct error *error)
{
	struct walk walk = {directory, site, readers, each, payload, error};
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	CLEANUP(path_index_free) struct path_index names = {0};
	CLEANUP(cleanup_closedir) DIR *opened = file_open_directory(AT_FDCWD, directory);
	int code = path_index_list(&names, opened, directory, is_pth, &arena, error);

	for (size_t i = 0; code == 0 && i < names.count; i++)
		code = give_file(&walk, names.paths[i].ptr);
	return code;
}
