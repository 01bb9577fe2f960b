/*
 * installed.c - see facts.h: what installers have written beside the entry points, and
 * whether the files still are what was installed.
 *
 * Each RECORD is read once, line by line; of its thousands of lines a few matter, those
 * of files that run: the modules that entry points lead to, shared objects, the scripts
 * of commands, entry_points.txt itself, start-up code.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "indexer/audit/facts.h"
#include "indexer/command.h"
#include "indexer/file_hash.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/disk/tree/wheel_record.h"

#define RECORD_FILE_MAX    ((size_t)64 << 20) /* bytes */
#define METADATA_FILE_MAX  ((size_t)4 << 20)
#define SMALL_FILE_MAX     ((size_t)64 << 10)
#define MODULE_MAX         1024 /* bytes of the dotted name of a module */
#define OWNERS_OF_A_MODULE 16   /* that are told, besides those who announce it */
#define HASHES_OF_A_FILE   4    /* that many RECORDs may each give one file another hash */
#define HASHED_MAX         ((off_t)4 << 30)  /* bytes */
#define HOLE_MIN           ((off_t)64 << 20) /* bytes of a file that may be one large hole, */
#define HOLE_FILLED        16                /* where less than such a part of it is on the disk */

struct installed {
	struct facts_site *site;
	struct arena texts;
	struct name_map modules;             /* those that entry points lead to */
	struct name_map objects;             /* shared objects that they lead to, by path */
	struct name_map startups;            /* files of start-up code */
	struct name_map hashed;              /* path of a file -> how often it was hashed */
	struct name_map owned;               /* module -> how many own it */
	struct name_map commands, announced; /* of the distribution that is being read */
	bool failed;                         /* no memory */
	bool has_conda;                      /* the environment is conda's */
	bool is_conda;                       /* as is this one: conda writes scripts of its own */
	int64_t distribution;
	struct slice directory;
};

static void cleanup_installed(struct installed *installed)
{
	name_map_free(&installed->modules);
	name_map_free(&installed->objects);
	name_map_free(&installed->startups);
	name_map_free(&installed->hashed);
	name_map_free(&installed->owned);
	name_map_free(&installed->commands);
	name_map_free(&installed->announced);
	arena_free(&installed->texts);
}

/* --- what matters --- */

static bool is_among(const struct name_map *names, struct slice name)
{
	return name_map_get(names, name) != NAME_MAP_NONE;
}

/* The module, and the packages that it is in: each of them runs when it is imported. */
static void collect_module(struct name_map *modules, struct slice module, bool *failed)
{
	while (module.len > 0) {
		const char *dot = memrchr(module.ptr, '.', module.len);

		name_map_put(modules, module, 0, failed);
		module = dot ? slice_between(module.ptr, dot) : (struct slice){0};
	}
}

/* Any word of start-up code may be a module that it imports. */
static void collect_words(struct name_map *modules, struct slice code, bool *failed)
{
	const char *at = code.ptr, *end = code.ptr + code.len;

	while (at < end) {
		const char *begin = at;

		while (at < end && (isalnum((unsigned char)*at) || *at == '_' || *at == '.'))
			at++;
		if (at > begin)
			collect_module(modules, slice_between(begin, at), failed);
		else
			at++;
	}
}

static void collect_startups(struct installed *installed)
{
	const struct facts_site *site = installed->site;

	for (size_t i = 0; i < site->root->startup_count; i++) {
		const struct startup_record *row = &site->root->startups[i];

		name_map_put(&installed->startups, row->file, 0, &installed->failed);
		collect_words(&installed->modules, row->code, &installed->failed);
	}
	for (size_t i = 0; i < site->starts.count; i++)
		name_map_put(&installed->startups, site->starts.names[i], 0, &installed->failed);
}

static void collect(struct installed *installed)
{
	const struct root_record *root = installed->site->root;

	collect_startups(installed);
	for (size_t i = 0; i < root->distribution_count; i++) {
		const struct distribution_record *row = &root->distributions[i];

		for (size_t j = 0; j < row->entry_point_count; j++) {
			const struct entry_point_record *e = &row->entry_points[j];

			collect_module(&installed->modules, e->module, &installed->failed);
			if (e->target && e->target->object.len)
				name_map_put(&installed->objects, e->target->object, 0,
				             &installed->failed);
		}
	}
}

