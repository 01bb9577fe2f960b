/*
 * record.c - what installers have written beside the entry points, and whether the files
 * still are what was installed.
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
#include "db/base/path.h"
#include "indexer/audit/collect.h"
#include "indexer/file_hash.h"
#include "libquery/disk/target/target_record.h"
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

/* The site directory whose RECORDs are read. */
struct records {
	struct site *site;
	struct collect *collect;
	struct arena texts;
	struct name_map modules;             /* those that entry points lead to */
	struct name_map objects;             /* shared objects that they lead to, by path */
	struct name_map startups;            /* files of start-up code */
	struct name_map hashed;              /* path of a file -> how often it was hashed */
	struct name_map owned;               /* module -> how many own it */
	struct name_map commands, announced; /* of the distribution that is being read */
	bool *failed;                        /* no memory */
	bool has_conda;                      /* the environment is conda's */
	bool is_conda;                       /* as is this one: conda writes scripts of its own */
	int64_t distribution;
	struct slice directory;
};

static void cleanup_records(struct records *records)
{
	name_map_free(&records->modules);
	name_map_free(&records->objects);
	name_map_free(&records->startups);
	name_map_free(&records->hashed);
	name_map_free(&records->owned);
	name_map_free(&records->commands);
	name_map_free(&records->announced);
	arena_free(&records->texts);
}

static void complain(const struct records *records, const char *rule, struct slice file,
                     const char *what)
{
	site_complain(records->site, rule, records->distribution, file, what);
}

/* --- what matters --- */

static bool is_among(const struct name_map *names, struct slice name)
{
	return name_map_get(names, name) != NAME_MAP_NONE;
}

/* The module, and the packages that it is in: each of them runs when it is imported. */
static void add_module(struct name_map *modules, struct slice module, bool *failed)
{
	while (module.len > 0) {
		const char *dot = memrchr(module.ptr, '.', module.len);

		name_map_put(modules, module, 0, failed);
		module = dot ? slice_between(module.ptr, dot) : (struct slice){0};
	}
}

/* Any word of start-up code may be a module that it imports. */
static void add_words(struct name_map *modules, struct slice code, bool *failed)
{
	const char *at = code.ptr, *end = code.ptr + code.len;

	while (at < end) {
		const char *begin = at;

		while (at < end && (isalnum((unsigned char)*at) || *at == '_' || *at == '.'))
			at++;
		if (at > begin)
			add_module(modules, slice_between(begin, at), failed);
		else
			at++;
	}
}

static void add_startups(struct records *records)
{
	const struct site *site = records->site;

	for (size_t i = 0; i < site->disk.startup_count; i++) {
		const struct startup_record *row = &site->disk.startups[i];

		name_map_put(&records->startups, row->file, 0, records->failed);
		add_words(&records->modules, row->code, records->failed);
	}
	for (size_t i = 0; i < site->places.count; i++)
		name_map_put(&records->startups, site->places.paths[i], 0, records->failed);
}

static void add_entry_points(struct records *records)
{
	const struct root_record *root = &records->site->disk;

	for (size_t i = 0; i < root->distribution_count; i++) {
		const struct distribution_record *row = &root->distributions[i];

		for (size_t j = 0; j < row->entry_point_count; j++) {
			const struct entry_point_record *e = &row->entry_points[j];

			add_module(&records->modules, e->module, records->failed);
			if (e->target && e->target->object.len)
				name_map_put(&records->objects, e->target->object, 0,
				             records->failed);
		}
	}
}

