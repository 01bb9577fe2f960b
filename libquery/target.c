/*
 * target.c - see target.h.
 *
 * import_path.c says which file; this says what the file is good for. A shared
 * object is judged by its dynamic symbols: an extension of Python beside a
 * native plugin differs in nothing else, and a host without Python that opens
 * the former gets a screenful of undefined symbols.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "elf_file.h"
#include "import_path.h"

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
	struct target *target;
	struct error *error;
};

const char *target_kind_name(enum target_kind kind)
{
	static const char *const names[] = {
	        [TARGET_UNRESOLVED] = "unresolved", [TARGET_PYTHON] = "python",
	        [TARGET_NATIVE] = "native",         [TARGET_EXTENSION] = "extension",
	        [TARGET_BUNDLED] = "bundled",
	};

	return names[kind];
}

const char *target_state_name(enum target_state state)
{
	static const char *const names[] = {
	        [TARGET_OK] = "ok",
	        [TARGET_MISSING] = "missing",
	        [TARGET_NO_SYMBOL] = "no-symbol",
	        [TARGET_AMBIGUOUS] = "ambiguous",
	        [TARGET_UNRESOLVED_EDITABLE] = "unresolved-editable",
	};

	return names[state];
}

/* Reading a shared object. */

/* The symbols that decide what a shared object is. */
struct symbols {
	struct slice wanted, init; /* either may be null */
};

static int examine_fetched(const struct resolution *r, struct slice spelled, struct symbols symbols,
                           struct elf_facts *out)
{
	struct slice image = {0};
	int result = r->query->fetch(r->query->payload, spelled, &image, r->error);

	if (result < 0)
		return result;
	result = elf_examine_memory(image, symbols.wanted, symbols.init, out, r->error);
	free((char *)image.ptr);
	return result;
}

static int examine_installed(const struct resolution *r, struct slice path, struct symbols symbols,
                             struct elf_facts *out)
{
	CLEANUP(cleanup_close) int fd = -1;
	char name[PATH_MAX];
	struct stat st;