static void collect_own(struct installed *installed, const struct distribution_record *row)
{
	name_map_free(&installed->commands);
	name_map_free(&installed->announced);
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct entry_point_record *e = &row->entry_points[i];

		if (facts_is_command(e))
			name_map_put(&installed->commands, e->name, 0, &installed->failed);
		collect_module(&installed->announced, e->module, &installed->failed);
	}
}

/* "a/b.cpython-312-x86_64-linux-gnu.so", "a/b/__init__.py", "a/b.pyc": the module a.b; null for
 * others. */
static struct slice module_of(struct slice path, char room[MODULE_MAX])
{
	struct slice name = path_base(path);
	size_t base = path.len - name.len, len;
	const char *dot = name.len ? memchr(name.ptr, '.', name.len) : NULL;

	if (!dot || path.len >= MODULE_MAX || path.ptr[0] == '.' ||
	    !(slice_ends(path, SLICE(".py")) || slice_ends(path, SLICE(".so")) ||
	      slice_ends(path, SLICE(".pyc"))))
		return (struct slice){0};
	len = base + (size_t)(dot - name.ptr);
	if (slice_equal(slice_between(name.ptr, dot), SLICE("__init__")))
		len = base ? base - 1 : 0;
	for (size_t i = 0; i < len; i++)
		room[i] = path.ptr[i] == '/' ? '.' : path.ptr[i];
	return (struct slice){room, len};
}

/* --- hashes --- */

static void put_altered(struct installed *installed, struct slice file, const char *what)
{
	struct worksheet_query *put =
	        worksheet_ask(installed->site->sheet, "INSERT INTO altered VALUES (?, ?, ?)");

	worksheet_number(put, installed->distribution);
	worksheet_text(put, file);
	worksheet_text(put, slice_of(what));
	worksheet_run(put);
}

/* Of a file that costs its owner nothing, and whoever reads it hours. */
static const char *too_large(const struct stat *status)
{
	if (!S_ISREG(status->st_mode))
		return NULL;
	if (status->st_size > HASHED_MAX)
		return "it is too large to be compared with its hash";
	return status->st_size > HOLE_MIN && status->st_blocks * 512 < status->st_size / HOLE_FILLED
	               ? "it is one large hole, and was not compared with its hash"
	               : NULL;
}

/* Count @name in @times; false once it has been counted @most times. */
static bool counts_up_to(struct installed *installed, struct name_map *times, struct slice name,
                         uint32_t most)
{
	uint32_t count = name_map_get(times, name);
	struct slice kept = count == NAME_MAP_NONE
	                            ? arena_copy(&installed->texts, name, &installed->failed)
	                            : name;

	count = count == NAME_MAP_NONE ? 0 : count;
	if (installed->failed || count == most)
		return false;
	name_map_set(times, kept, count + 1, &installed->failed);
	return true;
}

static int compare(struct installed *installed, const char *path, const struct wheel_file *file,
                   struct slice shown, struct error *error)
{
	struct error own = {0};
	struct stat status;
	int code = file_status(AT_FDCWD, path, &status, &own);

	if (code > 0 && too_large(&status)) {
		facts_put(installed->site, FACTS_UNREAD, installed->distribution, shown,
		          too_large(&status));
		return 0;
	}
	if (code >= 0)
		code = file_hash_matches(path, file->sha256, &own);
	if (code == 0)
		put_altered(installed, shown, "it is not the file that RECORD describes");
	else if (code == ERROR_NOTFOUND || code == ERROR_FORMAT)
		put_altered(installed, shown, "it is gone, or is no file");
	else if (code == ERROR_PERMISSION)
		facts_put(installed->site, FACTS_UNREAD, installed->distribution, shown,
		          "it cannot be read");
	return error_move_failure(error, &own);
}

/*
 * "../../bin/NAME" is what pip writes with --target, too, where it puts the script into bin/ of
 * that directory, or leaves it away where another one is there.
 */
static int check_hash(struct installed *installed, const struct wheel_file *file,
                      struct error *error)
{
	CLEANUP(cleanup_free) char *path = NULL;
	bool is_moved = !installed->site->commands && slice_starts(file->path, SLICE("../"));
	struct slice name = path_base(file->path), shown = file->path;
	struct stat status;
	int code;

