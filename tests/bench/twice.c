/*
 * twice.c - times the first query of a process, and its repetition with the same handle.
 *
 * usage: twice trust|roots GROUP PATH_ENTRY
 *
 * Prints the nanoseconds of the first query including opening, the number of entry points, and the
 * nanoseconds of the second.
 */
#include "ask.h"

int main(int argc, char **argv)
{
	enum entrydb_fresh fresh;
	int64_t start, first, second;
	const char *entry;
	size_t found;
	entrydb *db;

	if (argc != 4 || entrydb_fresh_parse(argv[1], &fresh) < 0)
		bench_fail("usage: twice trust|roots GROUP PATH_ENTRY");
	entry = argv[3];
	start = bench_now();
	db = ask_open(&entry, 1, fresh);
	found = ask_select(db, argv[2], NULL);
	first = bench_now();
	ask_select(db, argv[2], NULL);
	second = bench_now();
	entrydb_close(db);
	printf("%lld\t%zu\t%lld\n", (long long)(first - start), found, (long long)(second - first));
	return 0;
}
