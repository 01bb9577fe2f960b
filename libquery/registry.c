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
#include "libquery/policy.h"

#define NAMES_TOLD 20 /* names that a message about an unknown one repeats */

struct item {
	char *name;
	char *tags;                             /* comma-separated; or NULL */
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
};

struct entrydb_names {
	size_t count;
	const char **names; /* and behind them, their texts */
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
	bool failed = false;
	char *copy;

	if (item)
		return item;
	copy = strdup(name);
	if (!copy ||
	    !array_grow(&registry->items, registry->count, sizeof(*item), &registry->room)) {
		free(copy);
		return NULL;
	}
	name_map_set(&registry->by_name, slice_of(copy), (uint32_t)registry->count, &failed);
	if (failed) {
		free(copy);
		return NULL;
	}
	registry->items[registry->count] = (struct item){.name = copy};
	return &registry->items[registry->count++];
}

/* --- the database --- */

static int take_names(entrydb_registry *registry, const entrydb_set *found)
{
	for (size_t i = 0; i < entrydb_set_count(found); i++) {
		const entrydb_entry_point *e = entrydb_set_get(found, i);
		struct item *item = provide(registry, entrydb_entry_point_name(e));

		if (!item)
			return ERROR_NOMEM;
		if (!item->entry_point)
			item->entry_point = e;
	}
	return 0;
}

/* Ask for the group, unless that has been done. With the lock. */
static int discover(entrydb_registry *registry, struct error *error)
{
	entrydb_set *found;
	int code;

	if (registry->found)
		return 0;
	code = policy_select(registry->db, registry->group, &found, error);
	if (code < 0)
		return code;
	if (take_names(registry, found) < 0) {
		for (size_t i = 0; i < registry->count; i++)
			registry->items[i].entry_point = NULL;
		entrydb_set_free(found);
		return error_nomem(error);
	}
	registry->found = found;
	return 0;
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
	for (size_t i = 0; i < registry->count; i++) {
		free(registry->items[i].name);
		free(registry->items[i].tags);
	}
	free(registry->items);
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
	CLEANUP(cleanup_free) char *copy = tags ? strdup(tags) : NULL;
	struct item *item = find(registry, name);

	if (item && item->has_object)
		return error_set(error, ERROR_EXISTS, "duplicate name: %s", name);
	item = provide(registry, name);
	if (!item || (tags && !copy))
		return error_nomem(error);
	item->object = object;
	item->has_object = true;
	item->tags = take(copy);
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

/* --- looking up --- */

static int by_name(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Pointers to all names, sorted; NULL without memory. */
static const char **sorted_names(const entrydb_registry *registry)
{
	const char **names = calloc(registry->count + 1, sizeof(*names));

	for (size_t i = 0; names && i < registry->count; i++)
		names[i] = registry->items[i].name;
	if (names)
		qsort(names, registry->count, sizeof(*names), by_name);
	return names;
}

static char *tell_names(const entrydb_registry *registry)
{
	CLEANUP(cleanup_free) const char **names = sorted_names(registry);
	char *text = NULL;
	size_t size, told = registry->count < NAMES_TOLD ? registry->count : NAMES_TOLD;
	FILE *stream = names ? open_memstream(&text, &size) : NULL;

	if (!stream)
		return NULL;
	for (size_t i = 0; i < told; i++)
		fprintf(stream, "%s%s", i == 0 ? " There are: " : ", ", names[i]);
	if (registry->count > told)
		fprintf(stream, " and %zu more", registry->count - told);
	return text_close(stream, &text) ? text : NULL;
}

static int no_such_name(const entrydb_registry *registry, const char *name, struct error *error)
{
	CLEANUP(cleanup_free) char *there = tell_names(registry);
	struct nearest nearest = nearest_to(slice_of(name));
	bool is_near;

	for (size_t i = 0; i < registry->count; i++)
		nearest_offer(&nearest, slice_of(registry->items[i].name));
	is_near = !slice_is_null(nearest.found);
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
	int code = 0;

	if (!item)
		code = discover(registry, error);
	if (code < 0)
		return code;
	if (!item)
		item = find(registry, name);
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

/* --- listing --- */

/* Is one of the words of @list among those of @tags? */
static bool has_tag(const char *tags, const char *list)
{
	for (const char *word = list; *word;
	     word += strcspn(word, ",") + (strchr(word, ',') != NULL)) {
		struct slice wanted = {word, strcspn(word, ",")};

		for (const char *at = tags; *at; at += strcspn(at, ",") + (strchr(at, ',') != NULL))
			if (slice_equal(wanted, (struct slice){at, strcspn(at, ",")}))
				return true;
	}
	return false;
}

/* What is not loaded has no tags that could be known. */
static bool is_listed(const struct item *item, const char *exclude)
{
	return (item->has_object || item->entry_point) &&
	       !(item->tags && exclude && has_tag(item->tags, exclude));
}

static int make_names(const entrydb_registry *registry, const char *exclude, entrydb_names **out)
{
	size_t size = 0, count = 0;
	entrydb_names *made;
	char *text;

	for (size_t i = 0; i < registry->count; i++)
		size += strlen(registry->items[i].name) + 1;
	made = malloc(sizeof(*made) + (registry->count + 1) * sizeof(*made->names) + size);
	if (!made)
		return ERROR_NOMEM;
	made->names = (const char **)(made + 1);
	text = (char *)(made->names + registry->count + 1);
	for (size_t i = 0; i < registry->count; i++) {
		if (!is_listed(&registry->items[i], exclude))
			continue;
		made->names[count++] = strcpy(text, registry->items[i].name);
		text += strlen(text) + 1;
	}
	made->count = count;
	qsort(made->names, count, sizeof(*made->names), by_name);
	*out = made;
	return 0;
}

int entrydb_registry_names(entrydb_registry *registry, const char *exclude, entrydb_names **out,
                           entrydb_error *error)
{
	struct error own = {0};
	int code;

	pthread_mutex_lock(&registry->lock);
	code = discover(registry, &own);
	if (code == 0 && make_names(registry, exclude, out) < 0)
		code = error_nomem(&own);
	pthread_mutex_unlock(&registry->lock);
	return code < 0 ? error_export(code, &own, error) : 0;
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
	free(names);
}
