/*
 * target.c - says what the file that import would take is good for.
 *
 * A shared object is judged by its dynamic symbols: an extension of Python beside a
 * native plugin differs in nothing else, and a host without Python that opens
 * the former gets a screenful of undefined symbols.
 */
#include "libquery/disk/target/target.h"

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "libquery/disk/target/plugin_kinds.h"

/* What one resolution works with. */
struct resolution {
	const struct target_query *query;
	struct import_site site;
	struct object_site objects;
	struct target_memo *memo;
	struct arena *arena;
	struct target_record *target;
	struct error *error;
};

/* A look at a shared object. */
struct look {
	const struct wheel_file *file;
	struct object object;
	struct elf_facts facts;
	bool is_shared_object;
	int code; /* why there is nothing to be seen, or 0 */
};

static void cleanup_look(struct look *look)
{
	object_close(&look->object);
}

/* Either symbol may be null. */
static struct look look_at(const struct resolution *work, const struct wheel_file *file,
                           struct slice wanted, struct slice init)
{
	struct look look = {.file = file, .object = OBJECT_INIT};

	look.code = object_open(&work->objects, file, &look.object, work->error);
	if (look.code == 0)
		look.code = elf_file_find(look.object.file, wanted, init, &look.facts, work->error);
	if (look.code == 0)
		look.is_shared_object = elf_file_header(look.object.file)->is_shared_object;
	return look;
}

/* --- the answer --- */

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

static int set_object(const struct resolution *work, const struct look *look)
{
	struct target_record *target = work->target;

	target->object = look->file->path;
	target->sha256 = look->file->sha256;
	if (!look->object.file)
		return 0;
	return object_describe(&look->object, work->arena, target, work->error);
}

/* --- one shared object --- */

static bool is_dotted(struct slice s)
{
	return s.len > 0 && memchr(s.ptr, '.', s.len) != NULL;
}

static struct slice last_part(struct slice module)
{
	const char *dot = memrchr(module.ptr, '.', module.len);

	return dot ? slice_from(module, (size_t)(dot - module.ptr) + 1) : module;
}

/* PyInit_ and the last part of the module; null when there is no memory. */
static struct slice init_symbol(const struct target_query *query, struct arena *arena)
{
	const struct slice prefix = SLICE("PyInit_");
	struct slice name = last_part(query->module);
	char *symbol = arena_alloc(arena, prefix.len + name.len);

	if (!symbol)
		return (struct slice){0};
	memcpy(symbol, prefix.ptr, prefix.len);
	memcpy(symbol + prefix.len, name.ptr, name.len);
	return (struct slice){symbol, prefix.len + name.len};
}

/* It exports what was wanted, and does not itself need Python. */
static int judge(const struct resolution *work, const struct look *look, struct slice symbol)
{
	int code = object_judge(&work->objects, &look->object, look->file, work->arena,
	                        work->target, work->error);

	if (code == 0 && work->target->kind == TARGET_NATIVE)
		work->target->symbol = symbol;
	return code;
}

/* What came of the look at an object: an answer, unless it is a failure. */
static int conclude(const struct resolution *work, const struct look *look)
{
	const struct elf_facts *facts = &look->facts;

	if (error_is_failure(look->code))
		return look->code;
	if (look->code == ERROR_NOTFOUND)
		return set_state(work, TARGET_MISSING);
	if (set_object(work, look) < 0)
		return ERROR_NOMEM;
	if (look->code == ERROR_LIMIT)
		return set_state(work, TARGET_NOT_EXAMINED);
	if (look->is_shared_object && facts->exports_wanted && !facts->needs_python)
		return judge(work, look, work->query->attr);
	if (look->is_shared_object && (facts->exports_init || facts->needs_python))
		return set(work, TARGET_EXTENSION, TARGET_OK);
	return set_state(work, TARGET_NO_SYMBOL);
}

static int resolve_object(const struct resolution *work, const struct wheel_file *file)
{
	const struct slice init = init_symbol(work->query, work->arena), attr = work->query->attr;
	CLEANUP(cleanup_look) struct look look = {.object = OBJECT_INIT};

	if (slice_is_null(init))
		return error_nomem(work->error);
	look = look_at(work, file, is_dotted(attr) ? (struct slice){0} : attr, init);
	return conclude(work, &look); /* a.b is Python only */
}

/* --- a package and a plugin in one distribution --- */

#define ENOUGH             2    /* objects that export the symbol, to be ambiguous */
#define BUNDLE_OBJECTS_MAX 1024 /* objects of one distribution that are looked at */

/* Libraries grafted into a wheel serve its plugins and are not plugins themselves. */
static bool is_grafted(struct slice path)
{
	return memmem(path.ptr, path.len, ".libs/", 6) != NULL;
}