static void add_own(struct records *records, const struct distribution_record *row)
{
	name_map_free(&records->commands);
	name_map_free(&records->announced);
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct entry_point_record *e = &row->entry_points[i];

		if (is_command(e))
			name_map_put(&records->commands, e->name, 0, records->failed);
		add_module(&records->announced, e->module, records->failed);
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
static bool counts_up_to(struct records *records, struct name_map *times, struct slice name,
                         uint32_t most)
{
	uint32_t count = name_map_get(times, name);
	struct slice kept =
	        count == NAME_MAP_NONE ? arena_copy(&records->texts, name, records->failed) : name;

	count = count == NAME_MAP_NONE ? 0 : count;
	if (*records->failed || count == most)
		return false;
	name_map_set(times, kept, count + 1, records->failed);
	return true;
}

static void compare(const struct records *records, const char *path, struct slice sha256,
                    struct slice shown)
{
	struct error own = {0};
	struct stat status;
	const char *excuse =
	        collect_status(records->collect, path, &status) ? too_large(&status) : NULL;

	if (excuse) {
		complain(records, "unread", shown, excuse);
		return;
	}
	switch (file_hash_matches(path, sha256, &own)) {
	case 0:
		complain(records, "file-changed", shown,
		         "it is not the file that RECORD describes");
		break;
	case ERROR_NOTFOUND:
	case ERROR_FORMAT:
		complain(records, "file-changed", shown, "it is gone, or is no file");
		break;
	case ERROR_PERMISSION:
		complain(records, "unread", shown, "it cannot be read");
		break;
	default:
		break;
	}
	error_move_failure(&records->collect->error, &own);
}

/*
 * "../../bin/NAME" is what pip writes with --target, too, where it puts the script into bin/ of
 * that directory, or leaves it away where another one is there.
 */
static void check_hash(struct records *records, const struct wheel_file *file)
{
	bool is_moved = !records->site->commands && slice_starts(file->path, SLICE("../"));
	struct slice shown = file->path, name = path_base(file->path);
	CLEANUP(cleanup_free) char *path = NULL;
	struct stat status;

	if (slice_is_null(file->sha256) ||
	    !counts_up_to(records, &records->hashed, file->path, HASHES_OF_A_FILE))
		return;
	if (is_moved)
		path = collect_path(records->collect, "%s/bin/%.*s", records->site->path,
		                    SLICE_ARGS(name));
	else
		path = collect_path(records->collect, "%s/%.*s", records->site->path,
		                    SLICE_ARGS(shown));
	if (!path || (is_moved && !collect_status(records->collect, path, &status)))
		return;
	if (is_moved)
		shown = slice_of(path + strlen(records->site->path) + 1);
	compare(records, path, file->sha256, shown);
}

/* --- RECORD --- */

/* A script beside the site directory: "../../../bin/NAME". */
static bool is_script(const struct records *records, struct slice path)
{
	return slice_starts(path, SLICE("../")) && !records->is_conda &&
	       slice_ends(path_directory(path), SLICE("/bin")) &&
	       is_among(&records->commands, path_base(path));
}

static bool is_own_text(const struct records *records, struct slice path)
{
	return slice_starts(path, records->directory) &&
	       slice_equal(slice_from(path, records->directory.len), SLICE("/entry_points.txt"));
}

/* The file of start-up code that the path is, or is in; null for others. */
static struct slice startup_of(const struct records *records, struct slice path)
{
	for (size_t len = 1; len <= path.len; len++)
		if ((len == path.len || path.ptr[len] == '/') &&
		    is_among(&records->startups, slice_first(path, len)))
			return slice_first(path, len);
	return (struct slice){0};
}

/*
 * "NAME" below lib/pythonX.Y, "pythonXY.zip" beside it, "pyvenv.cfg": what Python starts with; and
 * what runs when an environment of conda's is activated, which its own packages bring.
 */
static bool is_of_environment(const struct records *records, struct slice path, unsigned up)
{
	return (up == 1 && !slice_starts(path, SLICE("site-packages/")) &&
	        !slice_starts(path, SLICE("dist-packages/")) &&
	        (slice_ends(path, SLICE(".py")) || slice_ends(path, SLICE(".pyc")) ||
	         slice_ends(path, SLICE(".so")))) ||
	       (up == 2 && slice_starts(path, SLICE("python")) &&
	        slice_ends(path, SLICE(".zip"))) ||
	       (up == 3 && slice_equal(path, SLICE("pyvenv.cfg"))) ||
	       (up == 3 && !records->is_conda &&
	        (slice_starts(path, SLICE("etc/conda/activate.d/")) ||
	         slice_starts(path, SLICE("etc/conda/deactivate.d/"))));
}

/* "OTHER-1.0.dist-info/entry_points.txt" in the RECORD of this one. */
static bool is_metadata_of_another(const struct records *records, struct slice path)
{
	struct slice directory = path_directory(path), name = path_base(path);

	return slice_ends(directory, SLICE(".dist-info")) &&
	       !slice_equal(directory, records->directory) &&
	       slice_equal(path_directory(directory), SLICE("")) &&
	       (slice_equal(name, SLICE("METADATA")) ||
	        slice_equal(name, SLICE("entry_points.txt")));
}

/* Of a path such as "../../../bin/NAME". */
static void read_outer_path(const struct records *records, struct slice path)
{
	struct slice rest = path;
	unsigned up = 0;

	if (is_metadata_of_another(records, path))
		complain(records, "metadata-foreign", path,
		         "RECORD lists it, and it is another distribution's");
	for (; slice_starts(rest, SLICE("../")); up++)
		rest = slice_from(rest, 3);
	if (up == 0 || !records->site->commands)
		return;
	if (is_of_environment(records, rest, up))
		complain(records, "environment-replaced", path,
		         "RECORD lists it, and the environment is made of it");
	else if (up == 3 && slice_equal(path_directory(rest), SLICE("bin")) &&
	         !is_among(&records->commands, path_base(rest)))
		worksheet_put(records->collect->sheet, "plain_command",
		              FACTS(fact_number(records->distribution), fact_text(path_base(path)),
		                    fact_text(path)));
}

/* Of a package sitecustomize, say, which installers compile on the spot. */
static bool is_bytecode(struct slice path)
{
	return slice_ends(path_directory(path), SLICE("__pycache__"));
}

static void read_line(struct records *records, const struct wheel_file *file)
{
	char room[MODULE_MAX];
	struct slice path = file->path, module = module_of(path, room);
	struct slice startup = startup_of(records, path);
	bool is_module = module.len > 0 && is_among(&records->modules, module);
	bool has_hash = !slice_is_null(file->sha256);

	if (is_module && (is_among(&records->announced, module) ||
	                  counts_up_to(records, &records->owned, module, OWNERS_OF_A_MODULE)))
		worksheet_put(records->collect->sheet, "owner",
		              FACTS(fact_text(module), fact_number(records->distribution),
		                    fact_text(path), fact_number(has_hash)));
	if (startup.len > 0)
		worksheet_put(records->collect->sheet, "startup_owner",
		              FACTS(fact_number(records->site->id), fact_text(startup),
		                    fact_number(records->distribution),
		                    fact_number(has_hash || is_bytecode(path))));
	read_outer_path(records, path);
	if (is_module || startup.len > 0 || is_script(records, path) ||
	    is_own_text(records, path) || is_among(&records->objects, path))
		check_hash(records, file);
}

/* --- one distribution --- */

static void put_entry_points(const struct records *records, const struct distribution_record *row)
{
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct entry_point_record *e = &row->entry_points[i];
		const struct target_record *target = e->target;

		worksheet_put(
		        records->collect->sheet, "entry_point",
		        FACTS(fact_number(entry_point_id(records->distribution, i)),
		              fact_number(records->distribution), fact_text(e->group),
		              fact_text(e->name), fact_text(e->value), fact_text(e->module),
		              fact_string(target_kind_name(target ? target->kind : TARGET_PYTHON)),
		              fact_string(target_state_name(target ? target->state : TARGET_OK)),
		              target ? fact_text(target->object) : fact_null(),
		              target ? fact_text(target->missing) : fact_null()));
	}
}

