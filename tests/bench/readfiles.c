/*
 * readfiles.c - the baseline of a full update: list a site directory and read the files of each
 * distribution that an index needs, without parsing or keeping them.
 *
 * usage: readfiles SITE_DIRECTORY
 */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench.h"

#define HEAD    ((size_t)8 * 1024)    /* bytes of METADATA */
#define LARGEST ((size_t)1024 * 1024) /* bytes of any other file */

static char buffer[LARGEST];

/* The number of bytes read; -1 if the file does not exist. */
static ssize_t read_file(int site, const char *directory, const char *file, size_t limit)
{
	char path[4096];
	size_t got = 0;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = openat(site, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (got < limit && (n = read(fd, buffer + got, limit - got)) > 0)
		got += (size_t)n;
	close(fd);
	bench_use(buffer, got);
	return (ssize_t)got;
}

static void read_distribution(int site, const char *directory)
{
	read_file(site, directory, "METADATA", HEAD);
	read_file(site, directory, "direct_url.json", LARGEST);
	if (read_file(site, directory, "entry_points.txt", LARGEST) >= 0)
		read_file(site, directory, "RECORD", LARGEST);
}

static int is_distribution(const char *name)
{
	size_t length = strlen(name);

	return length > 10 && strcmp(name + length - 10, ".dist-info") == 0;
}

int main(int argc, char **argv)
{
	DIR *site = argc == 2 ? opendir(argv[1]) : NULL;
	int64_t start = bench_now();
	size_t count = 0;

	if (!site)
		bench_fail("usage: readfiles SITE_DIRECTORY");
	for (struct dirent *child; (child = readdir(site));)
		if (is_distribution(child->d_name)) {
			read_distribution(dirfd(site), child->d_name);
			count++;
		}
	closedir(site);
	printf("%lld\t%zu\n", (long long)(bench_now() - start), count);
	return 0;
}