/* Count @file if it exports the symbol, and remember it. */
static int consider(const struct resolution *work, struct slice symbol,
                    const struct wheel_file *file, struct target_bundle *bundle)
{
	CLEANUP(cleanup_look) struct look look = {.object = OBJECT_INIT};
	int code;

	if (is_grafted(file->path))
		return 0;
	look = look_at(work, file, symbol, (struct slice){0});
	if (error_is_failure(look.code))
		return look.code;
	bundle->not_examined |= look.code == ERROR_LIMIT;
	if (!look.is_shared_object || !look.facts.exports_wanted || look.facts.needs_python)
		return 0;
	bundle->count++;
	*work->target = (struct target_record){0};
	code = set_object(work, &look);
	if (code == 0)
		code = judge(work, &look, symbol);
	bundle->target = *work->target;
	return code;
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

/* Without RECORD the distribution's files are not known: those in the package must do. */
static int search_package(const struct resolution *work, struct slice symbol,
                          const struct import_file *found, struct target_bundle *bundle)
{
	CLEANUP(path_index_free) struct path_index objects = {0};
	const struct wheel_record listed = {.index = &objects};
	const struct path_index *names = &objects;
	struct slice package = found->file.path;
	bool failed = false;
	int code = 0;

	if (slice_starts(path_base(package), SLICE("__init__.py")))
		package = path_directory(package);
	if (work->site.fd >= 0)
		code = import_names(&work->site, package, &names, work->error);
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
	*work->target = (struct target_record){
	        .object = found->file.path,
	        .sha256 = found->file.sha256,
	};
	return set(work, TARGET_PYTHON, TARGET_OK);
}

/*
 * Exactly one object with the symbol makes a bundle; none, an ordinary package. All packages
 * of a distribution with a RECORD have the same objects beside them.
 */
static int resolve_package(const struct resolution *work, const struct import_file *found,
                           struct slice symbol)
{
	const struct wheel_record *record = &work->query->site.record;
	struct target_bundle own = {0}, *bundle = &own;
	int code = 0;

	if (!wheel_record_is_null(record))
		bundle = &work->memo->bundle;
	if (bundle == &own)
		code = search_package(work, symbol, found, bundle);
	else if (!bundle->is_known)
		code = search(work, symbol, record, bundle);
	*work->target = (struct target_record){0};
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

/* import_find() and import_find_library(). */
typedef int module_find(const struct import_site *site, struct slice module, struct arena *arena,
                        struct import_file *out, struct error *error);

/* Entry points often share a module. */
static int find_once(const struct resolution *work, module_find *find, struct found_module *last,
                     struct import_file *out)
{
	const struct target_query *query = work->query;
	int code;

	if (!slice_is_null(last->module) && slice_equal(last->module, query->module)) {
		*out = last->found;
		return 0;
	}
	code = find(&work->site, query->module, work->arena, out, work->error);
	if (code == 0)
		*last = (struct found_module){query->module, *out};
	return code;
}

/*
 * What Python would not import may be a library all the same, if it exports what is wanted
 * of it: else the module is as missing as Python says.
 */
static int resolve_library(const struct resolution *work)
{
	const struct target_query *query = work->query;
	CLEANUP(cleanup_look) struct look look = {.object = OBJECT_INIT};
	struct import_file found;
	int code;

	if (query->attr.len == 0 || is_dotted(query->attr))
		return set_state(work, TARGET_MISSING);
	code = find_once(work, import_find_library, &work->memo->by_host, &found);
	if (code < 0)
		return code;
	if (slice_is_null(found.file.path))
		return set_state(work, TARGET_MISSING);
	look = look_at(work, &found.file, query->attr, (struct slice){0});
	if (look.code == ERROR_LIMIT || error_is_failure(look.code) ||
	    (look.is_shared_object && look.facts.exports_wanted))
		return conclude(work, &look);
	return set_state(work, TARGET_MISSING);
}

static int resolve(const struct resolution *work, const struct import_file *found)
{
	struct slice symbol = {0};

	if (slice_is_null(found->file.path) && work->query->editable)
		return set_state(work, TARGET_UNRESOLVED_EDITABLE);
	if (slice_is_null(found->file.path))
		return resolve_library(work);
	if (found->is_object)
		return resolve_object(work, &found->file);
	if (found->is_package)
		symbol = plugin_kinds_symbol_of(work->query->group);
	if (!slice_is_null(symbol))
		return resolve_package(work, found, symbol);
	return resolve_python(work, found);
}

int target_resolve(const struct target_query *query, struct arena *arena, struct target_record *out,
                   struct error *error)
{
	CLEANUP(import_cache_free) struct import_cache cache = {0};
	struct error own = {0}; /* why one object is of no use is not the answer */
	struct target_record target = {0};
	struct target_memo memo = {0};
	struct resolution work = {
	        .query = query,
	        .site = query->site,
	        .objects = query->objects,
	        .memo = query->memo ? query->memo : &memo,
	        .arena = arena,
	        .target = &target,
	        .error = &own,
	};
	struct import_file found;
	int code;

	if (!work.site.cache)
		work.site.cache = &cache;
	work.objects.fd = work.site.fd;
	code = find_once(&work, import_find, &work.memo->by_import, &found);
	if (code == 0)
		code = resolve(&work, &found);
	if (code < 0)
		return error_move(error, &own);
	error_clear(&own);
	*out = target;
	return 0;
}
