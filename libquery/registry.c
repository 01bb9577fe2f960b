/*
 * registry.c - names and what they stand for: registered in this process, or found by
 * entry points of a group and loaded when they are first looked up.
 *
 *     items[]  name -> an object, or the entry point that leads to it, or both
 *
 * Modelled on the registry of PyTorch's compiler back ends: what is registered in the
 * process comes before what is installed; the database is asked once, on first need; and a
 * failed load is no answer, so that the next look-up tries again.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/nearest.h"
#include "db/base/text.h"
#include "libquery/names.h"
#include "libquery/select.h"

#define NAMES_TOLD 20 /* names that a message about an unknown one repeats */

struct item {
	struct slice name, tags;                /* tags: comma-separated; or null */
	const entrydb_entry_point *entry_point; /* of the set; NULL: there is none */
	void *object;
	bool has_object;
};

struct entrydb_registry {
	pthread_mutex_t lock; /* guards all that follows; not held while something is loaded */
	entrydb *db;
	char *group;
	entrydb_load_options load;
	entrydb_set *found; /* NULL: the database has not been asked */
	struct item *items;
	size_t count, room;
	struct name_map by_name;
	struct arena arena; /* of names and tags */
};

struct entrydb_names {
	struct arena arena; /* of the texts */
	size_t count;
	const char *names[];
};

/* --- items --- */

static struct item *find(const entrydb_registry *registry, const char *name)
{
	uint32_t number = name_map_get(&registry->by_name, slice_of(name));

	return number == NAME_MAP_NONE ? NULL : &registry->items[number];
}

/* The item of that name, made if need be; NULL without memory. */
static struct item *provide(entrydb_registry *registry, const char *name)
{
	struct item *item = find(registry, name);
	struct slice copy;
	bool failed;

	if (item)
		return item;
	failed = !array_grow(&registry->items, registry->count, sizeof(*item), &registry->room);
	copy = arena_copy(&registry->arena, slice_of(name), &failed);
	if (!failed)
		name_map_set(&registry->by_name, copy, (uint32_t)registry->count, &failed);
	if (failed)
		return NULL;
	registry->items[registry->count] = (struct item){.name = copy};
	return &registry->items[registry->count++];
}

/* --- the database --- */

/* Ask for the group, unless that has been done. With the lock. */
static int discover(entrydb_registry *registry, struct error *error)
{
	entrydb_set *found = NULL;
	bool failed = false;
	int code =
	        registry->found ? 0 : select_ranked(registry->db, registry->group, &found, error);

	for (size_t i = 0; found && !failed && i < entrydb_set_count(found); i++) {
		const entrydb_entry_point *e = entrydb_set_get(found, i);
		struct item *item = provide(registry, entrydb_entry_point_name(e));

		failed = !item;
		if (item && !item->entry_point)
			item->entry_point = e;
	}
	for (size_t i = 0; failed && i < registry->count; i++)
		registry->items[i].entry_point = NULL;
	if (failed)
		entrydb_set_free(take(found));
	if (found)
		registry->found = found;
	return failed ? error_nomem(error) : code;
}

/* --- opening --- */

int entrydb_registry_open(entrydb *db, const char *group, const entrydb_load_options *load,
                          entrydb_registry **out, entrydb_error *error)
{
	entrydb_registry *registry = calloc(1, sizeof(*registry));
	struct error own = {0};

	if (registry)
		registry->group = strdup(group);
	if (!registry || !registry->group) {
		free(registry);
		return error_export(ERROR_NOMEM, &own, error);
	}
	pthread_mutex_init(&registry->lock, NULL);
	registry->db = db;
	registry->load = load ? *load : (entrydb_load_options)ENTRYDB_LOAD_OPTIONS_INIT;
	*out = registry;
	return 0;
}

void entrydb_registry_close(entrydb_registry *registry)
{
	if (!registry)
		return;
	free(registry->items);
	arena_free(&registry->arena);
	name_map_free(&registry->by_name);
	entrydb_set_free(registry->found);
	free(registry->group);
	pthread_mutex_destroy(&registry->lock);
	free(registry);
}

/* --- registering --- */

static int put(entrydb_registry *registry, const char *name, void *object, const char *tags,
               struct error *error)
{
	struct item *item = find(registry, name);
	bool failed = false;
	struct slice copy;

	if (item && item->has_object)
		return error_set(error, ERROR_EXISTS, "duplicate name: %s", name);
	item = provide(registry, name);
	copy = arena_copy(&registry->arena, slice_of(tags), &failed);
	if (!item || failed)
		return error_nomem(error);
	item->object = object;
	item->has_object = true;
	item->tags = copy;
	return 0;
}

int entrydb_registry_register(entrydb_registry *registry, const char *name, void *object,
                              const char *tags, entrydb_error *error)
{
	struct error own = {0};
	int code;

	pthread_mutex_lock(&registry->lock);
	code = put(registry, name, object, tags, &own);
	pthread_mutex_unlock(&registry->lock);
	return code < 0 ? error_export(code, &own, error) : 0;
}

/* --- listing --- */