/* Null where there is none; *text is malloc'd. */
static struct slice read_file(const struct records *records, const char *name, size_t limit,
                              char **text)
{
	CLEANUP(cleanup_free)
	char *path = collect_path(records->collect, "%s/%.*s/%s", records->site->path,
	                          SLICE_ARGS(records->directory), name);
	struct slice out = {0};

	if (records->site->disk.kind == ROOT_DIRECTORY)
		collect_text(records->collect, path, limit, text, &out);
	return out;
}

/* Of a RECORD that is not there to be read: is it there for others? */
static void check_withheld(const struct records *records)
{
	CLEANUP(cleanup_free)
	char *path = collect_path(records->collect, "%s/%.*s/RECORD", records->site->path,
	                          SLICE_ARGS(records->directory));

	if (path && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 && errno == EACCES)
		complain(records, "unread", slice_of(path + strlen(records->site->path) + 1),
		         "it cannot be read");
}

static struct slice first_line(struct slice text)
{
	size_t len = text.ptr ? strcspn(text.ptr, "\r\n") : 0;

	return slice_first(text, len < text.len ? len : text.len);
}

static void read_distribution(struct records *records, const struct distribution_record *row)
{
	CLEANUP(cleanup_free) char *installer_text = NULL;
	CLEANUP(cleanup_free) char *url_text = NULL;
	CLEANUP(cleanup_free) char *record_text = NULL;
	struct slice installer =
	        first_line(read_file(records, "INSTALLER", SMALL_FILE_MAX, &installer_text));
	struct slice url = read_file(records, "direct_url.json", SMALL_FILE_MAX, &url_text);
	struct wheel_record record = {
	        .text = read_file(records, "RECORD", RECORD_FILE_MAX, &record_text)};
	struct wheel_file file;
	size_t at = 0;

	worksheet_put(records->collect->sheet, "distribution",
	              FACTS(fact_number(records->distribution), fact_number(records->site->id),
	                    fact_text(row->directory),
	                    fact_text(slice_is_null(row->name) ? row->directory : row->name),
	                    fact_text(row->normalized_name), fact_text(row->version),
	                    fact_text(row->error), fact_text(installer), fact_text(url),
	                    fact_number(record_text != NULL)));
	put_entry_points(records, row);
	records->is_conda = records->has_conda && slice_equal(installer, SLICE("conda"));
	if (!record_text)
		check_withheld(records);
	add_own(records, row);
	while (record_text && collect_goes_on(records->collect) &&
	       wheel_record_next(&record, &at, &file))
		if (file.path.len > 0)
			read_line(records, &file);
}