	if (slice_is_null(file->sha256) ||
	    !counts_up_to(installed, &installed->hashed, file->path, HASHES_OF_A_FILE))
		return 0;
	path = is_moved ? text_format("%s/bin/%.*s", installed->site->path, (int)name.len, name.ptr)
	                : text_format("%s/%.*s", installed->site->path, (int)file->path.len,
	                              file->path.ptr);
	if (!path)
		return error_nomem(error);
	if (is_moved) {
		code = file_status(AT_FDCWD, path, &status, error);
		if (code <= 0)
			return code;
		shown = slice_of(path + strlen(installed->site->path) + 1);
	}
	return compare(installed, path, file, shown, error);
}

/* --- RECORD --- */

static void put_owner(struct installed *installed, struct slice module,
                      const struct wheel_file *file)
{
	struct worksheet_query *put =
	        worksheet_ask(installed->site->sheet, "INSERT INTO owner VALUES (?, ?, ?, ?)");

	worksheet_text(put, module);
	worksheet_number(put, installed->distribution);
	worksheet_text(put, file->path);
	worksheet_number(put, !slice_is_null(file->sha256));
	worksheet_run(put);
}

static void put_startup_owner(struct installed *installed, struct slice file, bool has_hash)
{
	struct worksheet_query *put = worksheet_ask(
	        installed->site->sheet, "INSERT INTO startup_owner VALUES (?, ?, ?, ?)");

	worksheet_number(put, installed->site->id);
	worksheet_text(put, file);
	worksheet_number(put, installed->distribution);
	worksheet_number(put, has_hash);
	worksheet_run(put);
}

/* A script beside the site directory: "../../../bin/NAME". */
static bool is_script(const struct installed *installed, struct slice path)
{
	return slice_starts(path, SLICE("../")) && !installed->is_conda &&
	       slice_ends(path_directory(path), SLICE("/bin")) &&
	       is_among(&installed->commands, path_base(path));
}

static bool is_own_text(const struct installed *installed, struct slice path)
{
	return slice_starts(path, installed->directory) &&
	       slice_equal(slice_from(path, installed->directory.len), SLICE("/entry_points.txt"));
}

/* The file of start-up code that the path is, or is in; null for others. */
static struct slice startup_of(const struct installed *installed, struct slice path)
{
	for (size_t len = 1; len <= path.len; len++)
		if ((len == path.len || path.ptr[len] == '/') &&
		    is_among(&installed->startups, slice_first(path, len)))
			return slice_first(path, len);
	return (struct slice){0};
}

/* --- beside the site directory --- */

static void put_replaced(const struct installed *installed, struct slice path, const char *what)
{
	facts_put(installed->site, FACTS_REPLACED, installed->distribution, path, what);
}

static void put_plain_command(const struct installed *installed, struct slice path)
{
	struct worksheet_query *put =
	        worksheet_ask(installed->site->sheet, "INSERT INTO plain_command VALUES (?, ?, ?)");

	worksheet_number(put, installed->distribution);
	worksheet_text(put, path_base(path));
	worksheet_text(put, path);
	worksheet_run(put);
}

/*
 * "NAME" below lib/pythonX.Y, "pythonXY.zip" beside it, "pyvenv.cfg": what Python starts with; and
 * what runs when an environment of conda's is activated, which its own packages bring.
 */
static bool is_of_environment(const struct installed *installed, struct slice path, unsigned up)
{
	return (up == 1 && !slice_starts(path, SLICE("site-packages/")) &&
	        !slice_starts(path, SLICE("dist-packages/")) &&
	        (slice_ends(path, SLICE(".py")) || slice_ends(path, SLICE(".pyc")) ||
	         slice_ends(path, SLICE(".so")))) ||
	       (up == 2 && slice_starts(path, SLICE("python")) &&
	        slice_ends(path, SLICE(".zip"))) ||
	       (up == 3 && slice_equal(path, SLICE("pyvenv.cfg"))) ||
	       (up == 3 && !installed->is_conda &&
	        (slice_starts(path, SLICE("etc/conda/activate.d/")) ||
	         slice_starts(path, SLICE("etc/conda/deactivate.d/"))));
}

/* "OTHER-1.0.dist-info/entry_points.txt" in the RECORD of this one. */
static bool is_metadata_of_another(const struct installed *installed, struct slice path)
{
	struct slice directory = path_directory(path), name = path_base(path);

	return slice_ends(directory, SLICE(".dist-info")) &&
	       !slice_equal(directory, installed->directory) &&
	       slice_equal(path_directory(directory), SLICE("")) &&
	       (slice_equal(name, SLICE("METADATA")) ||
	        slice_equal(name, SLICE("entry_points.txt")));
}

