/*
 * Writes manifests of plugins for other programs, and removes our obsolete ones.
 */
#include "indexer/manifests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/name_map.h"
#include "db/base/safe_path.h"
#include "db/base/sha256.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "indexer/verb.h"
#include "libquery/layout.h"
#include "libquery/load.h"

/* The content of a manifest: malloc'd; NULL if out of memory. */
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

/* The state of updating one directory. */
struct work {
	const struct options *options;
	const struct database *database;
	const struct manifests_host *host;
	char *directory;
	char *real; /* its real path */
	int fd;
	bool lasts;           /* the directory is below no sticky one */
	char *old_list;       /* lines of a hash, a space, a name; others are ignored */
	FILE *list;           /* the new one */
	struct name_map seen; /* the names of current plugins */
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
	cleanup_close(&work->fd);
	free(work->directory);
	free(work->real);
	free(work->old_list);
	name_map_free(&work->seen);
}

/* --- contents --- */

/* A JSON string is a valid basic string of TOML. */
static void put_string(FILE *stream, const char *key, const char *text)
{
	fprintf(stream, "%s = ", key);
	json_string(slice_of(text), stream);
	putc('\n', stream);
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

/* Nothing but the path in one line is allowed. */
static char *opencl_content(const entrydb_entry_point *plugin, const char *object)
{
	(void)plugin;
	return text_format("%s\n", object);
}

/* A plugin's name, which a package chooses, becomes a file name. */
static bool is_plain(struct slice name)
{
	return text_is_plain(name, "-_+.") && name.len <= MANIFEST_NAME_MAX && name.ptr[0] != '.';
}

/* --- files --- */

/* The list's line for a file. malloc'd; NULL if out of memory. */
static char *line_of(const char *name, struct slice content)
{
	char hash[SHA256_HEX_SIZE + 1];

	sha256_of(content.ptr, content.len, hash);
	return text_format("%s %s\n", hash, name);
}

/* 1: the content of the file, malloc'd; 0: missing, or others wrote it; or a failure. */
static int read_file(const struct work *work, const char *name, size_t limit, char **out,
                     size_t *length)
{
	CLEANUP(cleanup_close) int fd = safe_open_file(work->fd, name, O_RDONLY | O_NONBLOCK, 0);
	struct stat status;
	int code;

	if (fd >= 0 && fstat(fd, &status) == 0 &&
	    trust_of(fd, &status, TRUST_NO_OTHER) != TRUST_BELIEVED)
		return 0;
	code = small_file_read_fd(fd, name, limit + 1, out, length, work->error);
	return code > 0 ? *length <= limit : code;
}

/*
 * Compute the line of an existing file into *line, malloc'd, NULL if it cannot be ours, and whether
 * the list contains it.
 */
static int look_at(const struct work *work, const char *name, char **line, bool *is_ours)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	size_t length = 0;
	int code = read_file(work, name, MANIFEST_MAX, &bytes, &length);

	*line = code > 0 ? line_of(name, (struct slice){bytes, length}) : NULL;
	*is_ours = *line && work->old_list && strstr(work->old_list, *line);
	if (code > 0)
		code = *line ? 0 : error_nomem(work->error);
	return code;
}

static int write_file(const struct work *work, const char *name, const char *content, mode_t mode)
{
	if (small_file_write(work->fd, name, slice_of(content), mode) == 0)
		return 0;
	return error_errno(work->error, errno, "cannot write %s/%s", work->directory, name);
}

