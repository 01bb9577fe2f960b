/*
 * record.c - collects what installers have written, and compares installed files with RECORD.
 *
 * Each RECORD is read once, line by line; of its thousands of lines only those of files that run
 * matter: modules of entry points, shared objects, scripts of commands, entry_points.txt itself,
 * start-up code.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "indexer/audit/collect.h"
#include "indexer/file_hash.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/disk/tree/wheel_record.h"

#define RECORD_FILE_MAX    ((size_t)64 << 20)  /* bytes */
#define RECORDS_MAX        ((size_t)256 << 20) /* bytes, of a site directory */
#define METADATA_FILE_MAX  ((size_t)4 << 20)
#define SMALL_FILE_MAX     ((size_t)64 << 10)
#define MODULE_MAX         1024              /* bytes of the dotted name of a module */
#define OWNERS_OF_A_MODULE 16                /* recorded, in addition to the one that declares it */
#define FILES_OF_A_MODULE  8                 /* recorded, of one distribution */
#define STRAYS_MAX         ((size_t)1 << 18) /* recorded, of a site directory */
#define HASHES_OF_A_FILE   4 /* several RECORDs may have different hashes of a file */

/* A map from names to numbers with a filter by length modulo 64: most look-ups find nothing. */
struct names {
	struct name_map map;
	uint64_t lengths;
};

/* The state of reading the RECORDs of a site directory. */
struct records {
	struct site *site;
	struct collect *collect;
	bool *failed;                   /* out of memory */
	struct names modules, commands; /* -> 1 + index of the last to declare it, or 0 */
	struct names objects, startups; /* paths: targets of entry points; start-up code */
	struct name_map hashed;         /* path -> number of times it was hashed */
	struct name_map owned;          /* module -> number of owners */
	struct name_map listed;         /* module -> number of files in this RECORD */
	struct name_map startup_owned;  /* path of start-up code -> number of owners */
	struct arena texts;
	off_t left;        /* bytes that may be hashed */
	size_t text_left;  /* bytes that may be read as RECORD */
	size_t stray_left; /* lines that may be recorded as stray */
	/* of the current distribution: */
	uint32_t number;
	bool is_conda; /* installed by conda, which generates its own scripts */
	int64_t distribution;
	struct slice directory;
};

static void cleanup_records(struct records *records)
{
	name_map_free(&records->modules.map);
	name_map_free(&records->commands.map);
	name_map_free(&records->objects.map);
	name_map_free(&records->startups.map);
	name_map_free(&records->hashed);
	name_map_free(&records->owned);
	name_map_free(&records->listed);
	name_map_free(&records->startup_owned);
	arena_free(&records->texts);
}

/* @path: absolute, below the site directory. */
static void complain(const struct records *records, const char *rule, const char *path,
                     const char *what)
{
	site_complain(records->site, rule, records->distribution,
	              slice_of(path + strlen(records->site->path) + 1), what);
}

/* --- relevant names --- */

static uint32_t number_of(const struct names *names, struct slice name)
{
	return names->lengths >> (name.len & 63) & 1 ? name_map_get(&names->map, name)
	                                             : NAME_MAP_NONE;
}

static bool is_among(const struct names *names, struct slice name)
{
	return number_of(names, name) != NAME_MAP_NONE;
}

static void add(const struct records *records, struct names *names, struct slice name)
{
	names->lengths |= (uint64_t)1 << (name.len & 63);
	name_map_set(&names->map, name, records->number, records->failed);
}

/* Importing a module also runs its parent packages. (module_of() returns no longer names.) */
static void add_module(struct records *records, struct slice module)
{
	module = slice_first(module, module.len < MODULE_MAX ? module.len : MODULE_MAX);
	while (module.len > 0) {
		const char *dot = memrchr(module.ptr, '.', module.len);

		add(records, &records->modules, module);
		module = dot ? slice_between(module.ptr, dot) : (struct slice){0};
	}
}

