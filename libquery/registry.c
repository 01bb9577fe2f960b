/*
 * registry.c - a map from names to objects registered in this process, or to entry points of a
 * group that are loaded on first look-up.
 *
 *     items[]  name -> an object, or its entry point, or both
 *
 * Modelled on the registry of PyTorch's compiler back ends: registered objects take precedence over
 * installed ones; the database is queried once, on first need; and a failed load is not cached.
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

#define NAMES_LISTED 20 /* names listed in the message about an unknown one */

struct item {
	struct slice name, tags;                /* tags: comma-separated; or null */
	const entrydb_entry_point *entry_point; /* in the set; NULL for none */
	void *object;
	bool has_object;
};

struct entrydb_registry {
	pthread_mutex_t lock; /* guards all members below; not held during a load */
	entrydb *db;
	char *group;
	entrydb_load_options load;
	entrydb_set *found; /* NULL: not queried yet */
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

/* The item of that name, created if missing; NULL if out of memory. */
static struct item *get_or_add(entrydb_registry *registry, const char *name)
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

/* Select the group, once. With the lock. */
static int discover(entrydb_registry *registry, struct error *error)
{
	entrydb_set *found;
	bool failed = false;
	int code = registry->found ? 1
	                           : select_entry_points(registry->db, registry->group, NULL,
	                                                 SELECT_RANKED, &found, error);

	if (code != 0)
		return code < 0 ? code : 0;
	for (size_t i = 0; !failed && i < found->count; i++) {
		struct item *item =
		        get_or_add(registry, found->entry_points[i].text[ENTRYDB_FIELD_NAME].ptr);

		failed = !item;
		if (item && !item->entry_point)
			item->entry_point = &found->entry_points[i];
	}
	for (size_t i = 0; failed && i < registry->count; i++)
		registry->items[i].entry_point = NULL;
	if (!failed)
		registry->found = take(found);
	entrydb_set_free(found);
	return failed ? error_nomem(error) : 0;
}

/* --- opening --- */

int entrydb_registry_open(entrydb *db, const char *group, const entrydb_load_options *load,
                          entrydb_registry **out, entrydb_error *error)
{
	entrydb_registry *registry;

	if (load && load->size != sizeof(*load))
		return error_options(error_inside(error), "ENTRYDB_LOAD_OPTIONS_INIT");
	registry = calloc(1, sizeof(*registry));
	if (registry)
		registry->group = strdup(group);
	if (!registry || !registry->group) {
		free(registry);
		return error_nomem(error_inside(error));
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

int entrydb_registry_register(entrydb_registry *registry, const char *name, void *object,
                              const char *tags, entrydb_error *error)
{
	struct error *own = error_inside(error);
	bool failed = false;
	struct item *item;
	struct slice copy;
	int code = 0;

	pthread_mutex_lock(&registry->lock);
	item = get_or_add(registry, name);
	copy = arena_copy(&registry->arena, slice_of(tags), &failed);
	if (!item || failed)
		code = error_nomem(own);
	else if (item->has_object)
		code = error_set(own, ERROR_EXISTS, "duplicate name: %s", name);
	else
		*item = (struct item){item->name, copy, item->entry_point, object, true};
	pthread_mutex_unlock(&registry->lock);
	return code;
}

/* --- listing --- */

/* Do the two lists have a word in common? */
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

/* Unregistered entry points have no tags. NULL if out of memory. */
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

/* The message suggests a similar name and lists the first few. */
static int no_such_name(const entrydb_registry *registry, const char *name, struct error *error)
{
	entrydb_names *names = make_names(registry, NULL);
	CLEANUP(cleanup_free) char *text = NULL;
	struct nearest nearest = nearest_to(slice_of(name));
	size_t size, count = names ? names->count : 0;
	FILE *stream = open_memstream(&text, &size);
	int code;

	for (size_t i = 0; i < count; i++)
		nearest_offer(&nearest, slice_of(names->names[i]));
	if (stream && slice_is_null(nearest.found))
		fprintf(stream, ".");
	else if (stream)
		fprintf(stream, "; did you mean '%s'?", nearest.found.ptr);
	for (size_t i = 0; stream && i < count && i < NAMES_LISTED; i++)
		fprintf(stream, "%s%s", i == 0 ? " Available: " : ", ", names->names[i]);
	if (stream && count > NAMES_LISTED)
		fprintf(stream, " and %zu more", count - NAMES_LISTED);
	code = error_set(error, ERROR_UNKNOWN, "there is no '%s' in '%s'%s", name, registry->group,
	                 stream && text_close(stream, &text) ? text : ".");
	entrydb_names_free(names);
	return code;
}

/* Find the item of a name. With the lock. */
static int find_name(entrydb_registry *registry, const char *name, struct item *out,
                     struct error *error)
{
	const struct item *item = find(registry, name);
	int code = item ? 0 : discover(registry, error);

	if (code < 0)
		return code;
	item = find(registry, name);
	if (!item || (!item->has_object && !item->entry_point))
		return no_such_name(registry, name, error);
	*out = *item;
	return 0;
}

/* If several threads have loaded it, the first one wins. */
static void *keep(entrydb_registry *registry, const char *name, void *object)
{
	struct item *item;

	pthread_mutex_lock(&registry->lock);
	item = find(registry, name);
	if (!item->has_object)
		item->object = object;
	item->has_object = true;
	object = item->object;
	pthread_mutex_unlock(&registry->lock);
	return object;
}

int entrydb_registry_lookup(entrydb_registry *registry, const char *name, void **object,
                            entrydb_error *error)
{
	struct item item;
	int code;

	pthread_mutex_lock(&registry->lock);
	code = find_name(registry, name, &item, error_inside(error));
	pthread_mutex_unlock(&registry->lock);
	if (code == 0 && !item.has_object) {
		code = entrydb_load_with(registry->db, item.entry_point, &registry->load,
		                         &item.object, error);
		if (code == 0)
			item.object = keep(registry, name, item.object);
	}
	if (code == 0)
		*object = item.object;
	return code;
}

int entrydb_registry_names(entrydb_registry *registry, const char *exclude, entrydb_names **out,
                           entrydb_error *error)
{
	entrydb_names *made = NULL;
	int code;

	pthread_mutex_lock(&registry->lock);
	code = discover(registry, error_inside(error));
	if (code == 0 && !(made = make_names(registry, exclude)))
		code = error_nomem(error_inside(error));
	pthread_mutex_unlock(&registry->lock);
	if (code == 0)
		*out = made;
	return code;
}

GETTER(size_t, entrydb_names_count, entrydb_names, count)

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
