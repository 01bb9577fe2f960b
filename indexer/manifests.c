/*
 * Writes the files in which other hosts look for their plugins, and removes those that are no
 * longer right, as far as they are ours.
 */
#include "indexer/manifests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/sha256.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "libquery/layout.h"
#include "libquery/load.h"

/* What a file says: malloc'd; NULL: no memory. */
typedef char *content_function(const entrydb_entry_point *plugin, const char *object);

static content_function adbc_content, opencl_content;

static const struct host {
	const char *name, *kind, *directory, *suffix;
	content_function *content;
} hosts[] = {
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
	const struct host *host;
	const char *prefix, *sysroot, *database;
	int fd; /* of the directory */
	struct manifest *items;
	size_t count, room;
	struct manifests_result *result;
	struct error *error;
};

static const struct host *find_host(const char *name)
{
	for (size_t i = 0; i < HOST_COUNT; i++)
		if (strcmp(hosts[i].name, name) == 0)
			return &hosts[i];
	return NULL;
}

bool manifests_know(const char *host)
{
	return find_host(host) != NULL;
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
static bool is_plain(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                             "0123456789-_+.");

	return length > 0 && length <= MANIFEST_NAME_MAX && name[length] == '\0' && name[0] != '.';
}

/* The path as hosts see it, without the sysroot; NULL: one line of text cannot hold it. */
static const char *object_path(const struct work *work, const char *absolute)
{
	size_t sysroot = work->sysroot ? strlen(work->sysroot) : 0;

	if (strchr(absolute, '\n'))
		return NULL;
	return strncmp(absolute, work->sysroot ? work->sysroot : "", sysroot) == 0
	               ? absolute + sysroot
	               : absolute;
}

/* The first on the path counts. */
static int want(struct work *work, const entrydb_entry_point *plugin, const char *path)
{
	CLEANUP(cleanup_free) char *name = NULL;
	const char *object = object_path(work, path);
	struct manifest *item;

	if (!object || !is_plain(entrydb_entry_point_name(plugin)))
		return 0;
	name = text_format("%s%s", entrydb_entry_point_name(plugin), work->host->suffix);
	item = name ? manifest_of(work, slice_of(name)) : NULL;
	if (!item)
		return error_nomem(work->error);
	if (item->content)
		return 0;
	item->content = work->host->content(plugin, object);
	if (!item->content)
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
	if (code < 0)
		return error_move_failure(work->error, &own);
	return want(work, plugin, object);
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
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct stat status;
	ssize_t got;

	if (fd < 0 || fstat(fd, &status) != 0)
		return errno_is_failure(errno) ? error_errno(work->error, errno, "%s", name) : 0;
	if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > limit)
		return 0;
	bytes = malloc(limit + 1);
	if (!bytes)
		return error_nomem(work->error);
	got = file_read(fd, bytes, limit);
	if (got < 0)
		return error_errno(work->error, errno, "cannot read %s", name);
	*length = (size_t)got;
	*out = take(bytes);
	return 1;
}

static int write_file(const struct work *work, const char *name, const char *content)
{
	if (small_file_write(work->fd, name, slice_of(content), 0644) == 0)
		return 0;
	return error_errno(work->error, errno, "cannot write %s/%s/%s", work->prefix,
	                   work->host->directory, name);
}

/* The foreign one is taken off the list, too. */
static void leave(struct work *work, struct manifest *item)
{
	if (!work->options->hook)
		message("%s/%s/%s: left alone, since it was not written by entrydb, or was changed",
		        work->prefix, work->host->directory, item->name);
	work->result->foreign++;
	item->wanted[0] = '\0';
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
		leave(work, item);
	} else {
		work->result->written++;
		return write_file(work, item->name, item->content);
	}
	return 0;
}

/* --- the list --- */

/* A line: the hash, a space, the name. Others are passed over. */
static int read_line(struct work *work, struct slice line)
{
	char name[MANIFEST_NAME_MAX + 1];
	struct slice rest = slice_from(line, SHA256_HEX_SIZE + 1);
	struct manifest *item;

	if (line.len <= SHA256_HEX_SIZE + 1 || line.ptr[SHA256_HEX_SIZE] != ' ' ||
	    rest.len > MANIFEST_NAME_MAX)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)rest.len, rest.ptr);
	if (!is_plain(name))
		return 0;
	item = manifest_of(work, slice_of(name));
	if (!item)
		return error_nomem(work->error);
	if (!item->listed[0])
		memcpy(item->listed, line.ptr, SHA256_HEX_SIZE);
	return 0;
}

/* 1: there is a list; 0: there is none; or a failure. */
static int read_list(struct work *work)
{
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length = 0;
	int code = read_file(work, MANIFESTS_LIST, MANIFESTS_LIST_MAX, &text, &length);

	for (struct slice rest = {text, length}; code > 0 && rest.len > 0;) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		struct slice line = end ? slice_between(rest.ptr, end) : rest;

		if (read_line(work, line) < 0)
			return ERROR_NOMEM;
		rest = slice_from(rest, line.len + (end != NULL));
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

/* Without @begin, a missing directory or list means that no manifests are kept. */
static int bring_up_to_date(struct work *work, bool begin)
{
	CLEANUP(cleanup_free)
	char *path = text_format("%s/%s", work->prefix, work->host->directory);
	int code =
	        path ? safe_directory_open(path, work->sysroot, begin ? SAFE_CREATE : SAFE_EXISTING,
	                                   &work->fd, work->error)
	             : error_nomem(work->error);

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

/* A user's own database, and one that --db names, may describe anything. */
static bool has_prefix(const struct database *database)
{
	return database->may_replace && layout_is_of_prefix(database->file);
}

int manifests_write(const struct options *options, const struct database *database,
                    const char *host, bool begin, struct manifests_result *result,
                    struct error *error)
{
	CLEANUP(cleanup_free) char *prefix = layout_base(database->file);
	CLEANUP(cleanup_work)
	struct work work = {
	        .options = options,
	        .host = find_host(host),
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
		if (manifests_write(options, database, hosts[i].name, false, &result, &error) < 0)
			message("%s", error_text(&error));
		error_clear(&error);
	}
}
