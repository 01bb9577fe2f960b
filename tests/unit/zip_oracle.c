/*
 * zip_oracle.c - prints zip.c's view of the given files for zip_oracle.py, which compares it with
 * Python's zipfile. One fact per line:
 *
 *   open ok | open error MESSAGE
 *   name HEX            each member, in order
 *   data HEX | fail CODE MESSAGE   each member's bytes, after all names
 *   found HEX | found fail | found none   x.dist-info/entry_points.txt
 *   end
 */
#include <fcntl.h>
#include <stdio.h>

#include "db/base/cleanup.h"
#include "libquery/disk/zip/zip.h"

#define READ_MAX ((size_t)16 << 20) /* bytes of a member; the same as in zip_oracle.py */

static void print_hex(const char *what, struct slice s)
{
	printf("%s ", what);
	for (size_t i = 0; i < s.len; i++)
		printf("%02x", (unsigned char)s.ptr[i]);
	putchar('\n');
}

/* A message may contain names of members, with any bytes. */
static void print_message(const char *message)
{
	for (; *message; message++)
		putchar((unsigned char)*message < ' ' ? '?' : *message);
	putchar('\n');
}

static void print_member(struct zip *zip, const struct zip_member *m, const char *prefix)
{
	struct error error = {0};
	struct slice data;

	printf("%s", prefix);
	if (zip_read(zip, m, READ_MAX, &data, &error) == 0) {
		print_hex("data", data);
		free((char *)data.ptr);
	} else {
		printf("fail %d ", error.code);
		print_message(error_text(&error));
	}
	error_clear(&error);
}

static void print_zip(struct zip *zip)
{
	const struct zip_member *wanted = NULL;

	for (size_t i = 0; i < zip->count; i++) {
		print_hex("name", zip->members[i].name);
		if (slice_equal(zip->members[i].name, SLICE("x.dist-info/entry_points.txt")))
			wanted = &zip->members[i];
	}
	for (size_t i = 0; i < zip->count; i++)
		print_member(zip, &zip->members[i], "");
	if (wanted)
		print_member(zip, wanted, "found ");
	else
		puts("found none");
}

static void print_file(const char *path)
{
	CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct error error = {0};
	struct zip *zip;

	if (zip_open(fd, NULL, &zip, &error) < 0) {
		printf("open error ");
		print_message(error_text(&error));
	} else {
		puts("open ok");
		print_zip(zip);
		zip_close(zip);
	}
	error_clear(&error);
	puts("end");
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		print_file(argv[i]);
	return 0;
}
