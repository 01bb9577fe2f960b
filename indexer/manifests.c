/*
 * Writes the files in which other hosts look for their plugins, and removes those that are no
 * longer right, as far as they are ours.
 */
#include "indexer/manifests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/safe_path.h"
#include "db/base/sha256.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "libquery/layout.h"
#include "libquery/load.h"

/* What a file says: malloc'd; NULL: no memory. */
typedef char *content_function(const entrydb_entry_point *plugin, const char *object);

static content_function adbc_content, opencl_content;

struct manifests_host {
	const char *name, *kind, *directory, *suffix;
	content_function *content;
};

static const struct manifests_host hosts[] = {
        {"adbc", "adbc", "etc/adbc/drivers", ".toml", adbc_content},
        {"opencl", "opencl", "etc/OpenCL/vendors", ".icd", opencl_content},
};

#define HOST_COUNT (sizeof(hosts) / sizeof(*hosts))

const char manifests_hosts[] = "adbc or opencl";

/* A file that is on the list, or is to be. */
struct manifest {
	char *name;
	char *content;                    /* NULL: it is not wanted any more */
	char listed[SHA256_HEX_SIZE + 1]; /* what the list says of it; empty: it is not there */
	char wanted[SHA256_HEX_SIZE + 1]; /* of the content; empty: it is not ours to write */
};

/* What one directory is brought up to date with. */
struct work {
	const struct options *options;
	const struct manifests_host *host;
	const char *prefix, *sysroot, *database;
	int fd; /* of the directory */
	struct manifest *items;
	size_t count, room;
	struct manifests_result *result;
	struct error *error;
};

const struct manifests_host *manifests_find(const char *name)
{
	for (size_t i = 0; i < HOST_COUNT; i++)
		if (strcmp(hosts[i].name, name) == 0)
			return &hosts[i];
	return NULL;
}

static void cleanup_work(struct work *work)
{
	for (size_t i = 0; i < work->count; i++) {
		free(work->items[i].name);
		free(work->items[i].content);
	}
	free(work->items);
	if (work->fd >= 0)
		close(work->fd);
}

/* The one of that name, begun if there is none; NULL without memory. */
static struct manifest *manifest_of(struct work *work, struct slice name)
{
	struct manifest *item;

	for (size_t i = 0; i < work->count; i++)
		if (slice_equal(slice_of(work->items[i].name), name))
			return &work->items[i];
	if (!array_grow(&work->items, work->count, sizeof(*work->items), &work->room))
		return NULL;
	item = &work->items[work->count];
	*item = (struct manifest){.name = strndup(name.ptr, name.len)};
	work->count += item->name != NULL;
	return item->name ? item : NULL;
}

static void hash_of(struct slice content, char to[SHA256_HEX_SIZE + 1])
{
	uint8_t digest[SHA256_SIZE];

	sha256_of(content.ptr, content.len, digest);
	sha256_hex(digest, to);
}

/* --- what the files say --- */

/* A basic string of TOML; what it cannot hold as it is, is escaped. */
static void put_string(FILE *stream, const char *key, const char *text)
{
	fprintf(stream, "%s = \"", key);
	for (const unsigned char *at = (const unsigned char *)(text ? text : ""); *at; at++) {
		if (*at == '"' || *at == '\\')
			fprintf(stream, "\\%c", *at);
		else if (*at < ' ' || *at == 0x7f)
			fprintf(stream, "\\u%04x", *at);
		else
			putc(*at, stream);
	}
	fputs("\"\n", stream);
}

/* https://arrow.apache.org/adbc/current/format/driver_manifests.html */
static char *adbc_content(const entrydb_entry_point *plugin, const char *object)
{
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return NULL;
	fputs("# Written by entrydb, which keeps it current unless it is changed.\n"
	      "manifest_version = 1\n",
	      stream);
	put_string(stream, "name", entrydb_entry_point_distribution(plugin));
	put_string(stream, "version", entrydb_entry_point_version(plugin));
	fputs("\n[Driver]\n", stream);
	put_string(stream, "entrypoint", entrydb_entry_point_attr(plugin));
	put_string(stream, "shared", object);
	return text_close(stream, &text) ? text : NULL;
}

/* The path alone, in one line: nothing else is allowed. */
static char *opencl_content(const entrydb_entry_point *plugin, const char *object)
{
	(void)plugin;
	return text_format("%s\n", object);
}

/* --- which files --- */