void record_read(struct site *site)
{
	CLEANUP(cleanup_records)
	struct records records = {
	        .site = site, .collect = site->collect, .failed = &site->collect->no_memory};
	CLEANUP(cleanup_free)
	char *conda = collect_path(site->collect, "%s/conda-meta", site->prefix);
	struct stat status;

	records.has_conda = collect_status(site->collect, conda, &status);
	add_startups(&records);
	add_entry_points(&records);
	for (size_t i = 0; i < site->disk.distribution_count && collect_goes_on(site->collect);
	     i++) {
		records.distribution = distribution_id(site->id, i);
		records.directory = site->disk.distributions[i].directory;
		read_distribution(&records, &site->disk.distributions[i]);
	}
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

static void put_requirements(struct collect *collect, int64_t distribution, struct slice text)
{
	CLEANUP(arena_free) struct arena names = ARENA_INIT;

	while (text.len > 0) {
		struct slice line = slice_take_line(&text);
		struct slice name = required_name(line);

		if (line.len == 0)
			return; /* the headers end */
		if (name.len == 0)
			continue;
		name = distname_normalize_in(&names, name, &collect->no_memory);
		worksheet_put(collect->sheet, "requirement",
		              FACTS(fact_number(distribution), fact_text(name)));
	}
}

/* Only of those distributions whose entry points lead to others' modules. */
void record_requirements(struct collect *collect)
{
	struct worksheet_rows *row = worksheet_walk(collect->sheet, "may_require_others", NULL);

	while (collect_goes_on(collect) && worksheet_next(row)) {
		CLEANUP(cleanup_free) char *bytes = NULL;
		CLEANUP(cleanup_free)
		char *path = collect_path(collect, "%s/%s/METADATA", worksheet_text(row, 1).ptr,
		                          worksheet_text(row, 2).ptr);
		struct slice text;

		if (collect_text(collect, path, METADATA_FILE_MAX, &bytes, &text))
			put_requirements(collect, worksheet_number(row, 0), text);
	}
}
