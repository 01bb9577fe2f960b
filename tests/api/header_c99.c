/*
 * header_c99.c - the public header compiles alone as strict C99 with every warning an error; uses
 * its macros, and one function so that linking is tested, too.
 */
#include <entrydb.h>

int main(void)
{
	static const entrydb_options constant = ENTRYDB_OPTIONS_INIT;
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	const char *version = ENTRYDB_VERSION;
	entrydb *db;

	options.rules = ENTRYDB_IM_10_1;
	if (constant.size != options.size || version[0] != entrydb_version()[0])
		return 1;
	if (entrydb_open(NULL, 0, &options, &db, &error) != ENTRYDB_OK)
		return 1;
	entrydb_close(db);
	entrydb_error_clear(&error);
	return 0;
}
