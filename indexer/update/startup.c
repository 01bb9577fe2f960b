/*
 * startup.c - reads start-up code as CPython's Lib/site.py does, in addpackage() and
 * execsitecustomize().
 *
 * Older interpreters end lines at "\n" only, newer ones as str.splitlines() does. Here a line ends
 * where any of them ends it, so that code which only some of them run is found; and a .pth file
 * with a hidden name counts, which interpreters before 3.12.2 read.
 */
#include "indexer/update/startup.h"

#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/unicode.h"
#include "libquery/disk/metadata/pth.h"

/* --- files --- */

/* "sitecustomize" as a package, source, or any other form that import accepts. */
static bool is_module(struct slice name, struct slice module)
{
	return slice_starts(name, module) &&
	       (name.len == module.len || slice_equal(slice_from(name, module.len), SLICE(".py")) ||
	        slice_equal(slice_from(name, module.len), SLICE(".pyc")) ||
	        (name.ptr[module.len] == '.' && slice_ends(name, SLICE(".so"))));
}

bool startup_is_module(struct slice name)
{
	return is_module(name, SLICE("sitecustomize")) || is_module(name, SLICE("usercustomize"));
}

static bool kind_of(struct slice name, enum startup_kind *out)
{
	if (startup_is_module(name))
		*out = STARTUP_MODULE;
	else if (slice_ends(name, SLICE(".pth")))
		*out = STARTUP_IMPORT;
	else if (slice_ends(name, SLICE(".start")) && !slice_starts(name, SLICE(".")))
		*out = STARTUP_ENTRY;
	else
		return false;
	return true;
}

static bool is_file(struct slice name)
{
	enum startup_kind kind;

	return kind_of(name, &kind);
}

/* --- lines --- */

struct reading {
	struct root_record *out;
	struct startup_record next; /* of the current file */
	struct error *error;
};

/* The capacity is the next power of two. */
static int keep(struct reading *reading, struct slice code)
{
	struct root_record *out = reading->out;
	size_t count = out->startup_count;
	struct startup_record *rows = out->startups;

	if (count == STARTUPS_MAX)
		return error_set(reading->error, ERROR_LIMIT, "more than %u lines of start-up code",
		                 STARTUPS_MAX);
	if ((count & (count - 1)) == 0)
		rows = arena_calloc(&out->arena, count ? 2 * count : 1, sizeof(*rows));
	if (!rows)
		return error_nomem(reading->error);
	if (rows != out->startups && count > 0)
		memcpy(rows, out->startups, count * sizeof(*rows));
	reading->next.code =
	        slice_first(code, code.len > STARTUP_CODE_MAX ? STARTUP_CODE_MAX : code.len);
	rows[count] = reading->next;
	out->startups = rows;
	out->startup_count++;
	return 0;
}

static bool is_code(struct slice line, enum startup_kind kind)
{
	if (kind == STARTUP_IMPORT)
		return slice_starts(line, SLICE("import ")) ||
		       slice_starts(line, SLICE("import\t"));
	line = unicode_strip(line);
	return line.len > 0 && line.ptr[0] != '#';
}

static int read_line(void *payload, size_t number, struct slice line)
{
	struct reading *reading = payload;

	reading->next.line = (int64_t)number;
	return is_code(line, reading->next.kind) ? keep(reading, unicode_strip(line)) : 0;
}

/* A file that is too large to read is recorded, too. */
static int keep_unread(struct reading *reading, struct error *why)
{
	bool failed = false;
	struct slice code = arena_copy(&reading->out->arena, slice_of(error_text(why)), &failed);

	if (error_is_failure(why->code))
		return error_move(reading->error, why);
	error_clear(why);
	reading->next.line = 0;
	return failed ? error_nomem(reading->error) : keep(reading, code);
}

static int read_file(struct tree *tree, struct reading *reading)
{
	struct tree_request request = {reading->next.file, "", STARTUP_FILE_MAX, false};
	struct slice text = {0};
	struct error why = {0};
	int code = tree_read(tree, &request, &reading->out->arena, &text, &why);

	if (tree->withheld) {
		tree->withheld = false;
		error_clear(&why);
		return 0;
	}
	if (code < 0)
		return keep_unread(reading, &why);
	if (text.len > TREE_KEPT_MAX - tree->kept)
		return error_set(reading->error, ERROR_LIMIT,
		                 "more than %zu bytes of start-up code", TREE_KEPT_MAX);
	tree->kept += text.len;
	return pth_read(text, true, read_line, reading);
}

static int read_all(struct tree *tree, const struct path_index *files, struct root_record *out,
                    struct error *error)
{
	struct reading reading = {.out = out, .error = error};
	int code = 0;

	for (size_t i = 0; code == 0 && i < files->count; i++) {
		reading.next = (struct startup_record){.file = files->paths[i]};
		kind_of(reading.next.file, &reading.next.kind);
		code = reading.next.kind == STARTUP_MODULE ? keep(&reading, SLICE(""))
		                                           : read_file(tree, &reading);
	}
	return code;
}

const struct scan_startup startup_scan = {is_file, read_all};
