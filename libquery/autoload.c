/*
 * autoload.c - loads and calls every entry point of a group, as PyTorch does with its device back
 * ends on import.
 */
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "libquery/names.h"
#include "libquery/select.h"

static bool is_wanted(const entrydb_autoload_options *options, const char *name)
{
	if (!options->only)
		return true;
	for (size_t i = 0; i < options->only_count; i++)
		if (strcmp(options->only[i], name) == 0)
			return true;
	return false;
}

/* --- one of them --- */

static int call(const entrydb_autoload_options *options, const entrydb_entry_point *entry_point,
                void *symbol, struct error *error)
{
	const char *reason;
	int (*function)(void);
	int status;

	if (options->call) {
		reason = options->call(symbol, entry_point, options->payload);
		return reason ? error_set(error, ERROR_PLUGIN, "%s", reason) : 0;
	}
	memcpy(&function, &symbol, sizeof(function)); /* ISO C has no cast for this */
	status = function();
	return status ? error_set(error, ERROR_PLUGIN, "it returned %d", status) : 0;
}

/* The error message includes how to disable the plugin. */
static int try_one(entrydb *db, const entrydb_autoload_options *options,
                   const entrydb_entry_point *entry_point, struct error *error)
{
	const char *variable = options->variable;
	CLEANUP(cleanup_free)
	char *subject = text_format("%s/%s", entrydb_entry_point_group(entry_point),
	                            entrydb_entry_point_name(entry_point));
	CLEANUP(cleanup_free) char *word = subject ? text_shell_word(subject) : NULL;
	entrydb_error cause = ENTRYDB_ERROR_INIT;
	void *symbol;
	int code = entrydb_load_with(db, entry_point, options->load, &symbol, &cause);

	if (code == 0)
		code = call(options, entry_point, symbol, error_inside(&cause));
	if (code == ERROR_PYTHON && options->flags & ENTRYDB_AUTOLOAD_NATIVE_ONLY)
		code = 0;
	if (code < 0)
		error_set(error, code,
		          "failed to load the extension %s: %s; %s%sto keep it from being loaded, "
		          "run: entrydb disable %s",
		          entrydb_entry_point_name(entry_point), entrydb_error_message(&cause),
		          variable ? variable : "", variable ? "=0 switches all of them off; " : "",
		          word ? word : "GROUP/NAME");
	entrydb_error_clear(&cause);
	return code;
}

/* --- all of them --- */

/* Returns the first error. */
static int run_all(entrydb *db, const entrydb_autoload_options *options, const entrydb_set *found,
                   struct error *error)
{
	int first = 0;

	for (size_t i = 0; i < entrydb_set_count(found); i++) {
		const entrydb_entry_point *e = entrydb_set_get(found, i);
		struct error own = {0};
		int code = is_wanted(options, entrydb_entry_point_name(e))
		                   ? try_one(db, options, e, &own)
		                   : 0;

		if (code < 0 && options->failed)
			options->failed(e, &(entrydb_error){own.code, own.message, NULL},
			                options->payload);
		if (code < 0 && first == 0)
			first = error_move(error, &own);
		error_clear(&own);
		if (first < 0 && !(options->flags & ENTRYDB_AUTOLOAD_ALL))
			break;
	}
	return first;
}

int entrydb_autoload(entrydb *db, const char *group, const entrydb_autoload_options *options,
                     entrydb_error *error)
{
	static const entrydb_autoload_options none = ENTRYDB_AUTOLOAD_OPTIONS_INIT;
	struct error *own = error_inside(error);
	const char *value;
	entrydb_set *found;
	int code;

	if (!options)
		options = &none;
	if (options->size != sizeof(none))
		return error_options(own, "ENTRYDB_AUTOLOAD_OPTIONS_INIT");
	value = options->variable ? trust_environment(options->variable) : NULL;
	if (value && strcmp(value, "1") != 0)
		return 0;
	code = select_entry_points(db, group, NULL, SELECT_RANKED, &found, own);
	if (code == 0) {
		code = run_all(db, options, found, own);
		entrydb_set_free(found);
	}
	return code;
}