/* A name comes from a package, and becomes one of a file. */
static bool is_plain(struct slice name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                              "0123456789-_+.";

	for (size_t i = 0; i < name.len; i++)
		if (!memchr(letters, name.ptr[i], sizeof(letters) - 1))
			return false;
	return name.len > 0 && name.len <= MANIFEST_NAME_MAX && name.ptr[0] != '.';
}

/* The path as hosts see it is without the sysroot. Of plugins of one name the first counts. */
static int want(struct work *work, const entrydb_entry_point *plugin, const char *object)
{
	const char *name = entrydb_entry_point_name(plugin);
	CLEANUP(cleanup_free) char *file = text_format("%s%s", name, work->host->suffix);
	struct slice sysroot = slice_of(work->sysroot);
	struct manifest *item;

	if (strchr(object, '\n') ||
	    !is_plain(slice_of(name))) /* a manifest has one line for the path */
		return 0;
	item = file ? manifest_of(work, slice_of(file)) : NULL;
	if (item && !item->content)
		item->content = work->host->content(
		        plugin,
		        object + (slice_starts(slice_of(object), sysroot) ? sysroot.len : 0));
	if (!item || !item->content)
		return error_nomem(work->error);
	hash_of(slice_of(item->content), item->wanted);
	return 0;
}

/*
 * Other programs, root's among them, load what a manifest names without a question: it is
 * written only for what this process would load itself.
 */
static int want_one(struct work *work, entrydb *db, const entrydb_entry_point *plugin)
{
	CLEANUP(cleanup_free) char *object = NULL;
	struct error own = {0};
	int code = load_check(db, plugin, &object, &own);

	if (code < 0 && !error_is_failure(code) && !work->options->hook)
		message("no manifest for '%s': %s", entrydb_entry_point_name(plugin),
		        error_text(&own));
	return code < 0 ? error_move_failure(work->error, &own) : want(work, plugin, object);
}

static int collect_wanted(struct work *work)
{
	entrydb_options how = ENTRYDB_OPTIONS_INIT;
	entrydb_error own = ENTRYDB_ERROR_INIT;
	entrydb_set *set = NULL;
	entrydb *db = NULL;
	int code;

	code = entrydb_open_file(work->database, &how, &db, &own);
	if (code == 0)
		code = entrydb_plugins(db, work->host->kind, NULL, &set, &own);
	if (code < 0)
		take_error(code, &own, work->error);
	for (size_t i = 0; code == 0 && i < entrydb_set_count(set); i++)
		code = want_one(work, db, entrydb_set_get(set, i));
	entrydb_set_free(set);
	entrydb_close(db);
	return code;
}

/* --- files --- */

/* 1: the bytes of the file, malloc'd; 0: there is none, or none of ours; or a failure. */
static int read_file(const struct work *work, const char *name, size_t limit, char **out,
                     size_t *length)
{
	CLEANUP(cleanup_close) int fd = safe_openat(work->fd, name, O_RDONLY | O_NONBLOCK, 0);
	int code = small_file_read_fd(fd, name, limit + 1, out, length, work->error);

	return code > 0 ? *length <= limit : code;
}

static int write_file(const struct work *work, const char *name, const char *content)
{
	if (small_file_write(work->fd, name, slice_of(content), 0644) == 0)
		return 0;
	return error_errno(work->error, errno, "cannot write %s/%s/%s", work->prefix,
	                   work->host->directory, name);
}

/* Write it, or remove what was written for a plugin that is gone, unless others wrote it. */
static int settle(struct work *work, struct manifest *item)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	char hash[SHA256_HEX_SIZE + 1] = "";
	size_t length = 0;
	int code = read_file(work, item->name, MANIFEST_MAX, &bytes, &length);
	bool is_there = code > 0 || faccessat(work->fd, item->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	bool is_ours;

	if (code < 0)
		return code;
	if (code > 0)
		hash_of((struct slice){bytes, length}, hash);
	is_ours = code > 0 && strcmp(hash, item->listed) == 0;
	if (!item->content) {
		if (is_ours && unlinkat(work->fd, item->name, 0) != 0)
			return error_errno(work->error, errno, "cannot remove %s", item->name);
		work->result->removed += is_ours;
	} else if (code > 0 && strcmp(hash, item->wanted) == 0) {
		work->result->unchanged++;
	} else if (is_there && !is_ours) {
		if (!work->options->hook)
			message("%s/%s/%s: left alone, since it was not written by entrydb, or was "
			        "changed",
			        work->prefix, work->host->directory, item->name);
		work->result->foreign++;
		item->wanted[0] = '\0'; /* it is taken off the list, too */
	} else {
		work->result->written++;
		return write_file(work, item->name, item->content);
	}
	return 0;
}

