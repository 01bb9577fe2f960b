/*
 * target.c - classifies the file that import would use.
 *
 * Shared objects are classified by their dynamic symbols: nothing else distinguishes a Python
 * extension from a native plugin, and opening the former without Python fails with undefined
 * symbols.
 */
#include "libquery/disk/target/target.h"

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "libquery/disk/target/plugin_kinds.h"

/* The state of one resolution. */
struct resolution {
	struct target_site *site;
	const struct entry_point_record *wanted;
	struct arena *arena;
	struct target_record *target;
	struct error *error;
};

/* --- the result --- */

static int set(const struct resolution *work, enum target_kind kind, enum target_state state)
{
	work->target->kind = kind;
	work->target->state = state;
	return 0;
}

static int set_state(const struct resolution *work, enum target_state state)
{
	return set(work, TARGET_UNRESOLVED, state);
}

/* The object exports the wanted symbol, and does not itself need Python. */
static int judge(const struct resolution *work, const struct object *object, struct slice symbol,
                 struct target_record *target)
{
	int code = object_judge(&work->site->objects, object, work->arena, target, work->error);

	if (code == 0 && target->kind == TARGET_NATIVE)
		target->symbol = symbol;
	return code;
}

/*
 * Set the result for an object whose examination ended with @code; only transient failures are
 * returned.
 */
static int conclude(const struct resolution *work, const struct object *object, int code)
{
	const struct elf_facts *facts = &object->facts;

	if (error_is_failure(code))
		return code;
	if (code == ERROR_NOTFOUND)
		return set_state(work, TARGET_MISSING);
	if (facts->exports_wanted && !facts->needs_python)
		return judge(work, object, work->wanted->attr, work->target);
	if (object_describe(object, work->arena, work->target, work->error) < 0)
		return ERROR_NOMEM;
	if (code == ERROR_LIMIT)
		return set_state(work, TARGET_NOT_EXAMINED);
	if (facts->exports_init || facts->needs_python)
		return set(work, TARGET_EXTENSION, TARGET_OK);
	return set_state(work, TARGET_NO_SYMBOL);
}

/* --- one shared object --- */

static bool has_dot(struct slice s)
{
	return s.len > 0 && memchr(s.ptr, '.', s.len);
}

static int resolve_object(const struct resolution *work, const struct wheel_file *file)
{
	const struct slice prefix = SLICE("PyInit_"), attr = work->wanted->attr;
	struct slice module = work->wanted->module;
	const char *dot = memrchr(module.ptr, '.', module.len);
	CLEANUP(object_close) struct object object = OBJECT_INIT;
	char *init = arena_alloc(work->arena, prefix.len + module.len);

	if (!init)
		return error_nomem(work->error);
	if (dot) /* the symbol is named after the last part */
		module = slice_between(dot + 1, module.ptr + module.len);
	memcpy(mempcpy(init, prefix.ptr, prefix.len), module.ptr, module.len);
	return conclude(
	        work, &object,
	        object_find(&work->site->objects, file,
	                    has_dot(attr) ? (struct slice){0} : attr, /* a.b is not a symbol */
	                    (struct slice){init, prefix.len + module.len}, &object, work->error));
}

/*
 * A module that Python would not import may still be a library, if it exports the wanted symbol;
 * else it is missing.
 */
static int resolve_library(const struct resolution *work)
{
	const struct slice attr = work->wanted->attr;
	CLEANUP(object_close) struct object object = OBJECT_INIT;
	struct target_site *site = work->site;
	int code = 0;

	if (attr.len == 0 || has_dot(attr))
		return set_state(work, TARGET_MISSING);
	if (!site->asked_library)
		code = import_find_library(&site->modules, work->wanted->module, work->arena,
		                           &site->last_library, work->error);
	if (code < 0)
		return code;
	site->asked_library = true;
	if (slice_is_null(site->last_library.file.path))
		return set_state(work, TARGET_MISSING);
	code = object_find(&site->objects, &site->last_library.file, attr, (struct slice){0},
	                   &object, work->error);
	if (code == ERROR_LIMIT || error_is_failure(code) || object.facts.exports_wanted)
		return conclude(work, &object, code);
	return set_state(work, TARGET_MISSING);
}

/* --- a package and a plugin in one distribution --- */

#define ENOUGH             2    /* objects that export the symbol: ambiguous */
#define BUNDLE_OBJECTS_MAX 1024 /* objects of one distribution that are examined */