/* Any word of start-up code may name an imported module. */
static void add_words(struct records *records, struct slice code)
{
	for (size_t i = 0, len; i < code.len; i += len + (len == 0)) {
		for (len = 0; i + len < code.len; len++)
			if (!isalnum((unsigned char)code.ptr[i + len]) &&
			    !memchr("_.", code.ptr[i + len], 2))
				break;
		add_module(records, slice_first(slice_from(code, i), len));
	}
}

static void add_entry_points(struct records *records, const struct distribution_record *row)
{
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct entry_point_record *e = &row->entry_points[i];

		add_module(records, e->module);
		if (is_command(e))
			add(records, &records->commands, e->name);
		if (e->target && e->target->object.len)
			add(records, &records->objects, e->target->object);
	}
}

static void add_wanted(struct records *records)
{
	const struct site *site = records->site;

	for (size_t i = 0; i < site->disk.startup_count; i++) {
		add(records, &records->startups, site->disk.startups[i].file);
		add_words(records, site->disk.startups[i].code);
	}
	for (size_t i = 0; i < site->places.count; i++)
		add(records, &records->startups, site->places.paths[i]);
	for (size_t i = 0; i < site->disk.distribution_count; i++)
		add_entry_points(records, &site->disk.distributions[i]);
}

/*
 * The module name for "a/b.cpython-312-x86_64-linux-gnu.so", "a/b/__init__.py", "a/b.pyc": a.b;
 * null for other files.
 */
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

/* Count @name in @times; false after @most times. */
static bool counts_up_to(struct records *records, struct name_map *times, struct slice name,
                         uint32_t most)
{
	uint32_t count = name_map_get(times, name);

	if (count == NAME_MAP_NONE) {
		name = arena_copy(&records->texts, name, records->failed);
		count = 0;
	}
	if (*records->failed || count == most)
		return false;
	name_map_set(times, name, count + 1, records->failed);
	return true;
}

static void compare(struct records *records, const char *path, struct slice sha256)
{
	const char *rule = "unread", *what = NULL;
	struct error own = {0};
	int code = file_hash_matches(records->collect->readers, path, sha256, &records->left, &own);

	if (code == ERROR_LIMIT)
		what = FILE_HASH_TOO_LARGE;
	if (code == ERROR_PERMISSION && !records->collect->readers.mode)
		what = "it cannot be read";
	if (code == 0 || code == ERROR_NOTFOUND || code == ERROR_FORMAT) {
		rule = "file-changed";
		what = code == 0 ? "it is not the file that RECORD describes"
		                 : "it is gone, or is no file";
	}
	if (what)
		complain(records, rule, path, what);
	error_move_failure(&records->collect->error, &own);
}

/*
 * pip also writes "../../bin/NAME" with --target, where it puts the script into bin/ of that
 * directory, or omits it if another one exists. A missing script cannot run.
 */
static void check_hash(struct records *records, const struct wheel_file *file)
{
	bool is_outside = slice_starts(file->path, SLICE("../"));
	bool is_moved = is_outside && !records->site->commands;
	struct slice place = is_moved ? path_base(file->path) : file->path;
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_close) int fd = -1;

	if (slice_is_null(file->sha256) ||
	    !counts_up_to(records, &records->hashed, file->path, HASHES_OF_A_FILE))
		return;
	path = collect_path(records->collect, "%s/%s%.*s", records->site->path,
	                    is_moved ? "bin/" : "", SLICE_ARGS(place));
	if (path && is_outside)
		fd = file_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW);
	if (path && (!is_outside || fd >= 0 || errno != ENOENT))
		compare(records, path, file->sha256);
}

/* --- RECORD --- */

/* The start-up file or package that contains the path, or null. */
static struct slice startup_of(const struct records *records, struct slice path)
{
	for (struct slice rest = path, first; rest.len > 0;) {
		slice_take(&rest, '/');
		first = slice_first(path, path.len - rest.len - (rest.len > 0));
		if (is_among(&records->startups, first))
			return first;
	}
	return (struct slice){0};
}

