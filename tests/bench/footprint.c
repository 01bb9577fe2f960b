/*
 * footprint.c - what it costs a program to have the library: built twice, with
 * ENTRYDB defined and linked to libentrydb, and without, linked to SQLite only.
 *
 * usage: footprint                        (starts and ends)
 *        footprint libraries              (one line for each that was loaded)
 *        footprint PREFIX GROUP NAME      (peak and private kilobytes after one look-up)
 */
#include <link.h>

#ifdef ENTRYDB
#include "ask.h"
#else
#include "bare.h"
#endif

static int print_library(struct dl_phdr_info *info, size_t size, void *payload)
{
	(void)size;
	(void)payload;
	if (info->dlpi_name[0])
		puts(info->dlpi_name);
	return 0;
}

static void print_memory(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	long peak = 0, private = 0;

	while (status && fgets(line, sizeof(line), status)) {
		sscanf(line, "VmHWM: %ld", &peak);
		sscanf(line, "RssAnon: %ld", &private);
	}
	printf("%ld\t%ld\n", peak, private);
}

#ifdef ENTRYDB
static const char *start(void)
{
	return entrydb_version();
}

static size_t look_up(const char *prefix, const char *group, const char *name)
{
	char *path[PATH_ENTRIES];

	bench_path(prefix, path);
	return ask_select(ask_open((const char *const *)path, PATH_ENTRIES, ENTRYDB_FRESH_ROOTS),
	                  group, name);
}
#else
static const char *start(void)
{
	return sqlite3_libversion();
}

static size_t look_up(const char *prefix, const char *group, const char *name)
{
	return bare_select(bare_prepare(bare_open(bench_database(prefix)), bare_statement), group,
	                   strlen(group), name, strlen(name));
}
#endif

int main(int argc, char **argv)
{
	if (argc == 4) {
		if (look_up(argv[1], argv[2], argv[3]) == 0)
			bench_fail("%s %s: not found", argv[2], argv[3]);
		print_memory();
	} else if (argc == 2) {
		dl_iterate_phdr(print_library, NULL);
	}
	return start() == NULL;
}
