/*
 * why.c - who provides an entry point, who else claims it, and how that is known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"

static const char *or_else(const char *text, const char *otherwise)
{
	return text ? text : otherwise;
}

/* GROUP or GROUP/NAME, comma-separated, in $ENTRYDB_DISABLE. */
static bool is_disabled(const char *group, const char *name)
{
	const char *list = secure_getenv("ENTRYDB_DISABLE");
	size_t group_len = strlen(group);

	while (list && *list) {
		size_t len = strcspn(list, ",");

		if (len >= group_len && strncmp(list, group, group_len) == 0 &&
		    (len == group_len ||
		     (list[group_len] == '/' && len == group_len + 1 + strlen(name) &&
		      strncmp(list + group_len + 1, name, strlen(name)) == 0)))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

/* --- the path entry that an entry comes from --- */

static void find_root(entrydb *db, const entrydb_entry *entry, entrydb_root *root)
{
	*root = (entrydb_root){.state = "unknown", .reason = ""};
	for (size_t i = 0; i < entrydb_root_count(db); i++) {
		entrydb_root candidate;

		if (entrydb_root_get(db, i, &candidate, NULL) == 0 &&
		    strcmp(candidate.path, entrydb_entry_path(entry)) == 0) {
			*root = candidate;
			return;
		}
	}
}

/* --- text --- */

static void print_target(const entrydb_target *target)
{
	if (!target) {
		puts("  leads to     nothing that can be looked at");
		return;
	}
	printf("  leads to     %s, %s\n", target->kind, target->state);
	if (target->object)
		printf("  object       %s\n", target->object);
	if (target->symbol)
		printf("  symbol       %s\n", target->symbol);
}

static void print_text(const entrydb_entry *entry, const entrydb_root *root,
                       const entrydb_target *target)
{
	const char *shadow = entrydb_entry_shadowed_by(entry);

	print_escaped(slice_of(entrydb_entry_name(entry)));
	fputs(" = ", stdout);
	print_escaped(slice_of(entrydb_entry_value(entry)));
	fputs(" [", stdout);
	print_escaped(slice_of(entrydb_entry_group(entry)));
	puts("]");
	printf("  provided by  %s %s\n", or_else(entrydb_entry_distribution(entry), "(no name)"),
	       or_else(entrydb_entry_version(entry), "(no version)"));
	printf("  file         %s/entry_points.txt\n", entrydb_entry_file(entry));
	if (shadow)
		printf("  shadowed by  %s, which comes first\n", shadow);
	print_target(target);
	printf("  known from   %s: %s (%s)\n", or_else(root->database, "the disk"), root->state,
	       root->reason);
	printf("  allowed      %s\n",
	       is_disabled(entrydb_entry_group(entry), entrydb_entry_name(entry))
	               ? "no: ENTRYDB_DISABLE names it"
	               : "yes");
}

/* --- JSON --- */

static const char *const keys[] = {"group",    "name",      "value",  "distribution",
                                   "version",  "path",      "file",   "shadowed_by",
                                   "kind",     "state",     "object", "symbol",
                                   "database", "freshness", "reason", "allowed"};

#define KEY_COUNT (sizeof(keys) / sizeof(*keys))

static int print_json(struct json *json, const entrydb_entry *entry, const entrydb_root *root,
                      const entrydb_target *target, struct error *error)
{
	const char *const texts[KEY_COUNT] = {
	        entrydb_entry_group(entry),
	        entrydb_entry_name(entry),
	        entrydb_entry_value(entry),
	        entrydb_entry_distribution(entry),
	        entrydb_entry_version(entry),
	        entrydb_entry_path(entry),
	        entrydb_entry_file(entry),
	        entrydb_entry_shadowed_by(entry),
	        target ? target->kind : NULL,
	        target ? target->state : NULL,
	        target ? target->object : NULL,
	        target ? target->symbol : NULL,
	        root->database,
	        root->state,
	        root->reason,
	        is_disabled(entrydb_entry_group(entry), entrydb_entry_name(entry)) ? "no" : "yes",
	};

	for (size_t i = 0; i < KEY_COUNT; i++)
		json_text(json, i, slice_of(texts[i]));
	return json_write(json, stdout, error);
}

/* --- the whole --- */

static int print_entries(const struct options *options, entrydb *db, const entrydb_set *set,
                         struct error *error)
{
	struct json *json = NULL;
	int code = options->json ? json_open(keys, KEY_COUNT, &json, error) : 0;

	for (size_t i = 0; code == 0 && i < entrydb_set_count(set); i++) {
		const entrydb_entry *entry = entrydb_set_get(set, i);
		entrydb_target *target = NULL;
		entrydb_root root;

		find_root(db, entry, &root);
		entrydb_resolve(db, entry, &target, NULL);
		if (json)
			code = print_json(json, entry, &root, target, error);
		else
			print_text(entry, &root, target);
		entrydb_target_free(target);
	}
	json_close(json);
	return code;
}

/* Nothing found is explained as well: where was looked. */
static void print_searched(const struct options *options, entrydb *db)
{
	message("no entry point %s in group %s", options->arguments[1], options->arguments[0]);
	for (size_t i = 0; i < entrydb_root_count(db); i++) {
		entrydb_root root;

		if (entrydb_root_get(db, i, &root, NULL) == 0)
			message("searched %s: %s (%s)", root.path, root.state, root.reason);
	}
}

static enum status explain(const struct options *options, entrydb *db)
{
	entrydb_error failure = ENTRYDB_ERROR_INIT;
	struct error error = {0};
	entrydb_set *set;
	enum status status = STATUS_DONE;

	if (entrydb_explain(db, options->arguments[0], options->arguments[1], &set, &failure) < 0) {
		message("%s", entrydb_error_message(&failure));
		entrydb_error_clear(&failure);
		return STATUS_COULD_NOT;
	}
	if (entrydb_set_count(set) == 0) {
		print_searched(options, db);
		status = STATUS_NOT_FOUND;
	}
	if (print_entries(options, db, set, &error) < 0)
		status = fail(&error);
	report_problems(set);
	entrydb_set_free(set);
	return status;
}

enum status command_why(const struct options *options)
{
	struct error error = {0};
	entrydb *db;
	enum status status;

	if (open_handle(options, &db, &error) < 0)
		return fail(&error);
	status = explain(options, db);
	entrydb_close(db);
	return status;
}
