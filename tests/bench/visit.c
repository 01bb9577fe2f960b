/*
 * visit.c - path entries without a database: each one is opened, queried for a group ("" for all)
 * and closed.
 *
 * usage: visit GROUP PATH_ENTRY...
 *
 * Prints the total nanoseconds, and the number of entry points.
 */
#include "ask.h"

int main(int argc, char **argv)
{
	size_t found = 0;
	int64_t start;

	if (argc < 3)
		bench_fail("usage: visit GROUP PATH_ENTRY...");
	start = bench_now();
	for (int i = 2; i < argc; i++) {
		const char *entry = argv[i];
		entrydb *db = ask_open(&entry, 1, ENTRYDB_FRESH_DEFAULT);

		found += ask_select(db, argv[1][0] ? argv[1] : NULL, NULL);
		entrydb_close(db);
	}
	printf("%lld\t%zu\n", (long long)(bench_now() - start), found);
	return 0;
}