/* Write a manifest, unless the file exists and is not ours. */
static int settle(struct work *work, const char *name, const char *content, mode_t mode)
{
	CLEANUP(cleanup_free) char *wanted = line_of(name, slice_of(content));
	CLEANUP(cleanup_free) char *line = NULL;
	bool is_ours = false, is_there;
	struct stat now;
	int code = wanted ? look_at(work, name, &line, &is_ours) : error_nomem(work->error);

	if (code < 0)
		return code;
	is_there = fstatat(work->fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0;
	if (line && strcmp(line, wanted) == 0 && is_there && (now.st_mode & 0777) == mode) {
		work->result->unchanged++;
	} else if (!is_ours && is_there) {
		if (!work->options->hook)
			message("%s/%s: left alone, since it was not written by entrydb, or was "
			        "changed",
			        work->directory, name);
		work->result->foreign++;
		return 0;
	} else {
		work->result->written++;
		code = write_file(work, name, content, mode);
	}
	fputs(wanted, work->list);
	return code;
}

/* Who can read a manifest: those who can read the files that it quotes. */
static int find_mode(const struct work *work, const entrydb_entry_point *plugin, const char *object,
                     mode_t *mode)
{
	static const char *const files[] = {"", "/METADATA", "/PKG-INFO", "/RECORD"};
	int code = databases_narrow(object, work->real, mode, work->error);

	for (size_t i = 0; code == 0 && i < sizeof(files) / sizeof(*files); i++) {
		CLEANUP(cleanup_free)
		char *path = text_format("%s%s", entrydb_entry_point_file(plugin), files[i]);

		code = path ? databases_narrow(path, work->real, mode, work->error)
		            : error_nomem(work->error);
	}
	return code;
}

/*
 * Other programs, some run by root, load what a manifest names without checks: it is written only
 * for objects that this process would load. Of several plugins of one name the first is used. The
 * path in it is without the sysroot.
 */
static int settle_plugin(struct work *work, entrydb *db, const entrydb_entry_point *plugin)
{
	const char *name = entrydb_entry_point_name(plugin);
	CLEANUP(cleanup_free) char *file = text_format("%s%s", name, work->host->suffix);
	CLEANUP(cleanup_free) char *object = NULL;
	CLEANUP(cleanup_free) char *content = NULL;
	struct slice sysroot = slice_of(work->database->sysroot);
	struct error own = {0};
	bool failed = file == NULL;
	mode_t mode = 0644;
	int code = load_check(db, plugin, work->lasts, &object, &own);

	if (code < 0 && !error_is_failure(code) && !work->options->hook)
		message("no manifest for '%s': %s", name, error_text(&own));
	if (code < 0)
		return error_move_failure(work->error, &own);
	/* The path must fit one line. */
	if (strchr(object, '\n') || !is_plain(slice_of(name)) ||
	    name_map_get(&work->seen, slice_of(name)) != NAME_MAP_NONE)
		return 0;
	name_map_put(&work->seen, slice_of(name), 0, &failed);
	content = work->host->content(
	        plugin, object + (slice_starts(slice_of(object), sysroot) ? sysroot.len : 0));
	if (failed || !content)
		return error_nomem(work->error);
	code = find_mode(work, plugin, object, &mode);
	return code < 0 ? code : settle(work, file, content, mode);
}

/* Remove our manifest of a plugin that no longer exists. */
static int settle_gone(struct work *work, struct slice name)
{
	struct slice plugin = slice_first(name, name.len - strlen(work->host->suffix));
	CLEANUP(cleanup_free) char *file = strndup(name.ptr, name.len);
	CLEANUP(cleanup_free) char *line = NULL;
	bool is_ours = false;
	int code;

	if (name_map_get(&work->seen, plugin) != NAME_MAP_NONE)
		return 0;
	code = file ? look_at(work, file, &line, &is_ours) : error_nomem(work->error);
	if (code < 0 || !is_ours)
		return code;
	work->result->removed++;
	return unlinkat(work->fd, file, 0) == 0
	               ? 0
	               : error_errno(work->error, errno, "cannot remove %s", file);
}

static int settle_all(struct work *work)
{
	const struct options only = {.database = work->database->file,
	                             .sysroot = work->options->sysroot};
	CLEANUP(question_free) struct question found = {0};
	struct slice rest = slice_of(work->old_list);
	int code = select_by(&only, entrydb_plugins, work->host->kind, NULL, &found, work->error);

	for (size_t i = 0; code == 0 && i < entrydb_set_count(found.set); i++)
		code = settle_plugin(work, found.db, entrydb_set_get(found.set, i));
	while (code == 0 && rest.len > 0) {
		struct slice line = slice_take_line(&rest);
		size_t behind = line.len > SHA256_HEX_SIZE ? SHA256_HEX_SIZE + 1 : line.len;
		struct slice name = slice_from(line, behind);

		if (is_plain(name) && slice_ends(name, slice_of(work->host->suffix)))
			code = settle_gone(work, name);
	}
	return code;
}

/* --- all manifests of a host --- */

/* A user's own database, and one of --db, may describe anything. */
static bool has_prefix(const struct database *database)
{
	return database->may_replace && layout_is_of_prefix(database->file);
}

static char *directory_of(const struct database *database, const struct manifests_host *host)
{
	CLEANUP(cleanup_free) char *prefix = layout_base(database->file);

	return prefix ? text_format("%s/%s", prefix, host->directory) : NULL;
}

static int settle_and_list(struct work *work)
{
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length = 0;
	int code;

	work->list = open_memstream(&text, &length);
	if (!work->list)
		return error_nomem(work->error);
	fputs("# Files that entrydb keeps current here; remove this list to end that.\n",
	      work->list);
	code = settle_all(work);
	if (!text_close(work->list, &text))
		return error_nomem(work->error);
	if (code < 0 || (work->old_list && strcmp(work->old_list, text) == 0))
		return code;
	return write_file(work, MANIFESTS_LIST, text, 0600);
}

int manifests_write(const struct options *options, const struct database *database,
                    const struct manifests_host *host, bool begin, struct manifests_result *result,
                    struct error *error)
{
	CLEANUP(cleanup_work)
	struct work work = {
	        .options = options,
	        .database = database,
	        .host = host,
	        .directory = directory_of(database, host),
	        .fd = -1,
	        .result = result,
	        .error = error,
	};
	size_t length = 0;
	int code;

	if (!work.directory)
		return error_nomem(error);
	if (!has_prefix(database))
		return error_set(error, ERROR_INVALID,
		                 "%s: it does not belong to a prefix that hosts search",
		                 database->file);
	code = database_check_owner(database, options->command, error);
	if (code == 0)
		code = safe_directory_open(work.directory, database->sysroot,
		                           begin ? SAFE_CREATE : SAFE_EXISTING, &work.fd, error);
	work.real = code == 0 ? safe_path_existing(work.directory, database->sysroot) : NULL;
	if (code == 0 && !work.real)
		code = error_nomem(error);
	if (code == 0)
		code = read_file(&work, MANIFESTS_LIST, MANIFESTS_LIST_MAX, &work.old_list,
		                 &length);
	work.lasts = safe_believe_place(work.directory, database->sysroot, true, NULL) == 0;
	return code < 0 || (code == 0 && !begin) ? code : settle_and_list(&work);
}

/* Usually there is no list. Its owner is checked when it is opened. */
void manifests_follow(const struct options *options, const struct database *database)
{
	for (size_t i = 0; has_prefix(database) && i < HOST_COUNT; i++) {
		CLEANUP(cleanup_free) char *directory = directory_of(database, &hosts[i]);
		CLEANUP(cleanup_free)
		char *list = directory ? text_format("%s/" MANIFESTS_LIST, directory) : NULL;
		struct manifests_result result = {0};
		struct error error = {0};
		struct stat status;

		if (!list || file_status(AT_FDCWD, list, &status, NULL) <= 0)
			continue;
		if (manifests_write(options, database, &hosts[i], false, &result, &error) < 0)
			message("%s", error_text(&error));
		error_clear(&error);
	}
}
