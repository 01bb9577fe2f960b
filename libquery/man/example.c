/* example.c - call the plugin that an installed package offers: example GROUP NAME */
#include <entrydb.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	entrydb *db = NULL;
	entrydb_set *found = NULL;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	int (*answer)(void) = NULL;

	if (argc == 3 && entrydb_open(NULL, 0, NULL, &db, &error) == 0 &&
	    entrydb_select(db, argv[1], argv[2], &found, &error) == 0 &&
	    entrydb_set_count(found) > 0 &&
	    entrydb_load(db, entrydb_set_get(found, 0), (void **)&answer, &error) == 0)
		printf("%s answers %d\n", argv[2], answer());
	else
		fprintf(stderr, "%s\n",
		        error.code ? entrydb_error_message(&error) : "no such plugin");
	entrydb_set_free(found);
	entrydb_close(db);
	entrydb_error_clear(&error);
	return answer == NULL;
}
