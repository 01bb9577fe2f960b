/*
 * archives.c - builds archives from the input of a fuzz target.
 */
#include "tests/fuzz/archives.h"

#include <stdio.h>
#include <zlib.h>

#include "tests/fuzz/input.h"

#define FILES_MAX 64
#define NAME_MAX_ 1000 /* bytes of a path in a zip */

static void append(struct bytes *to, const void *from, size_t len)
{
	to->ptr = realloc(to->ptr, to->len + len + 1);
	require(to->ptr != NULL);
	if (len > 0)
		memcpy(to->ptr + to->len, from, len);
	to->len += len;
}

static void append_number(struct bytes *to, uint64_t number, size_t len)
{
	for (; len > 0; len--, number >>= 8)
		append(to, &(unsigned char){(unsigned char)number}, 1);
}

/* --- zip --- */

/* The fields common to the local header and the directory; members are stored. */
static void append_member(struct bytes *to, const struct tree_file *file)
{
	uLong sum = crc32(0, (const Bytef *)file->bytes.ptr, (uInt)file->bytes.len);

	append_number(to, 20, 2); /* version, then flags, method, time, date */
	append_number(to, 0x800, 2);
	append_number(to, 0, 2);
	append_number(to, 0x00210000, 4);
	append_number(to, sum, 4);
	append_number(to, file->bytes.len, 4);
	append_number(to, file->bytes.len, 4);
	append_number(to, file->path.len, 2);
	append_number(to, 0, 2);
}

static void append_entry(struct bytes *to, const struct tree_file *file, size_t place)
{
	append(to, "PK\1\2\24\3", 6);
	append_member(to, file);
	append_number(to, 0, 10);
	append_number(to, place, 4);
	append(to, file->path.ptr, file->path.len);
}

struct bytes archives_zip(const struct tree_file *files, size_t count)
{
	struct bytes zip = {0}, directory = {0};

	for (size_t i = 0; i < count; i++) {
		struct tree_file file = files[i];

		if (file.path.len > NAME_MAX_)
			file.path.len = NAME_MAX_;
		append_entry(&directory, &file, zip.len);
		append(&zip, "PK\3\4", 4);
		append_member(&zip, &file);
		append(&zip, file.path.ptr, file.path.len);
		append(&zip, file.bytes.ptr, file.bytes.len);
	}
	append(&directory, "PK\5\6\0\0\0\0", 8);
	append_number(&directory, count | count << 16, 4);
	append_number(&directory, directory.len - 12, 4);
	append_number(&directory, zip.len, 4);
	append_number(&directory, 0, 2);
	append(&zip, directory.ptr, directory.len);
	free(directory.ptr);
	return zip;
}

/* --- tar --- */

static void append_blocks(struct bytes *to, struct slice bytes)
{
	static const char zeros[512];

	append(to, bytes.ptr, bytes.len);
	append(to, zeros, (512 - bytes.len % 512) % 512);
}

struct bytes archives_tar(const struct tree_file *files, size_t count)
{
	struct bytes tar = {0};

	for (size_t i = 0; i < count; i++) {
		char header[513] = {0};
		unsigned sum = 0;

		memcpy(header, files[i].path.ptr, files[i].path.len < 100 ? files[i].path.len : 99);
		snprintf(header + 100, 48, "0000644%c0000000%c0000000%c%011zo%c00000000000", 0, 0,
		         0, files[i].bytes.len, 0);
		memcpy(header + 148, "        0", 9);
		memcpy(header + 257, "ustar\00000", 8);
		for (size_t j = 0; j < 512; j++)
			sum += (unsigned char)header[j];
		snprintf(header + 148, 8, "%06o", sum);
		append_blocks(&tar, (struct slice){header, 512});
		append_blocks(&tar, files[i].bytes);
	}
	append_blocks(&tar, SLICE("\0"));
	append_blocks(&tar, SLICE("\0"));
	return tar;
}

/* --- containers of a tar --- */

static void append_ar(struct bytes *to, const char *name, struct slice bytes)
{
	char header[64];

	snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", name, 0, 0, 0, 100644,
	         bytes.len);
	append(to, header, 60);
	append(to, bytes.ptr, bytes.len);
	append(to, "\n", bytes.len % 2);
}

struct bytes archives_deb(const struct tree_file *files, size_t count)
{
	struct bytes tar = archives_tar(files, count), deb = {0};

	append(&deb, "!<arch>\n", 8);
	append_ar(&deb, "debian-binary", SLICE("2.0\n"));
	append_ar(&deb, "data.tar", (struct slice){tar.ptr, tar.len});
	free(tar.ptr);
	return deb;
}

struct bytes archives_conda(const struct tree_file *files, size_t count)
{
	struct bytes tar = archives_tar(files, count), conda;
	struct tree_file payload = {SLICE("pkg-x-1.tar"), {tar.ptr, tar.len}};

	conda = archives_zip(&payload, 1);
	free(tar.ptr);
	return conda;
}

/* --- from the input --- */

static void overwrite(struct bytes *archive, struct slice bytes)
{
	size_t at = (size_t)input_number(&bytes, 4);

	at = archive->len ? at % archive->len : 0;
	for (size_t i = 0; i < bytes.len && at + i < archive->len; i++)
		archive->ptr[at + i] = bytes.ptr[i];
}

struct bytes archives_of_input(struct slice input, const char **name)
{
	static const struct {
		const char *name;
		struct bytes (*make)(const struct tree_file *files, size_t count);
	} kinds[] = {
	        {"x-1-py3-none-any.whl", archives_zip},
	        {"x-1.tar", archives_tar},
	        {"x_1_all.deb", archives_deb},
	        {"x-1-py_0.conda", archives_conda},
	        {"x-1.zip", archives_zip},
	};
	struct tree_file files[FILES_MAX];
	size_t kind = input_byte(&input), count = 0, read;
	struct bytes archive = {0};

	if (kind >= sizeof(kinds) / sizeof(*kinds)) {
		*name = "x-1.tar.gz";
		append(&archive, input.ptr, input.len);
		return archive;
	}
	*name = kinds[kind].name;
	read = input_files(input, files, FILES_MAX);
	for (size_t i = 0; i < read; i++)
		if (files[i].path.len > 0)
			files[count++] = files[i];
	archive = kinds[kind].make(files, count);
	read = input_files(input, files, FILES_MAX);
	for (size_t i = 0; i < read; i++)
		if (files[i].path.len == 0)
			overwrite(&archive, files[i].bytes);
	return archive;
}