static void add_stray(struct records *records, struct slice path)
{
	if (records->stray_left == 0)
		return;
	worksheet_put(records->collect->sheet, "stray",
	              FACTS(fact(records->distribution), fact(path)));
	if (--records->stray_left == 0)
		site_complain(records->site, "unread", records->distribution, records->directory,
		              "too many files outside of the site directory are listed");
}

static void read_line(struct records *records, const struct wheel_file *file)
{
	char room[MODULE_MAX];
	struct slice path = file->path, directory = path_directory(path);
	struct slice module = module_of(path, room), startup = startup_of(records, path);
	uint32_t announced = module.len ? number_of(&records->modules, module) : NAME_MAP_NONE;
	bool is_module = announced != NAME_MAP_NONE;
	bool has_hash = !slice_is_null(file->sha256);
	bool is_script = slice_starts(path, SLICE("../")) && !records->is_conda &&
	                 slice_ends(directory, SLICE("/bin")) &&
	                 number_of(&records->commands, path_base(path)) == records->number;
	bool is_own_text = slice_equal(directory, records->directory) &&
	                   slice_equal(path_base(path), SLICE("entry_points.txt"));

	if (is_module && counts_up_to(records, &records->listed, module, FILES_OF_A_MODULE) &&
	    (announced == records->number ||
	     counts_up_to(records, &records->owned, module, OWNERS_OF_A_MODULE)))
		worksheet_put(records->collect->sheet, "owner",
		              FACTS(fact(module), fact(records->distribution), fact(path),
		                    fact(has_hash)));
	if (startup.len > 0 && /* a package's bytecode is compiled at installation */
	    counts_up_to(records, &records->startup_owned, startup, OWNERS_OF_A_MODULE))
		worksheet_put(records->collect->sheet, "startup_owner",
		              FACTS(fact(records->site->id), fact(startup),
		                    fact(records->distribution),
		                    fact(has_hash || slice_ends(directory, SLICE("__pycache__")))));
	if (slice_starts(path, SLICE("../")) || (slice_ends(directory, SLICE(".dist-info")) &&
	                                         !slice_equal(directory, records->directory)))
		add_stray(records, path);
	if (is_module || startup.len > 0 || is_script || is_own_text ||
	    is_among(&records->objects, path))
		check_hash(records, file);
}

/* --- one distribution --- */

static void put_entry_points(const struct records *records, const struct distribution_record *row)
{
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct entry_point_record *e = &row->entry_points[i];
		const struct target_record *target = e->target;

		worksheet_put(records->collect->sheet, "entry_point",
		              FACTS(fact(entry_point_id(records->distribution, i)),
		                    fact(records->distribution), fact(e->group), fact(e->name),
		                    fact(e->value), fact(e->module),
		                    fact(target_kinds.all[target ? target->kind : TARGET_PYTHON]),
		                    fact(target_states.all[target ? target->state : TARGET_OK]),
		                    target ? fact(target->object) : fact_null(),
		                    target ? fact(target->missing) : fact_null()));
	}
}

static char *path_of(const struct records *records, const char *name)
{
	return collect_path(records->collect, "%s/%.*s/%s", records->site->path,
	                    SLICE_ARGS(records->directory), name);
}

/* Read a file of the distribution's directory; null if it does not exist. *text is malloc'd. */
static struct slice read_file(const struct records *records, const char *name, size_t limit,
                              char **text)
{
	CLEANUP(cleanup_free) char *path = path_of(records, name);
	struct slice out = {0};

	if (records->site->disk.kind == ROOT_DIRECTORY)
		collect_text(records->collect, path, limit, text, &out);
	return out;
}