	if (r->query->site_fd < 0 || path.len >= sizeof(name))
		return error_set(r->error, ERROR_NOTFOUND, "no such file");
	memcpy(name, path.ptr, path.len);
	name[path.len] = '\0';
	/* Not blocking: what RECORD lists may be a fifo by now. */
	fd = openat(r->query->site_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(r->error, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(r->error, ERROR_FORMAT, "%s: not a file", name);
	return elf_examine(fd, symbols.wanted, symbols.init, out, r->error);
}

static int examine(const struct resolution *r, const struct wheel_file *file,
                   struct symbols symbols, struct elf_facts *out)
{
	if (r->query->fetch)
		return examine_fetched(r, file->spelled, symbols, out);
	return examine_installed(r, file->path, symbols, out);
}

/* The answer. */

static int set_object(const struct resolution *r, const struct wheel_file *file,
                      const struct elf_facts *facts)
{
	bool failed = false;
	struct target *target = r->target;

	target->object = file->path;
	target->sha256 = file->sha256;
	target->machine = facts->machine;
	if (facts->build_id[0])
		target->build_id = arena_copy(r->arena, slice_of(facts->build_id), &failed);
	return failed ? error_nomem(r->error) : 0;
}

static int set_state(const struct resolution *r, enum target_state state)
{
	r->target->kind = TARGET_UNRESOLVED;
	r->target->state = state;
	return 0;
}

static int set_kind(const struct resolution *r, enum target_kind kind)
{
	r->target->kind = kind;
	r->target->state = TARGET_OK;
	return 0;
}

/* One shared object. */

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

static int classify(const struct resolution *r, const struct elf_facts *facts)
{
	if (!facts->is_shared_object)
		return set_state(r, TARGET_NO_SYMBOL);
	if (facts->exports_wanted && !facts->needs_python) {
		r->target->symbol = r->query->attr;
		return set_kind(r, TARGET_NATIVE);
	}
	if (facts->exports_init || facts->needs_python)
		return set_kind(r, TARGET_EXTENSION);
	return set_state(r, TARGET_NO_SYMBOL);
}

static int resolve_object(const struct resolution *r, const struct wheel_file *file)
{
	struct elf_facts facts = {0};
	struct symbols symbols = {.init = init_symbol(r->query, r->arena)};
	int result;

	if (slice_is_null(symbols.init))
		return error_nomem(r->error);
	if (r->query->attr.len > 0 && !is_dotted(r->query->attr)) /* a.b is Python only */
		symbols.wanted = r->query->attr;
	result = examine(r, file, symbols, &facts);
	if (result == ERROR_NOMEM)
		return result;
	if (result == ERROR_NOTFOUND)
		return set_state(r, TARGET_MISSING);
	if (set_object(r, file, &facts) < 0)
		return ERROR_NOMEM;
	return result < 0 ? set_state(r, TARGET_NO_SYMBOL) : classify(r, &facts);
}

/* A package and a plugin in one distribution. */

static const struct bundle_rule *bundle_rule_of(struct slice group)
{
	for (size_t i = 0; i < sizeof(bundle_rules) / sizeof(bundle_rules[0]); i++)
		if (slice_equal(slice_of(bundle_rules[i].group), group))
			return &bundle_rules[i];
	return NULL;
}

/* Libraries grafted into a wheel serve its plugins and are none themselves. */
static bool is_grafted(struct slice path)
{
	return memmem(path.ptr, path.len, ".libs/", 6) != NULL;
}

/* Where among the sorted lines of @text the line @line belongs. */
static size_t place_of(struct slice text, struct slice line)
{
	size_t at = 0;

	while (at < text.len) {
		struct slice rest = slice_from(text, at);
		const char *end = memchr(rest.ptr, '\n', rest.len);

		if (slice_compare(slice_first(rest, (size_t)(end - rest.ptr)), line) > 0)
			break;
		at += (size_t)(end - rest.ptr) + 1;
	}
	return at;
}

/* Add a line to the candidates, which are sorted: directories list in any order. */
static int add_candidate(const struct resolution *r, struct slice path)
{
	struct slice old = r->target->candidates;
	size_t length = old.len + path.len + 1, at = place_of(old, path);
	char *text = arena_alloc(r->arena, length);

	if (!text)
		return error_nomem(r->error);
	if (old.len > 0)
		memcpy(text, old.ptr, at);
	memcpy(text + at, path.ptr, path.len);
	text[at + path.len] = '\n';
	if (at < old.len)
		memcpy(text + at + path.len + 1, old.ptr + at, old.len - at);
	r->target->candidates = (struct slice){text, length};
	return 0;
}

/* Count @file if it exports the symbol of the rule, and remember it. */
static int consider(const struct resolution *r, const struct bundle_rule *rule,
                    const struct wheel_file *file, size_t *count)
{
	struct symbols symbols = {.wanted = slice_of(rule->symbol)};
	struct elf_facts facts;
	int result;

	if (is_grafted(file->path))
		return 0;
	result = examine(r, file, symbols, &facts);
	if (result == ERROR_NOMEM)
		return result;
	if (result < 0 || !facts.is_shared_object || !facts.exports_wanted || facts.needs_python)
		return 0;
	++*count;
	if (set_object(r, file, &facts) < 0)
		return ERROR_NOMEM;
	return add_candidate(r, file->path);
}

static int consider_record(const struct resolution *r, const struct bundle_rule *rule,
                           size_t *count)
{
	struct wheel_file file;
	int result = 0;

	for (size_t at = 0; result == 0 && wheel_record_find_object(r->query->record, &at, &file);)
		result = consider(r, rule, &file, count);
	return result;
}

static void cleanup_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* @directory and @name, in the arena; null when there is no memory. */
static struct slice join(const struct resolution *r, struct slice directory, struct slice name)
{
	size_t length = directory.len + 1 + name.len;
	char *path = arena_alloc(r->arena, length + 1);

	if (!path)
		return (struct slice){0};
	memcpy(path, directory.ptr, directory.len);
	path[directory.len] = '/';
	memcpy(path + directory.len + 1, name.ptr, name.len);
	path[length] = '\0';
	return (struct slice){path, length};
}

/* Without RECORD nobody knows the distribution's files: those beside the package must do. */
static int consider_directory(const struct resolution *r, const struct bundle_rule *rule,
                              struct slice package, size_t *count)
{
	struct slice path = join(r, package, SLICE(""));
	CLEANUP(cleanup_directory) DIR *directory = NULL;
	struct dirent *child;
	int result = 0;

	if (slice_is_null(path))
		return error_nomem(r->error);
	directory = import_open_directory(r->query, path.ptr);
	while (result == 0 && directory && (child = readdir(directory)) != NULL) {
		struct wheel_file file = {0};

		if (!slice_ends(slice_of(child->d_name), SLICE(".so")))
			continue;
		file.path = join(r, package, slice_of(child->d_name));
		if (slice_is_null(file.path))
			return error_nomem(r->error);
		result = consider(r, rule, &file, count);
	}
	return result;
}

/* The directory of the package: its path without the name of its __init__. */
static struct slice package_of(const struct import_file *found)
{
	struct slice path = found->file.path;
	const char *slash = memrchr(path.ptr, '/', path.len);

	return slash && slice_ends(path, SLICE("/__init__.py")) ? slice_between(path.ptr, slash)
	                                                        : path;
}

static int resolve_python(const struct resolution *r, const struct import_file *found)
{
	r->target->object = found->file.path;
	r->target->sha256 = found->file.sha256;
	return set_kind(r, TARGET_PYTHON);
}

/* Exactly one object with the symbol makes a bundle; none, an ordinary package. */
static int resolve_package(const struct resolution *r, const struct import_file *found,
                           const struct bundle_rule *rule)
{
	size_t count = 0;
	int result;

	if (slice_is_null(r->query->record))
		result = consider_directory(r, rule, package_of(found), &count);
	else
		result = consider_record(r, rule, &count);
	if (result < 0)
		return result;
	if (count == 0)
		return resolve_python(r, found);
	if (count > 1) {
		*r->target = (struct target){.candidates = r->target->candidates};
		return set_state(r, TARGET_AMBIGUOUS);
	}
	r->target->candidates = (struct slice){0};
	r->target->symbol = slice_of(rule->symbol);
	return set_kind(r, TARGET_BUNDLED);
}

static int resolve(const struct resolution *r, const struct import_file *found)
{
	const struct bundle_rule *rule = bundle_rule_of(r->query->group);

	if (slice_is_null(found->file.path))
		return set_state(r,
		                 r->query->editable ? TARGET_UNRESOLVED_EDITABLE : TARGET_MISSING);
	if (found->is_object)
		return resolve_object(r, &found->file);
	if (rule && found->is_package)
		return resolve_package(r, found, rule);
	return resolve_python(r, found);
}

int target_resolve(const struct target_query *query, struct arena *arena, struct target *out,
                   struct error *error)
{
	struct error ignored = {0}; /* why one object could not be read is not the answer */
	struct target target = {0};
	struct resolution resolution = {query, arena, &target, &ignored};
	struct import_file found;
	int r = import_find(query, arena, &found, error);

	if (r < 0)
		return r;
	r = resolve(&resolution, &found);
	error_clear(&ignored);
	if (r < 0)
		return error_nomem(error);
	*out = target;
	return 0;
}