/* Of a path such as "../../../bin/NAME". */
static void read_outer_path(struct installed *installed, struct slice path)
{
	struct slice rest = path;
	unsigned up = 0;

	if (is_metadata_of_another(installed, path))
		put_replaced(installed, path, "RECORD lists it, and it is another distribution's");
	for (; slice_starts(rest, SLICE("../")); up++)
		rest = slice_from(rest, 3);
	if (up == 0 || !installed->site->commands)
		return;
	if (is_of_environment(installed, rest, up))
		put_replaced(installed, path, "RECORD lists it, and the environment is made of it");
	else if (up == 3 && slice_equal(path_directory(rest), SLICE("bin")) &&
	         !is_among(&installed->commands, path_base(rest)))
		put_plain_command(installed, path);
}

/* Of a package sitecustomize, say, which installers compile on the spot. */
static bool is_bytecode(struct slice path)
{
	return slice_ends(path_directory(path), SLICE("__pycache__"));
}

static int read_line(struct installed *installed, const struct wheel_file *file,
                     struct error *error)
{
	char room[MODULE_MAX];
	struct slice module = module_of(file->path, room);
	bool is_module = module.len > 0 && is_among(&installed->modules, module);
	struct slice startup = startup_of(installed, file->path);

	if (is_module && (is_among(&installed->announced, module) ||
	                  counts_up_to(installed, &installed->owned, module, OWNERS_OF_A_MODULE)))
		put_owner(installed, module, file);
	if (startup.len > 0)
		put_startup_owner(installed, startup,
		                  !slice_is_null(file->sha256) || is_bytecode(file->path));
	read_outer_path(installed, file->path);
	if (!is_module && startup.len == 0 && !is_script(installed, file->path) &&
	    !is_own_text(installed, file->path) && !is_among(&installed->objects, file->path))
		return 0;
	return check_hash(installed, file, error);
}

static int read_record(struct installed *installed, struct slice text, struct error *error)
{
	struct wheel_record record = {.text = text};
	struct wheel_file file;
	size_t at = 0;
	int code = 0;

	while (code == 0 && wheel_record_next(&record, &at, &file))
		if (file.path.len > 0)
			code = read_line(installed, &file, error);
	return installed->failed ? error_nomem(error) : code;
}

/* --- the files of one distribution --- */

/* 1: *text is malloc'd; 0: there is none. */
static int read_file(const struct facts_site *site, struct slice directory, const char *name,
                     size_t limit, char **text, size_t *len, struct error *error)
{
	CLEANUP(cleanup_free)
	char *path = text_format("%s/%.*s/%s", site->path, (int)directory.len, directory.ptr, name);

	*text = NULL;
	return path ? small_file_read(path, limit, text, len, error) : error_nomem(error);
}

/* Of what is not there to be read: is it there for others? */
static void check_withheld(const struct installed *installed, const char *name)
{
	struct slice directory = installed->directory;
	CLEANUP(cleanup_free)
	char *path = text_format("%s/%.*s/%s", installed->site->path, (int)directory.len,
	                         directory.ptr, name);

	if (path && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 && errno == EACCES)
		facts_put(installed->site, FACTS_UNREAD, installed->distribution,
		          slice_of(path + strlen(installed->site->path) + 1), "it cannot be read");
}

static struct slice first_line(const char *text, size_t len)
{
	struct slice line = {text, text ? strcspn(text, "\r\n") : 0};

	return text ? slice_first(line, line.len < len ? line.len : len) : (struct slice){0};
}

static void put_installer(struct installed *installed, struct slice installer, struct slice url,
                          bool has_record)
{
	struct worksheet_query *put = worksheet_ask(
	        installed->site->sheet,
	        "UPDATE distribution SET installer = ?2, has_record = ?4, "
	        "url = coalesce(iif(json_valid(?3), CAST(json_extract(?3, '$.url') AS TEXT), "
	        "NULL), iif(?3 IS NULL, NULL, 'where direct_url.json does not tell')), "
	        "is_editable = coalesce(iif(json_valid(?3), "
	        "json_extract(?3, '$.dir_info.editable') = 1, 0), 0) WHERE id = ?1");

	worksheet_number(put, installed->distribution);
	worksheet_text(put, installer);
	worksheet_text(put, url);
	worksheet_number(put, has_record);
	worksheet_run(put);
}

static int read_distribution(struct installed *installed, const struct distribution_record *row,
                             struct error *error)
{
	CLEANUP(cleanup_free) char *installer = NULL;
	CLEANUP(cleanup_free) char *url = NULL;
	CLEANUP(cleanup_free) char *record = NULL;
	size_t installer_len = 0, url_len = 0, record_len = 0;
	struct facts_site *site = installed->site;
	int code;

