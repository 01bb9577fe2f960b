/*
 * target.c - see target.h.
 *
 * import_path.c says which file; this says what the file is good for. A shared
 * object is judged by its dynamic symbols: an extension of Python beside a
 * native plugin differs in nothing else, and a host without Python that opens
 * the former gets a screenful of undefined symbols.
 */
#include "libquery/disk/target/target.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "libquery/disk/elf/elf_file.h"

/* The symbol by which a host of that group knows its plugins. */
static const struct bundle_rule {
	const char *group, *symbol;
} bundle_rules[] = {
        {"jax_plugins", "GetPjrtApi"},
};

/* What one resolution works with. */
struct resolution {
	const struct target_query *query;
	struct arena *arena;
	struct target_record *target;
	struct error *error;
};

/* --- reading a shared object --- */

/* The symbols that decide what a shared object is. */
struct symbols {
	struct slice wanted, init; /* either may be null */
};

static struct object_site site_of(const struct resolution *work)
{
	const struct target_query *query = work->query;

	return (struct object_site){
	        .fd = query->site.fd,
	        .fetch = query->fetch,
	        .payload = query->payload,
	        .examined = query->memo ? &query->memo->examined : NULL,
	        .linkage = query->linkage,
	        .place = query->place,
	};
}

/* @object is the caller's to close, whatever comes of it. */
static int examine(const struct resolution *work, const struct wheel_file *file,
                   struct symbols symbols, struct object *object, struct elf_facts *out)
{
	struct object_site site = site_of(work);
	int code = object_open(&site, file, object, work->error);

	if (code == 0)
		code = elf_file_find(object->file, symbols.wanted, symbols.init, out, work->error);
	return code;
}

/* --- the answer --- */

/* @object: NULL where it could not be opened. */
static int set_object(const struct resolution *work, const struct wheel_file *file,
                      const struct object *object)
{
	struct target_record *target = work->target;

	target->object = file->path;
	target->sha256 = file->sha256;
	if (!object->file)
		return 0;
	return object_describe(object, work->arena, target, work->error);
}

static int set_state(const struct resolution *work, enum target_state state)
{
	work->target->kind = TARGET_UNRESOLVED;
	work->target->state = state;
	return 0;
}