/* Complain about a RECORD that exists but is not readable. */
static void check_withheld(const struct records *records)
{
	CLEANUP(cleanup_free) char *path = path_of(records, "RECORD");
	CLEANUP(cleanup_close) int fd = path ? file_open(AT_FDCWD, path, 0) : -1;

	if (path && fd < 0 && errno == EACCES)
		complain(records, "unread", path, "it cannot be read");
}

static void read_distribution(struct records *records, const struct distribution_record *row)
{
	CLEANUP(cleanup_free) char *installer_text = NULL;
	CLEANUP(cleanup_free) char *url_text = NULL;
	CLEANUP(cleanup_free) char *record_text = NULL;
	struct slice installer = read_file(records, "INSTALLER", SMALL_FILE_MAX, &installer_text);
	struct slice url = read_file(records, "direct_url.json", SMALL_FILE_MAX, &url_text);
	size_t most = records->text_left < RECORD_FILE_MAX ? records->text_left : RECORD_FILE_MAX;
	struct wheel_record record = {.text = read_file(records, "RECORD", most, &record_text)};
	struct wheel_file file;
	size_t at = 0;

	records->text_left -= record.text.len;
	installer.len = installer.ptr ? strcspn(installer.ptr, "\r\n") : 0; /* the first line */
	worksheet_put(records->collect->sheet, "distribution",
	              FACTS(fact(records->distribution), fact(records->site->id),
	                    fact(row->directory),
	                    fact(slice_is_null(row->name) ? row->directory : row->name),
	                    fact(row->normalized_name), fact(row->version), fact(row->error),
	                    fact(installer), fact(url), fact(record_text != NULL)));
	put_entry_points(records, row);
	records->is_conda = records->site->is_conda && slice_equal(installer, SLICE("conda"));
	add_entry_points(records, row);
	name_map_free(&records->listed);
	if (!record_text)
		check_withheld(records);
	while (record_text && collect_goes_on(records->collect) &&
	       wheel_record_find(&record, SLICE(""), &at, &file))
		if (file.path.len > 0 && file.path.len < PATH_MAX) /* others name no file */
			read_line(records, &file);
}

/* Distributions that are not installed have no RECORD to compare. */
void record_catalogued(struct site *site)
{
	struct records records = {.site = site, .collect = site->collect};

	for (size_t i = 0; i < site->disk.distribution_count && collect_goes_on(site->collect);
	     i++) {
		const struct distribution_record *row = &site->disk.distributions[i];

		records.distribution = distribution_id(site->id, i);
		worksheet_put(site->collect->sheet, "distribution",
		              FACTS(fact(records.distribution), fact(site->id),
		                    fact(row->directory),
		                    fact(slice_is_null(row->name) ? row->directory : row->name),
		                    fact(row->normalized_name), fact(row->version),
		                    fact(row->error), fact("-"), fact_null(), fact(1)));
		put_entry_points(&records, row);
	}
}

void record_read(struct site *site)
{
	CLEANUP(cleanup_records)
	struct records records = {.site = site,
	                          .collect = site->collect,
	                          .failed = &site->collect->no_memory,
	                          .left = FILE_HASH_ALL,
	                          .text_left = RECORDS_MAX,
	                          .stray_left = STRAYS_MAX};

	add_wanted(&records);
	for (size_t i = 0; i < site->disk.distribution_count && collect_goes_on(site->collect);
	     i++) {
		records.number = (uint32_t)i + 1;
		records.distribution = distribution_id(site->id, i);
		records.directory = site->disk.distributions[i].directory;
		read_distribution(&records, &site->disk.distributions[i]);
	}
}

/* --- requirements --- */

/* The name in "Requires-Dist: some-name[extra]>=1; marker". */
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
			return; /* end of the headers */
		if (name.len == 0)
			continue;
		name = distname_normalize_in(&names, name, &collect->no_memory);
		worksheet_put(collect->sheet, "requirement", FACTS(fact(distribution), fact(name)));
	}
}

/* Needed only for distributions whose entry points refer to modules of other distributions. */
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