/* --- the list --- */

/*
 * A line: the hash, a space, the name. Others are passed over. 1: there is a list; 0: there is
 * none; or a failure.
 */
static int read_list(struct work *work)
{
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length = 0;
	int code = read_file(work, MANIFESTS_LIST, MANIFESTS_LIST_MAX, &text, &length);

	for (struct slice rest = {text, length}; code > 0 && rest.len > 0;) {
		struct slice line = slice_take_line(&rest);
		struct slice name = slice_from(line, SHA256_HEX_SIZE + 1);
		struct manifest *item;

		if (line.len <= SHA256_HEX_SIZE + 1 || line.ptr[SHA256_HEX_SIZE] != ' ' ||
		    !is_plain(name))
			continue;
		item = manifest_of(work, name);
		if (!item)
			return error_nomem(work->error);
		if (!item->listed[0])
			memcpy(item->listed, line.ptr, SHA256_HEX_SIZE);
	}
	return code;
}

static int write_list(const struct work *work)
{
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return error_nomem(work->error);
	fputs("# Files that entrydb keeps current here; remove this list to end that.\n", stream);
	for (size_t i = 0; i < work->count; i++)
		if (work->items[i].wanted[0])
			fprintf(stream, "%s %s\n", work->items[i].wanted, work->items[i].name);
	if (!text_close(stream, &text))
		return error_nomem(work->error);
	return write_file(work, MANIFESTS_LIST, text);
}

/* --- the whole --- */

/* A user's own database, and one that --db names, may describe anything. */
static bool has_prefix(const struct database *database)
{
	return database->may_replace && layout_is_of_prefix(database->file);
}

/* Without @begin, a missing directory or list means that no manifests are kept. */
static int bring_up_to_date(struct work *work, bool begin)
{
	CLEANUP(cleanup_free)
	char *path = text_format("%s/%s", work->prefix, work->host->directory);
	int code;

	if (!path)
		return error_nomem(work->error);
	code = safe_directory_open(path, work->sysroot, begin ? SAFE_CREATE : SAFE_EXISTING,
	                           &work->fd, work->error);
	if (code == ERROR_NOTFOUND && !begin) {
		error_clear(work->error);
		return 0;
	}
	if (code == 0)
		code = read_list(work);
	if (code < 0 || (code == 0 && !begin))
		return code;
	code = collect_wanted(work);
	for (size_t i = 0; code == 0 && i < work->count; i++)
		code = settle(work, &work->items[i]);
	return code < 0 ? code : write_list(work);
}

int manifests_write(const struct options *options, const struct database *database,
                    const struct manifests_host *host, bool begin, struct manifests_result *result,
                    struct error *error)
{
	CLEANUP(cleanup_free) char *prefix = layout_base(database->file);
	CLEANUP(cleanup_work)
	struct work work = {
	        .options = options,
	        .host = host,
	        .prefix = prefix,
	        .sysroot = database->sysroot,
	        .database = database->file,
	        .fd = -1,
	        .result = result,
	        .error = error,
	};
	int code;

	if (!prefix)
		return error_nomem(error);
	if (!has_prefix(database))
		return error_set(error, ERROR_INVALID,
		                 "%s: it belongs to no prefix in which hosts would look",
		                 database->file);
	code = database_check_owner(database, error);
	return code == 0 ? bring_up_to_date(&work, begin) : code;
}

/* Usually there is no list. Whether it is ours is checked when it is opened. */
void manifests_follow(const struct options *options, const struct database *database)
{
	CLEANUP(cleanup_free) char *prefix = layout_base(database->file);

	for (size_t i = 0; prefix && i < HOST_COUNT && has_prefix(database); i++) {
		CLEANUP(cleanup_free)
		char *list = text_format("%s/%s/%s", prefix, hosts[i].directory, MANIFESTS_LIST);
		struct manifests_result result = {0};
		struct error error = {0};

		if (!list || access(list, F_OK) != 0)
			continue;
		if (manifests_write(options, database, &hosts[i], false, &result, &error) < 0)
			message("%s", error_text(&error));
		error_clear(&error);
	}
}