static int set_kind(const struct resolution *work, enum target_kind kind)
{
	work->target->kind = kind;
	work->target->state = TARGET_OK;
	return 0;
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
static int judge(const struct resolution *work, const struct wheel_file *file,
                 const struct object *object, struct slice symbol)
{
	struct object_site site = site_of(work);
	int code = object_judge(&site, object, file, work->arena, work->target, work->error);

	if (code == 0 && work->target->kind == TARGET_NATIVE)
		work->target->symbol = symbol;
	return code;
}

static int classify(const struct resolution *work, const struct wheel_file *file,
                    const struct object *object, const struct elf_facts *facts)
{
	if (!facts->is_shared_object)
		return set_state(work, TARGET_NO_SYMBOL);
	if (facts->exports_wanted && !facts->needs_python)
		return judge(work, file, object, work->query->attr);
	if (facts->exports_init || facts->needs_python)
		return set_kind(work, TARGET_EXTENSION);
	return set_state(work, TARGET_NO_SYMBOL);
}

/* What came of the look at an object: an answer, unless it is a failure. */
static int conclude(const struct resolution *work, const struct wheel_file *file,
                    const struct object *object, const struct elf_facts *facts, int code)
{
	if (error_is_failure(code))
		return code;
	if (code == ERROR_NOTFOUND)
		return set_state(work, TARGET_MISSING);
	if (set_object(work, file, object) < 0)
		return ERROR_NOMEM;
	if (code == ERROR_LIMIT)
		return set_state(work, TARGET_NOT_EXAMINED);
	return code < 0 ? set_state(work, TARGET_NO_SYMBOL) : classify(work, file, object, facts);
}

static int resolve_object(const struct resolution *work, const struct wheel_file *file)
{
	CLEANUP(object_close) struct object object = OBJECT_INIT;
	struct elf_facts facts = {0};
	struct symbols symbols = {.init = init_symbol(work->query, work->arena)};
	int code;

	if (slice_is_null(symbols.init))
		return error_nomem(work->error);
	if (work->query->attr.len > 0 && !is_dotted(work->query->attr)) /* a.b is Python only */
		symbols.wanted = work->query->attr;
	code = examine(work, file, symbols, &object, &facts);
	return conclude(work, file, &object, &facts, code);
}

/* --- a package and a plugin in one distribution --- */

static const struct bundle_rule *bundle_rule_of(struct slice group)
{
	for (size_t i = 0; i < sizeof(bundle_rules) / sizeof(bundle_rules[0]); i++)
		if (slice_equal(slice_of(bundle_rules[i].group), group))
			return &bundle_rules[i];
	return NULL;
}

/* Libraries grafted into a wheel serve its plugins and are not plugins themselves. */
static bool is_grafted(struct slice path)
{
	return memmem(path.ptr, path.len, ".libs/", 6) != NULL;
}

#define ENOUGH             2    /* objects that export the symbol, to be ambiguous */
#define BUNDLE_OBJECTS_MAX 1024 /* objects of one distribution that are looked at */

/* Count @file if it exports the symbol of the rule, and remember it. */
static int consider(const struct resolution *work, const struct bundle_rule *rule,
                    const struct wheel_file *file, struct target_bundle *bundle)
{
	CLEANUP(object_close) struct object object = OBJECT_INIT;
	struct symbols symbols = {.wanted = slice_of(rule->symbol)};
	struct elf_facts facts;
	int code;

	if (is_grafted(file->path))
		return 0;
	code = examine(work, file, symbols, &object, &facts);
	if (error_is_failure(code))
		return code;
	bundle->not_examined |= code == ERROR_LIMIT;
	if (code < 0 || !facts.is_shared_object || !facts.exports_wanted || facts.needs_python)
		return 0;
	bundle->count++;
	*work->target = (struct target_record){0};
	if (set_object(work, file, &object) < 0)
		return ERROR_NOMEM;
	return judge(work, file, &object, symbols.wanted);
}

static int search_record(const struct resolution *work, const struct bundle_rule *rule,
                         struct target_bundle *bundle)
{
	struct wheel_file file;
	size_t seen = 0;
	int code = 0;

	for (size_t at = 0; code == 0 && bundle->count < ENOUGH && seen++ < BUNDLE_OBJECTS_MAX &&
	                    wheel_record_find_object(&work->query->site.record, &at, &file);)
		code = consider(work, rule, &file, bundle);
	return code;
}

/* All packages of a distribution have the same objects beside them. */
static int consider_record(const struct resolution *work, const struct bundle_rule *rule,
                           struct target_bundle *bundle)
{
	struct target_memo *memo = work->query->memo;
	int code;

	if (memo && memo->has_bundle && memo->rule == rule) {
		*bundle = memo->found_bundle;
		*work->target = memo->bundle;
		return 0;
	}
	code = search_record(work, rule, bundle);
	if (code == 0 && memo) {
		memo->has_bundle = true;
		memo->rule = rule;
		memo->found_bundle = *bundle;
		memo->bundle = *work->target;
	}
	return code;
}

/* Without RECORD the distribution's files are not known: those in the package must do. */
static int consider_directory(const struct resolution *work, const struct bundle_rule *rule,
                              struct slice package, struct target_bundle *bundle)
{
	bool failed = false;
	struct slice path = path_join_in(work->arena, package, SLICE(""), &failed);
	CLEANUP(cleanup_closedir) DIR *directory = NULL;
	const char *child;
	int code, left = 0;

	if (failed)
		return error_nomem(work->error);
	code = import_open_directory(&work->query->site, path.ptr, &directory, work->error);
	while (code == 0 && bundle->count < ENOUGH && directory &&
	       (left = file_next(directory, &child)) > 0) {
		struct wheel_file file = {0};

		if (!slice_ends(slice_of(child), SLICE(".so")))
			continue;
		file.path = path_join_in(work->arena, package, slice_of(child), &failed);
		if (failed)
			return error_nomem(work->error);
		code = consider(work, rule, &file, bundle);
	}
	return left < 0 ? error_errno(work->error, errno, "cannot list %s", path.ptr) : code;
}

/* The directory of the package: its path without the name of its __init__. */
static struct slice package_of(const struct import_file *found)
{
	struct slice path = found->file.path;

	return slice_ends(path, SLICE("/__init__.py")) || slice_ends(path, SLICE("/__init__.pyc"))
	               ? path_directory(path)
	               : path;
}

static int resolve_python(const struct resolution *work, const struct import_file *found)
{
	work->target->object = found->file.path;
	work->target->sha256 = found->file.sha256;
	return set_kind(work, TARGET_PYTHON);
}

static int look_for_bundle(const struct resolution *work, const struct import_file *found,
                           const struct bundle_rule *rule, struct target_bundle *bundle)
{
	if (wheel_record_is_null(&work->query->site.record))
		return consider_directory(work, rule, package_of(found), bundle);
	return consider_record(work, rule, bundle);
}

/* Exactly one object with the symbol makes a bundle; none, an ordinary package. */
static int resolve_package(const struct resolution *work, const struct import_file *found,
                           const struct bundle_rule *rule)
{
	struct target_bundle bundle = {0};
	int code = look_for_bundle(work, found, rule, &bundle);

	if (code < 0)
		return code;
	if (bundle.count > 1) {
		*work->target = (struct target_record){0};
		return set_state(work, TARGET_AMBIGUOUS);
	}
	if (bundle.not_examined) {
		*work->target = (struct target_record){0};
		return set_state(work, TARGET_NOT_EXAMINED);
	}
	if (bundle.count == 0 || work->target->kind == TARGET_EXTENSION)
		return resolve_python(work, found);
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

	if (last && !slice_is_null(last->module) && slice_equal(last->module, query->module)) {
		*out = last->found;
		return 0;
	}
	code = find(&query->site, query->module, work->arena, out, work->error);
	if (code == 0 && last)
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
	CLEANUP(object_close) struct object object = OBJECT_INIT;
	struct symbols symbols = {.wanted = query->attr};
	struct elf_facts facts = {0};
	struct import_file found;
	int code;

	if (query->attr.len == 0 || is_dotted(query->attr))
		return set_state(work, TARGET_MISSING);
	code = find_once(work, import_find_library, query->memo ? &query->memo->by_host : NULL,
	                 &found);
	if (code < 0)
		return code;
	if (slice_is_null(found.file.path))
		return set_state(work, TARGET_MISSING);
	code = examine(work, &found.file, symbols, &object, &facts);
	if (code == ERROR_LIMIT || error_is_failure(code) ||
	    (code == 0 && facts.is_shared_object && facts.exports_wanted))
		return conclude(work, &found.file, &object, &facts, code);
	return set_state(work, TARGET_MISSING);
}

static int resolve(const struct resolution *work, const struct import_file *found)
{
	const struct bundle_rule *rule = bundle_rule_of(work->query->group);

	if (slice_is_null(found->file.path) && work->query->editable)
		return set_state(work, TARGET_UNRESOLVED_EDITABLE);
	if (slice_is_null(found->file.path))
		return resolve_library(work);
	if (found->is_object)
		return resolve_object(work, &found->file);
	if (rule && found->is_package)
		return resolve_package(work, found, rule);
	return resolve_python(work, found);
}

int target_resolve(const struct target_query *query, struct arena *arena, struct target_record *out,
                   struct error *error)
{
	struct error own = {0}; /* why one object is of no use is not the answer */
	struct target_record target = {0};
	struct resolution resolution = {query, arena, &target, &own};
	struct import_file found;
	int code = find_once(&resolution, import_find, query->memo ? &query->memo->by_import : NULL,
	                     &found);

	if (code == 0)
		code = resolve(&resolution, &found);
	if (code < 0)
		return error_move(error, &own);
	error_clear(&own);
	*out = target;
	return 0;
}