	code = read_file(site, row->directory, "INSTALLER", SMALL_FILE_MAX, &installer,
	                 &installer_len, error);
	if (code >= 0)
		code = read_file(site, row->directory, "direct_url.json", SMALL_FILE_MAX, &url,
		                 &url_len, error);
	if (code >= 0)
		code = read_file(site, row->directory, "RECORD", RECORD_FILE_MAX, &record,
		                 &record_len, error);
	if (code < 0)
		return code;
	put_installer(installed, first_line(installer, installer_len), (struct slice){url, url_len},
	              record != NULL);
	installed->is_conda = installed->has_conda &&
	                      slice_equal(first_line(installer, installer_len), SLICE("conda"));
	installed->directory = row->directory;
	if (!record)
		check_withheld(installed, "RECORD");
	collect_own(installed, row);
	return record ? read_record(installed, (struct slice){record, record_len}, error) : 0;
}

int installed_read(struct facts_site *site, struct error *error)
{
	CLEANUP(cleanup_installed) struct installed installed = {.site = site};
	CLEANUP(cleanup_free) char *conda = text_format("%s/conda-meta", site->prefix);
	struct stat status;
	int code = conda ? file_status(AT_FDCWD, conda, &status, error) : error_nomem(error);

	installed.has_conda = code > 0;
	code = code < 0 ? code : 0;
	collect(&installed);
	for (size_t i = 0; code == 0 && i < site->root->distribution_count; i++) {
		installed.distribution = facts_distribution(site->id, i);
		code = interrupted() ? error_set(error, ERROR_IO, "interrupted")
		                     : read_distribution(&installed, &site->root->distributions[i],
		                                         error);
	}
	return code;
}

/* --- what a distribution requires --- */

/* "Requires-Dist: some-name[extra]>=1; marker": the name. */
static struct slice required_name(struct slice line)
{
	static const char header[] = "requires-dist:";
	size_t len = 0;

	if (line.len < sizeof(header) || strncasecmp(line.ptr, header, sizeof(header) - 1) != 0)
		return (struct slice){0};
	line = slice_from(line, sizeof(header) - 1);
	while (line.len > 0 && (line.ptr[0] == ' ' || line.ptr[0] == '\t'))
		line = slice_from(line, 1);
	while (len < line.len && !strchr(" \t\r[(;<>=!~@,", line.ptr[len]))
		len++;
	return slice_first(line, len);
}

static void put_requirements(struct worksheet *sheet, int64_t distribution, struct slice text,
                             bool *failed)
{
	CLEANUP(arena_free) struct arena names = ARENA_INIT;

	while (text.len > 0) {
		const char *end = memchr(text.ptr, '\n', text.len);
		struct slice line = end ? slice_between(text.ptr, end) : text;
		struct slice name = required_name(line);
		struct worksheet_query *put;

		text = slice_from(text, line.len + (end != NULL));
		if (line.len == 0)
			return; /* the headers end */
		if (name.len == 0)
			continue;
		put = worksheet_ask(sheet, "INSERT INTO requirement VALUES (?, ?)");
		worksheet_number(put, distribution);
		worksheet_text(put, distname_normalize_in(&names, name, failed));
		worksheet_run(put);
	}
}

/* Only of those distributions whose entry points lead to others' modules. */
int installed_requirements(struct worksheet *sheet, struct error *error)
{
	struct worksheet_query *row = worksheet_ask(
	        sheet, "SELECT d.id, s.path, d.directory FROM distribution d JOIN site s ON s.id = "
	               "d.site WHERE d.id IN (SELECT distribution FROM \"module-foreign\")");
	bool failed = false;
	int code = 0;

	while (code >= 0 && !failed && worksheet_next(row)) {
		CLEANUP(cleanup_free) char *text = NULL;
		struct slice path = worksheet_column(row, 1);
		struct facts_site site = {.path = path.ptr};
		size_t len = 0;

		code = read_file(&site, worksheet_column(row, 2), "METADATA", METADATA_FILE_MAX,
		                 &text, &len, error);
		if (code > 0)
			put_requirements(sheet, worksheet_integer(row, 0),
			                 (struct slice){text, len}, &failed);
	}
	if (failed)
		return error_nomem(error);
	return code < 0 ? code : worksheet_failure(sheet, error);
}
