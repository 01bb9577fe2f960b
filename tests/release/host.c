/*
 * host.c - a program of somebody else's: host SITE GROUP. What it is told, a line for each
 * entry point, and the answer of each that can be loaded. test_abi.py keeps it as it was when
 * the library was released, with the header of then.
 */
#include <entrydb.h>
#include <stdio.h>

static const char *accept_all(void *symbol, void *payload)
{
	unsigned *accepted = payload;

	(void)symbol;
	(*accepted)++;
	return NULL;
}

static int tell(entrydb *db, const entrydb_entry_point *entry)
{
	unsigned accepted = 0;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_load_options options = ENTRYDB_LOAD_OPTIONS_INIT;
	int (*answer)(void) = NULL;
	int code;

	options.accept = accept_all;
	options.payload = &accepted;
	code = entrydb_load_with(db, entry, &options, (void **)&answer, &error);
	printf("%s = %s of %s: ", entrydb_entry_point_name(entry), entrydb_entry_point_value(entry),
	       entrydb_entry_point_distribution(entry));
	if (code == 0)
		printf("%d, accepted %u\n", answer(), accepted);
	else
		printf("%s\n",
		       code == ENTRYDB_EPYTHON ? "needs Python" : entrydb_error_message(&error));
	entrydb_error_clear(&error);
	return code == 0 || code == ENTRYDB_EPYTHON;
}

int main(int argc, char **argv)
{
	entrydb *db = NULL;
	entrydb_set *set = NULL;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	int is_right = argc == 3;

	options.rules = ENTRYDB_PYTHON_3_12;
	options.fresh = ENTRYDB_FRESH_EXACT;
	if (!is_right ||
	    entrydb_open((const char *const *)&argv[1], 1, &options, &db, &error) < 0 ||
	    entrydb_select(db, argv[2], NULL, &set, &error) < 0) {
		fprintf(stderr, "%s\n", entrydb_error_message(&error));
		is_right = 0;
	}
	for (size_t i = 0; is_right && i < entrydb_set_count(set); i++)
		is_right = tell(db, entrydb_set_get(set, i));
	entrydb_set_free(set);
	entrydb_close(db);
	entrydb_error_clear(&error);
	return !is_right;
}