/* Is one of the words of @list among those of @tags? */
static bool has_tag(struct slice tags, struct slice list)
{
	while (list.len > 0) {
		struct slice wanted = slice_take(&list, ',');

		for (struct slice own = tags; own.len > 0;)
			if (slice_equal(wanted, slice_take(&own, ',')))
				return true;
	}
	return false;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* What is not loaded has no tags that could be known. NULL without memory. */
static entrydb_names *make_names(const entrydb_registry *registry, const char *exclude)
{
	entrydb_names *made = calloc(1, sizeof(*made) + registry->count * sizeof(*made->names));
	bool failed = !made;

	for (size_t i = 0; !failed && i < registry->count; i++) {
		const struct item *item = &registry->items[i];

		if ((item->has_object || item->entry_point) &&
		    !has_tag(item->tags, slice_of(exclude)))
			made->names[made->count++] =
			        arena_copy(&made->arena, item->name, &failed).ptr;
	}
	if (failed)
		entrydb_names_free(take(made));
	else
		qsort(made->names, made->count, sizeof(*made->names), by_name);
	return made;
}

/* --- looking up --- */

/* In a message about an unknown one. */
static char *tell_names(const entrydb_names *names)
{
	char *text = NULL;
	size_t size, told = names->count < NAMES_TOLD ? names->count : NAMES_TOLD;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	for (size_t i = 0; i < told; i++)
		fprintf(stream, "%s%s", i == 0 ? " There are: " : ", ", names->names[i]);
	if (names->count > told)
		fprintf(stream, " and %zu more", names->count - told);
	return text_close(stream, &text) ? text : NULL;
}

static int no_such_name(const entrydb_registry *registry, const char *name, struct error *error)
{
	entrydb_names *names = make_names(registry, NULL);
	CLEANUP(cleanup_free) char *there = names ? tell_names(names) : NULL;
	struct nearest nearest = nearest_to(slice_of(name));
	bool is_near;

	for (size_t i = 0; i < registry->count; i++)
		nearest_offer(&nearest, registry->items[i].name);
	is_near = !slice_is_null(nearest.found);
	entrydb_names_free(names);
	return error_set(error, ERROR_UNKNOWN, "there is no '%s' in '%s'%s%.*s%s%s", name,
	                 registry->group, is_near ? "; did you mean '" : ".",
	                 (int)nearest.found.len, is_near ? nearest.found.ptr : "",
	                 is_near ? "'?" : "", there ? there : "");
}

/*
 * What the name stands for: 1 and *object, or 0 and the entry point that is to be loaded.
 * With the lock.
 */
static int find_name(entrydb_registry *registry, const char *name, void **object,
                     const entrydb_entry_point **entry_point, struct error *error)
{
	const struct item *item = find(registry, name);
	int code;

	if (!item) {
		code = discover(registry, error);
		if (code < 0)
			return code;
		item = find(registry, name);
	}
	if (!item || (!item->has_object && !item->entry_point))
		return no_such_name(registry, name, error);
	*entry_point = item->entry_point;
	if (item->has_object)
		*object = item->object;
	return item->has_object;
}

/* The first of several threads that have loaded it is the one that counts. */
static void keep(entrydb_registry *registry, const char *name, void **object)
{
	struct item *item;

	pthread_mutex_lock(&registry->lock);
	item = find(registry, name);
	if (item->has_object) {
		*object = item->object;
	} else {
		item->object = *object;
		item->has_object = true;
	}
	pthread_mutex_unlock(&registry->lock);
}

int entrydb_registry_lookup(entrydb_registry *registry, const char *name, void **object,
                            entrydb_error *error)
{
	const entrydb_entry_point *entry_point = NULL;
	struct error own = {0};
	void *loaded;
	int code;

	pthread_mutex_lock(&registry->lock);
	code = find_name(registry, name, object, &entry_point, &own);
	pthread_mutex_unlock(&registry->lock);
	if (code < 0)
		return error_export(code, &own, error);
	if (code > 0)
		return 0;
	code = entrydb_load_with(registry->db, entry_point, &registry->load, &loaded, error);
	if (code < 0)
		return code;
	keep(registry, name, &loaded);
	*object = loaded;
	return 0;
}

int entrydb_registry_names(entrydb_registry *registry, const char *exclude, entrydb_names **out,
                           entrydb_error *error)
{
	entrydb_names *made = NULL;
	struct error own = {0};
	int code;

	pthread_mutex_lock(&registry->lock);
	code = discover(registry, &own);
	if (code == 0)
		made = make_names(registry, exclude);
	pthread_mutex_unlock(&registry->lock);
	if (code == 0 && !made)
		code = ERROR_NOMEM;
	if (code < 0)
		return error_export(code, &own, error);
	*out = made;
	return 0;
}

size_t entrydb_names_count(const entrydb_names *names)
{
	return names->count;
}

const char *entrydb_names_get(const entrydb_names *names, size_t index)
{
	return index < names->count ? names->names[index] : NULL;
}

void entrydb_names_free(entrydb_names *names)
{
	if (!names)
		return;
	arena_free(&names->arena);
	free(names);
}
