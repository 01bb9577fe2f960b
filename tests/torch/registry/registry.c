/*
 * registry.c - executes commands, one per input line, with libentrydb's registry and autoload, and
 * writes a line about each, like registry.py with torch's.
 *
 * usage: registry SITE_DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libquery/entrydb.h"

#define GROUP  "registry.back_ends"
#define SWITCH "TORCH_DEVICE_BACKEND_AUTOLOAD"

static void tell(entrydb_error *error)
{
	printf("%s: %s\n",
	       error->code == ENTRYDB_EEXISTS    ? "duplicate"
	       : error->code == ENTRYDB_EUNKNOWN ? "unknown"
	                                         : "failed",
	       entrydb_error_message(error));
	entrydb_error_clear(error);
}

/* Registered objects are texts here, which are kept until the program ends. */
static int register_one(entrydb_registry *registry, char *words, entrydb_error *error)
{
	char *name = strsep(&words, " ");
	char *object = malloc(strlen(name) + sizeof("registered "));

	sprintf(object, "registered %s", name);
	if (entrydb_registry_register(registry, name, object, words, error) < 0)
		return -1;
	puts("done");
	return 0;
}

static int look_up(entrydb_registry *registry, const char *name, entrydb_error *error)
{
	void *object;

	if (entrydb_registry_lookup(registry, name, &object, error) < 0)
		return -1;
	puts(object);
	return 0;
}

static int list(entrydb_registry *registry, const char *exclude, entrydb_error *error)
{
	entrydb_names *names;

	if (entrydb_registry_names(registry, exclude, &names, error) < 0)
		return -1;
	for (size_t i = 0; i < entrydb_names_count(names); i++)
		printf("%s%s", i ? " " : "", entrydb_names_get(names, i));
	putchar('\n');
	entrydb_names_free(names);
	return 0;
}

static int autoload(entrydb *db, const char *group, entrydb_error *error)
{
	entrydb_autoload_options options = ENTRYDB_AUTOLOAD_OPTIONS_INIT;

	options.variable = SWITCH;
	if (entrydb_autoload(db, group, &options, error) < 0)
		return -1;
	puts("done");
	return 0;
}

/* "NAME" or "NAME=VALUE" */
static int set_switch(const char *value)
{
	if (value)
		setenv(SWITCH, value, 1);
	else
		unsetenv(SWITCH);
	puts("done");
	return 0;
}

static int obey(entrydb *db, entrydb_registry *registry, char *line, entrydb_error *error)
{
	const char *verb = strsep(&line, " ");

	if (strcmp(verb, "register") == 0)
		return register_one(registry, line, error);
	if (strcmp(verb, "lookup") == 0)
		return look_up(registry, line, error);
	if (strcmp(verb, "list") == 0)
		return list(registry, line, error);
	if (strcmp(verb, "switch") == 0)
		return set_switch(line);
	return autoload(db, line, error);
}

int main(int count, char **arguments)
{
	const char *site = count == 2 ? arguments[1] : ".";
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_registry *registry;
	entrydb *db;
	char line[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (entrydb_open(&site, 1, NULL, &db, &error) < 0 ||
	    entrydb_registry_open(db, GROUP, NULL, &registry, &error) < 0) {
		tell(&error);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (obey(db, registry, line, &error) < 0)
			tell(&error);
	}
	entrydb_registry_close(registry);
	entrydb_close(db);
	return 0;
}