/* Count @file if it exports the symbol, and keep its target. */
static int consider(const struct resolution *work, struct slice symbol,
                    const struct wheel_file *file, struct target_bundle *bundle)
{
	CLEANUP(object_close) struct object object = OBJECT_INIT;
	int code;

	if (memmem(file->path.ptr, file->path.len, ".libs/", 6))
		return 0; /* a library grafted into a wheel by auditwheel is no plugin */
	code = object_find(&work->site->objects, file, symbol, (struct slice){0}, &object,
	                   work->error);
	if (error_is_failure(code))
		return code;
	bundle->not_examined |= code == ERROR_LIMIT;
	if (!object.facts.exports_wanted || object.facts.needs_python)
		return 0;
	bundle->count++;
	bundle->target = (struct target_record){0};
	return judge(work, &object, symbol, &bundle->target);
}

static int search(const struct resolution *work, struct slice symbol,
                  const struct wheel_record *record, struct target_bundle *bundle)
{
	struct wheel_file file;
	size_t seen = 0;
	int code = 0;

	for (size_t at = 0; code == 0 && bundle->count < ENOUGH && seen++ < BUNDLE_OBJECTS_MAX &&
	                    wheel_record_find_object(record, &at, &file);)
		code = consider(work, symbol, &file, bundle);
	bundle->is_known = code == 0;
	return code;
}

/* Without RECORD the distribution's files are unknown: search the package's directory. */
static int search_package(const struct resolution *work, struct slice symbol, struct slice package,
                          struct target_bundle *bundle)
{
	CLEANUP(path_index_free) struct path_index objects = {0};
	const struct wheel_record listed = {.index = &objects};
	const struct path_index *names = &objects;
	bool failed = false;
	int code = 0;

	if (slice_starts(path_base(package), SLICE("__init__.py")))
		package = path_directory(package);
	if (work->site->modules.fd >= 0)
		code = import_names(&work->site->modules, package, &names, work->error);
	for (size_t i = 0; code == 0 && i < names->count; i++)
		if (slice_ends(names->paths[i], SLICE(".so")))
			failed |= !path_index_add(&objects, path_join_in(work->arena, package,
			                                                 names->paths[i], &failed));
	if (failed)
		return error_nomem(work->error);
	return code < 0 ? code : search(work, symbol, &listed, bundle);
}

static int resolve_python(const struct resolution *work, const struct import_file *found)
{
	work->target->object = found->file.path;
	work->target->sha256 = found->file.sha256;
	return set(work, TARGET_PYTHON, TARGET_OK);
}

/*
 * Exactly one object with the symbol makes a bundle; without one it is an ordinary package. All
 * packages of a distribution with a RECORD share the same objects.
 */
static int resolve_package(const struct resolution *work, const struct import_file *found,
                           struct slice symbol)
{
	const struct wheel_record *record = &work->site->modules.record;
	struct target_bundle own = {0}, *bundle = &own;
	int code = 0;

	if (wheel_record_is_null(record)) {
		code = search_package(work, symbol, found->file.path, bundle);
	} else {
		bundle = &work->site->bundle;
		if (!bundle->is_known)
			code = search(work, symbol, record, bundle);
	}
	if (code < 0)
		return code;
	if (bundle->count > 1)
		return set_state(work, TARGET_AMBIGUOUS);
	if (bundle->not_examined)
		return set_state(work, TARGET_NOT_EXAMINED);
	if (bundle->count == 0 || bundle->target.kind == TARGET_EXTENSION)
		return resolve_python(work, found);
	*work->target = bundle->target;
	if (work->target->kind == TARGET_NATIVE)
		work->target->kind = TARGET_BUNDLED;
	return 0;
}

/* --- all cases --- */

static int resolve(const struct resolution *work, const struct import_file *found)
{
	struct slice symbol = {0};

	if (slice_is_null(found->file.path))
		return work->site->editable ? set_state(work, TARGET_UNRESOLVED_EDITABLE)
		                            : resolve_library(work);
	if (found->is_object)
		return resolve_object(work, &found->file);
	if (found->is_package)
		symbol = plugin_kinds_symbol_of(work->wanted->group);
	return slice_is_null(symbol) ? resolve_python(work, found)
	                             : resolve_package(work, found, symbol);
}

int target_resolve(struct target_site *site, const struct entry_point_record *wanted,
                   struct arena *arena, struct target_record *out, struct error *error)
{
	struct error own = {0}; /* why one object is unusable is not reported */
	struct target_record target = {0};
	const struct resolution work = {site, wanted, arena, &target, &own};
	bool is_known =
	        !slice_is_null(site->last_module) && slice_equal(site->last_module, wanted->module);
	int code = 0;

	site->asked_library &= is_known;
	if (!is_known)
		code = import_find(&site->modules, wanted->module, arena, &site->last, &own);
	site->last_module = code < 0 ? (struct slice){0} : wanted->module;
	if (code == 0)
		code = resolve(&work, &site->last);
	if (code < 0)
		return error_move(error, &own);
	error_clear(&own);
	*out = target;
	return 0;
}
