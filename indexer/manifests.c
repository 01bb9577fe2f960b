/*
 * manifests.c - see manifests.h.
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
#include "db/base/text.h"
#include "libquery/layout.h"
#include "libquery/load.h"

#define PART_SUFFIX ".entrydb-part" /* of a file while it is written */

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

/* A file that was written, or is to be. */
struct manifest {
	char *name, *content; /* content: NULL of one that is only listed */
	char hash[SHA256_HEX_SIZE + 1];
};

struct manifests {
	struct manifest *items;
	size_t count, room;
};

/* What one directory is brought up to date with. */
struct work {
	const struct options *options;
	const struct host *host;
	const char *prefix, *sysroot, *database;
	bool begin;
	int fd;
	struct manifests listed, wanted;
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

static void manifests_free(struct manifests *manifests)
{
	for (size_t i = 0; i < manifests->count; i++) {
		free(manifests->items[i].name);
		free(manifests->items[i].content);
	}
	free(manifests->items);
}

static struct manifest *find_in(const struct manifests *manifests, const char *name)
{
	for (size_t i = 0; i < manifests->count; i++)
		if (strcmp(manifests->items[i].name, name) == 0)
			return &manifests->items[i];
	return NULL;
}

/* Both strings become the list's, also without memory for it. */
static bool add(struct manifests *manifests, char *name, char *content, const char *hash)
{
	struct manifest *item;

	if (!name || !array_grow(&manifests->items, manifests->count, sizeof(*manifests->items),
	                         &manifests->room)) {
		free(name);
		free(content);
		return false;
	}
	item = &manifests->items[manifests->count++];
	*item = (struct manifest){.name = name, .content = content};
	snprintf(item->hash, sizeof(item->hash), "%s", hash);
	return true;
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

static int want(struct work *work, const entrydb_entry_point *plugin, const char *path)
{
	CLEANUP(cleanup_free) char *name = NULL;
	const char *object = object_path(work, path);
	char hash[SHA256_HEX_SIZE + 1], *content;

	if (!object || !is_plain(entrydb_entry_point_name(plugin)))
		return 0;
	name = text_format("%s%s", entrydb_entry_point_name(plugin), work->host->suffix);
	if (!name)
		return error_nomem(work->error);
	if (find_in(&work->wanted, name))
		return 0; /* the first on the path counts */
	content = work->host->content(plugin, object);
	if (!content)
		return error_nomem(work->error);
	hash_of(slice_of(content), hash);
	return add(&work->wanted, take(name), content, hash) ? 0 : error_nomem(work->error);
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
static int read_file(const struct work *work, const char *name, size_t limit, struct slice *out)
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
	bytes[got] = '\0';
	*out = (struct slice){take(bytes), (size_t)got};
	return 1;
}

static int write_file(const struct work *work, const char *name, const char *content)
{
	CLEANUP(cleanup_free) char *part = text_format(".%s" PART_SUFFIX, name);
	CLEANUP(cleanup_close) int fd = -1;

	if (!part)
		return error_nomem(work->error);
	unlinkat(work->fd, part, 0); /* of a process that was killed */
	fd = safe_openat(work->fd, part, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || file_write(fd, content, strlen(content)) != 0 || fsync(fd) != 0 ||
	    fchmod(fd, 0644) != 0 || renameat(work->fd, part, work->fd, name) != 0) {
		int why = errno;

		unlinkat(work->fd, part, 0);
		return error_errno(work->error, why, "cannot write %s/%s/%s", work->prefix,
		                   work->host->directory, name);
	}
	return 0;
}

/* What stands under the name of one of ours. */
enum standing {
	STANDING_NONE,
	STANDING_OURS,    /* as it was written, and is to be replaced or removed */
	STANDING_RIGHT,   /* just what is to be written */
	STANDING_FOREIGN, /* somebody else's */
};

static int look_at(const struct work *work, const char *name, enum standing *out)
{
	const struct manifest *listed = find_in(&work->listed, name);
	const struct manifest *wanted = find_in(&work->wanted, name);
	CLEANUP(cleanup_free) char *owned = NULL;
	char hash[SHA256_HEX_SIZE + 1] = "";
	struct slice bytes = {0};
	int code = read_file(work, name, MANIFEST_MAX, &bytes);

	owned = (char *)bytes.ptr;
	if (code > 0)
		hash_of(bytes, hash);
	if (code == 0)
		*out = faccessat(work->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? STANDING_FOREIGN
		                                                                 : STANDING_NONE;
	else if (wanted && strcmp(hash, wanted->hash) == 0)
		*out = STANDING_RIGHT;
	else
		*out = listed && strcmp(hash, listed->hash) == 0 ? STANDING_OURS : STANDING_FOREIGN;
	return code < 0 ? code : 0;
}

/* The foreign one is taken off the list, too. */
static void leave(struct work *work, struct manifest *wanted)
{
	if (!work->options->hook)
		message("%s/%s/%s: left alone, since it was not written by entrydb, or was changed",
		        work->prefix, work->host->directory, wanted->name);
	work->result->foreign++;
	wanted->hash[0] = '\0';
}

static int put(struct work *work, struct manifest *wanted)
{
	enum standing standing;
	int code = look_at(work, wanted->name, &standing);

	if (code < 0)
		return code;
	if (standing == STANDING_FOREIGN) {
		leave(work, wanted);
		return 0;
	}
	if (standing == STANDING_RIGHT) {
		work->result->unchanged++;
		return 0;
	}
	work->result->written++;
	return write_file(work, wanted->name, wanted->content);
}

/* What was written for a plugin that is gone. */
static int remove_old(struct work *work, const struct manifest *listed)
{
	enum standing standing;
	int code =
	        find_in(&work->wanted, listed->name) ? 1 : look_at(work, listed->name, &standing);

	if (code != 0 || standing != STANDING_OURS)
		return code < 0 ? code : 0;
	if (unlinkat(work->fd, listed->name, 0) != 0)
		return error_errno(work->error, errno, "cannot remove %s", listed->name);
	work->result->removed++;
	return 0;
}

/* --- the list --- */

/* A line: the hash, a space, the name. Others are passed over. */
static int read_line(struct work *work, struct slice line)
{
	const size_t hash = 2 * SHA256_SIZE;
	char digits[SHA256_HEX_SIZE + 1];
	char *name;

	if (line.len <= hash + 1 || line.ptr[hash] != ' ')
		return 0;
	memcpy(digits, line.ptr, hash);
	digits[hash] = '\0';
	name = strndup(line.ptr + hash + 1, line.len - hash - 1);
	if (name && (!is_plain(name) || find_in(&work->listed, name))) {
		free(name);
		return 0;
	}
	return add(&work->listed, name, NULL, digits) ? 0 : error_nomem(work->error);
}

/* 1: there is a list; 0: there is none; or a failure. */
static int read_list(struct work *work)
{
	CLEANUP(cleanup_free) char *owned = NULL;
	struct slice rest = {0};
	int code = read_file(work, MANIFESTS_LIST, MANIFESTS_LIST_MAX, &rest), read = 0;

	owned = (char *)rest.ptr;
	if (code <= 0)
		return code;
	while (read == 0 && rest.len > 0) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		struct slice line = end ? slice_between(rest.ptr, end) : rest;

		read = read_line(work, line);
		rest = slice_from(rest, line.len + (end != NULL));
	}
	return read < 0 ? read : 1;
}

static int write_list(const struct work *work)
{
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return error_nomem(work->error);
	fputs("# Files that entrydb keeps current here; remove this list to end that.\n", stream);
	for (size_t i = 0; i < work->wanted.count; i++)
		if (work->wanted.items[i].hash[0])
			fprintf(stream, "%s %s\n", work->wanted.items[i].hash,
			        work->wanted.items[i].name);
	if (!text_close(stream, &text))
		return error_nomem(work->error);
	return write_file(work, MANIFESTS_LIST, text);
}

/* --- the whole --- */

static int bring_up_to_date(struct work *work)
{
	int code = read_list(work);

	if (code < 0 || (code == 0 && !work->begin))
		return code;
	code = collect_wanted(work);
	for (size_t i = 0; code == 0 && i < work->listed.count; i++)
		code = remove_old(work, &work->listed.items[i]);
	for (size_t i = 0; code == 0 && i < work->wanted.count; i++)
		code = put(work, &work->wanted.items[i]);
	return code < 0 ? code : write_list(work);
}

static int open_directory(struct work *work)
{
	CLEANUP(cleanup_free)
	char *path = text_format("%s/%s", work->prefix, work->host->directory);

	if (!path)
		return error_nomem(work->error);
	return safe_directory_open(path, work->sysroot, work->begin ? SAFE_CREATE : SAFE_EXISTING,
	                           &work->fd, work->error);
}

/* The directory of hosts that nobody has asked for is not there, most often. */
static int write_here(struct work *work)
{
	int code = open_directory(work);

	if (code == ERROR_NOTFOUND && !work->begin) {
		error_clear(work->error);
		return 0;
	}
	if (code == 0)
		code = bring_up_to_date(work);
	manifests_free(&work->listed);
	manifests_free(&work->wanted);
	if (work->fd >= 0)
		close(work->fd);
	return code;
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
	struct work work = {
	        .options = options,
	        .host = find_host(host),
	        .prefix = prefix,
	        .sysroot = database->sysroot,
	        .database = database->file,
	        .begin = begin,
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
	return code == 0 ? write_here(&work) : code;
}

/* Most often nobody has asked for them. Whether the list is ours is seen when it is opened. */
static bool may_have_list(const struct database *database, const struct host *host)
{
	CLEANUP(cleanup_free) char *prefix = layout_base(database->file);
	CLEANUP(cleanup_free)
	char *list =
	        prefix ? text_format("%s/%s/%s", prefix, host->directory, MANIFESTS_LIST) : NULL;

	return list && access(list, F_OK) == 0;
}

void manifests_follow(const struct options *options, const struct database *database)
{
	for (size_t i = 0; i < HOST_COUNT && has_prefix(database); i++) {
		struct manifests_result result = {0};
		struct error error = {0};

		if (!may_have_list(database, &hosts[i]))
			continue;
		if (manifests_write(options, database, hosts[i].name, false, &result, &error) < 0)
			message("%s", error_text(&error));
		error_clear(&error);
	}
}
