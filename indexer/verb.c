/*
 * Queries for the verbs, suggestions where nothing was found, and the output of entry points and
 * targets.
 */
#include "indexer/verb.h"

#include <elf.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "libquery/policy.h"

/* --- queries --- */

void report_problems(const entrydb_set *set)
{
	for (size_t i = 0; i < entrydb_set_problem_count(set); i++)
		message("%s", entrydb_set_problem(set, i));
}

int default_sites(const struct options *options, struct sites *out, struct error *error)
{
	const char *version =
	        options->python && options->rules != ENTRYDB_IM_10_1 ? options->python : NULL;

	return sites_default(out, version, options->sysroot, error);
}

int question_open(const struct options *options, struct question *out, struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	const entrydb_options how = {sizeof(how),
	                             options->rules,
	                             options->fresh,
	                             options->database,
	                             options->sysroot,
	                             options->program,
	                             0};
	bool is_file = options->path_count == 0 && options->database;
	bool is_default = options->path_count == 0 && !is_file;
	const char *const *paths = options->path;
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code = is_default ? default_sites(options, &sites, error) : 0;

	if (code < 0)
		return code;
	if (is_default)
		paths = (const char *const *)sites.paths;
	code = is_file ? entrydb_open_file(options->database, &how, &out->db, &own)
	               : entrydb_open(paths, is_default ? sites.count : options->path_count, &how,
	                              &out->db, &own);
	return take_error(code, &own, error);
}

int select_by(const struct options *options, selector *ask, const char *group, const char *name,
              struct question *out, struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code = question_open(options, out, error);

	if (code < 0)
		return code;
	return take_error(ask(out->db, group, name, &out->set, &own), &own, error);
}

int question_describe(struct question *question, struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;

	return take_error(entrydb_describe_path(question->db, &question->path, &own), &own, error);
}

void question_free(struct question *question)
{
	entrydb_path_free(question->path);
	entrydb_set_free(question->set);
	entrydb_close(question->db);
}

int find_target(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **target,
                struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code;

	*target = NULL;
	code = entrydb_resolve(db, entry_point, target, &own);
	code = error_is_failure(code) ? take_error(code, &own, error) : 0;
	entrydb_error_clear(&own);
	return code;
}

int find_verdict(entrydb *db, const entrydb_entry_point *entry_point, entrydb_verdict **verdict,
                 struct error *error)
{
	return policy_check(db, entry_point, POLICY_AGE, verdict, error);
}

int load_kinds(const struct options *options, struct plugin_kinds **out, struct error *error)
{
	struct error problem = {0};
	int code = plugin_kinds_load(options->sysroot, out, &problem, error);

	if (problem.code)
		message("%s; its kinds of plugins are ignored", error_text(&problem));
	error_clear(&problem);
	return code;
}

/* --- suggestions --- */

char *suggest_near(const char *prefix, const struct nearest *nearest)
{
	if (slice_is_null(nearest->found))
		return strdup("");
	return text_format("; did you mean '%s%.*s'?", prefix, (int)nearest->found.len,
	                   nearest->found.ptr);
}

bool suggest_entry_point(const struct options *options, entrydb *db, const char *group,
                         const char *name)
{
	struct nearest groups = nearest_to(slice_of(group)), names = nearest_to(slice_of(name));
	CLEANUP(cleanup_free) char *suggestion = NULL;
	entrydb_set *all;
	bool has_group;

	if (options->quiet || entrydb_select(db, NULL, NULL, &all, NULL) < 0)
		return false;
	for (size_t i = 0; i < entrydb_set_count(all); i++) {
		const entrydb_entry_point *e = entrydb_set_get(all, i);

		nearest_offer(&groups, slice_of(entrydb_entry_point_group(e)));
		if (name && strcmp(entrydb_entry_point_group(e), group) == 0)
			nearest_offer(&names, slice_of(entrydb_entry_point_name(e)));
	}
	has_group = slice_equal(groups.found, groups.wanted);
	if (!slice_is_null(has_group ? names.found : groups.found))
		suggestion = suggest_near("", has_group ? &names : &groups);
	entrydb_set_free(all); /* the suggestion is a copy */
	if (suggestion && has_group)
		note(options, "there is no '%s' in group '%s'%s", name, group, suggestion);
	else if (suggestion)
		note(options, "there is no group '%s'%s", group, suggestion);
	return suggestion != NULL;
}

int say_not_found(const struct options *options, entrydb *db, const char *group, const char *name)
{
	if (!suggest_entry_point(options, db, group, name))
		message("there is no '%s' in group '%s'", name, group);
	return STATUS_NOT_FOUND;
}

/*
 * Uses the first path entry of each kind: existing without a database, with a database, or missing.
 */
static void advise_on_path(const struct options *options, const entrydb_path *path)
{
	const char *without = NULL, *with = NULL, *absent = NULL;

	for (size_t i = entrydb_path_count(path); i-- > 0;) {
		const entrydb_path_entry *entry = entrydb_path_get(path, i);
		bool is_absent = entrydb_path_entry_state(entry) == ENTRYDB_PATH_ABSENT;
		bool has_database = entrydb_path_entry_database(entry) != NULL;

		*(is_absent      ? &absent
		  : has_database ? &with
		                 : &without) = entrydb_path_entry_path(entry);
	}
	if (without)
		note(options,
		     "no entry points were found, and no database has %s; install packages there "
		     "and run 'entrydb update PATH', or search elsewhere with --path",
		     without);
	else if (with)
		note(options, "the databases have no entry points for the searched path; 'entrydb "
		              "update' records installed packages, --path searches elsewhere");
	else if (absent)
		note(options,
		     "none of the path entries exists, such as %s; search elsewhere "
		     "with --path or ENTRYDB_PATH",
		     absent);
	else
		note(options,
		     "no Python is installed here yet; --path searches elsewhere, 'entrydb "
		     "update PATH' records packages installed there");
}

bool advise_on_nothing(const struct options *options, entrydb *db)
{
	entrydb_set *all;
	entrydb_path *path;
	bool is_empty;

	if (options->quiet || entrydb_select(db, NULL, NULL, &all, NULL) < 0)
		return false;
	is_empty = entrydb_set_count(all) == 0;
	entrydb_set_free(all);
	if (is_empty && options->database && options->path_count == 0) {
		note(options,
		     "%s has no entry points; fill it with 'entrydb update --db FILE PATH', or "
		     "with 'entrydb add --db FILE ARCHIVE'",
		     options->database);
	} else if (is_empty && entrydb_describe_path(db, &path, NULL) == 0) {
		advise_on_path(options, path);
		entrydb_path_free(path);
	}
	return is_empty;
}

/* --- rows --- */

static void put_number(struct output *output, uint64_t number)
{
	if (number)
		output_number(output, (int64_t)number);
	else
		output_string(output, NULL);
}

static void put_field(struct output *output, const entrydb_entry_point *e, enum entrydb_field field)
{
	struct slice text = {0};

	text.ptr = entrydb_entry_point_text(e, field, &text.len);
	if (field == ENTRYDB_FIELD_EXTRAS)
		output_words(output, text);
	else
		output_text(output, text);
}

static void put_cell(struct output *output, int cell, const entrydb_entry_point *e,
                     const entrydb_target *target)
{
	/* In text, a plugin without its object is missing. */
	const char *none = output->form == OUTPUT_JSON ? NULL : "missing";

	if (cell == CELL_PROVIDER && !entrydb_entry_point_distribution(e))
		output_string(output, entrydb_entry_point_file(e));
	else if (cell == CELL_PROVIDER)
		output_string(output, entrydb_entry_point_distribution(e));
	else if (cell >= CELL_FIELD && cell < CELL_TARGET)
		put_field(output, e, (enum entrydb_field)(cell - CELL_FIELD));
	else if (!target)
		output_string(output, cell == CELL_STATE ? none : NULL);
	else if (cell == CELL_KIND)
		output_string(output, entrydb_kind_name(entrydb_target_kind(target)));
	else if (cell == CELL_STATE)
		output_string(output, entrydb_state_name(entrydb_target_state(target)));
	else if (cell == CELL_SIZE)
		put_number(output, entrydb_target_size(target));
	else if (cell == CELL_MACHINE)
		put_number(output, (uint64_t)entrydb_target_machine(target));
	else
		output_string(output, entrydb_target_text(target, (enum entrydb_target_field)(
		                                                          cell - CELL_TARGET)));
}
void entry_put(struct output *output, const entrydb_entry_point *entry_point,
               const entrydb_target *target)
{
	int cell;

	while ((cell = output->columns[output->at].cell) != 0) {
		put_cell(output, cell, entry_point, target);
		if (output->at == 0)
			return;
	}
}

int entry_put_all(struct output *output, const struct question *found, bool with_targets,
                  struct error *error)
{
	int code = 0, ended;

	for (size_t i = 0; code == 0 && i < entrydb_set_count(found->set); i++) {
		const entrydb_entry_point *entry_point = entrydb_set_get(found->set, i);
		entrydb_target *target = NULL;

		if (with_targets)
			code = find_target(found->db, entry_point, &target, error);
		if (code == 0)
			entry_put(output, entry_point, target);
		entrydb_target_free(target);
	}
	ended = output_end(output, code == 0 ? error : NULL);
	return code < 0 ? code : ended;
}

static void print_machine(int machine)
{
	static const char *const names[] = {
	        [EM_X86_64] = "x86-64", [EM_AARCH64] = "aarch64", [EM_386] = "i386",
	        [EM_ARM] = "arm",       [EM_RISCV] = "riscv",     [EM_PPC64] = "ppc64",
	        [EM_S390] = "s390",
	};
	size_t count = sizeof(names) / sizeof(*names);
	const char *name = machine >= 0 && (size_t)machine < count ? names[machine] : NULL;

	if (name)
		print_line(STYLE_BAD, "  made for     %s", name);
	else
		print_line(STYLE_BAD, "  made for     machine %d of ELF's", machine);
}

void target_print(const entrydb_target *target)
{
	static const struct {
		enum entrydb_target_field field;
		enum style style;
		const char *label;
	} lines[] = {
	        {ENTRYDB_TARGET_OBJECT, STYLE_PLAIN, "object"},
	        {ENTRYDB_TARGET_SYMBOL, STYLE_PLAIN, "symbol"},
	        {ENTRYDB_TARGET_BUILD_ID, STYLE_PLAIN, "build-id"},
	        {ENTRYDB_TARGET_GLIBC, STYLE_PLAIN, "glibc"},
	        {ENTRYDB_TARGET_GLIBCXX, STYLE_PLAIN, "glibcxx"},
	        {ENTRYDB_TARGET_MISSING, STYLE_BAD, "missing"},
	        {ENTRYDB_TARGET_UNDEFINED, STYLE_BAD, "undefined"},
	        {ENTRYDB_TARGET_PYTHON_BY, STYLE_PLAIN, "Python by"},
	};

	if (entrydb_target_state(target) == ENTRYDB_STATE_WRONG_ARCHITECTURE)
		print_machine(entrydb_target_machine(target));
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *text = entrydb_target_text(target, lines[i].field);

		if (text)
			print_line(lines[i].style, "  %-12s %s", lines[i].label, text);
	}
}
