/*
 * archive_file.c - see archive_file.h. The only file that includes <archive.h>.
 *
 * An archive may come from anywhere, so what it declares is not believed. What
 * counts against the limits is what the decompressor has put out, and it is
 * looked at whenever the decompressor asks for more input: a member that is only
 * skipped may be a bomb, too. The formats are named one by one: the others that
 * libarchive knows carry no Python packages, and some of them refer to other files.
 */
#include "indexer/archive/archive_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"

#define CHUNK ((size_t)64 * 1024) /* bytes of input read at a time */

struct walk {
	const struct archive_source *source;
	const struct archive_sink *sink;
	struct error *error; /* never NULL; once set, it is why the walk ends */
	struct archive *archive;
	char *chunk;
	uint64_t at;        /* how far the source has been read */
	uint64_t members;   /* counted over nested archives */
	struct walk *outer; /* of an archive within another; else NULL */
};

static int set_error(struct walk *walk, int code, const char *reason)
{
	return error_set(walk->error, code, "%s: %s", walk->source->path, reason);
}

/* In libarchive's own words, unless it only repeats that a callback has failed. */
static int failed(struct walk *walk)
{
	const char *reason = archive_error_string(walk->archive);

	if (walk->error->code)
		return walk->error->code;
	if (archive_errno(walk->archive) == ENOMEM)
		return error_nomem(walk->error);
	return set_error(walk, ERROR_FORMAT, reason ? reason : "damaged");
}

/* --- limits --- */

/* Packed bytes are counted where they enter, unpacked ones where the last filter gives them. */
static int check_expansion(struct walk *walk)
{
	uint64_t unpacked = (uint64_t)archive_filter_bytes(walk->archive, 0);

	if (walk->sink->stop && walk->sink->stop())
		return set_error(walk, ERROR_IO, "interrupted");
	if (unpacked > ARCHIVE_UNPACKED_MAX)
		return set_error(walk, ERROR_LIMIT,
		                 "unpacks to more than 64 GiB; this may be a bomb");
	if (unpacked > ARCHIVE_RATIO_FREE && unpacked / ARCHIVE_RATIO_MAX > walk->at)
		return set_error(walk, ERROR_LIMIT,
		                 "unpacks to more than 1,000 times its size; this may be a bomb");
	return 0;
}

/* --- input --- */

static ssize_t read_fd(struct walk *walk)
{
	const struct archive_source *source = walk->source;
	uint64_t left = source->size ? source->size - walk->at : CHUNK;
	ssize_t n;

	do {
		n = pread(source->fd, walk->chunk, left < CHUNK ? (size_t)left : CHUNK,
		          (off_t)(source->offset + walk->at));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		error_errno(walk->error, errno, "%s", walk->source->path);
	return n;
}

static ssize_t read_bytes_in_memory(struct walk *walk, const void **buffer)
{
	size_t left = walk->source->bytes.len - (size_t)walk->at;

	*buffer = walk->source->bytes.ptr + walk->at;
	return (ssize_t)(left < CHUNK ? left : CHUNK);
}

static la_ssize_t read_source(struct archive *archive, void *payload, const void **buffer)
{
	struct walk *walk = payload;
	ssize_t n = check_expansion(walk);

	*buffer = walk->chunk;
	if (n == 0)
		n = walk->source->fd < 0 ? read_bytes_in_memory(walk, buffer) : read_fd(walk);
	if (n < 0) {
		archive_set_error(archive, EIO, "%s", error_text(walk->error));
		return -1;
	}
	walk->at += (uint64_t)n;
	return n;
}

/* The input of an archive within another is a member of that. */
static la_ssize_t read_member(struct archive *archive, void *payload, const void **buffer)
{
	struct walk *walk = payload;
	la_ssize_t n = check_expansion(walk);

	*buffer = walk->chunk;
	if (n == 0)
		n = archive_read_data(walk->outer->archive, walk->chunk, CHUNK);
	if (n < 0) {
		failed(walk->outer);
		archive_set_error(archive, EIO, "%s", error_text(walk->error));
		return -1;
	}
	walk->at += (uint64_t)n;
	return n;
}

/* --- formats --- */

static bool support_formats(struct archive *archive)
{
	static int (*const parts[])(struct archive *) = {
	        archive_read_support_filter_bzip2, archive_read_support_filter_compress,
	        archive_read_support_filter_gzip,  archive_read_support_filter_lz4,
	        archive_read_support_filter_lzma,  archive_read_support_filter_rpm,
	        archive_read_support_filter_xz,    archive_read_support_filter_zstd,
	        archive_read_support_format_ar,    archive_read_support_format_cpio,
	        archive_read_support_format_tar,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i](archive) == ARCHIVE_FATAL)
			return false;
	return true;
}

static void cleanup_walk(struct walk *walk)
{
	archive_read_free(walk->archive);
	free(walk->chunk);
}

/* --- members --- */

static int walk_members(struct walk *walk);

/* A .deb keeps its files in data.tar.*, a member of an ar archive. */
static bool is_payload(struct walk *walk, struct slice path)
{
	int format = archive_format(walk->archive) & ARCHIVE_FORMAT_BASE_MASK;

	return !walk->outer && format == ARCHIVE_FORMAT_AR && slice_starts(path, SLICE("data.tar"));
}

static int open_walk(struct walk *walk, archive_read_callback *read)
{
	walk->chunk = malloc(CHUNK);
	walk->archive = archive_read_new();
	if (!walk->chunk || !walk->archive || !support_formats(walk->archive))
		return error_nomem(walk->error);
	if (archive_read_open(walk->archive, walk, NULL, read, NULL) != ARCHIVE_OK)
		return failed(walk);
	return 0;
}

static int walk_nested(struct walk *outer)
{
	CLEANUP(cleanup_walk)
	struct walk inner = {
	        .source = outer->source,
	        .sink = outer->sink,
	        .error = outer->error,
	        .members = outer->members,
	        .outer = outer,
	};
	int code = open_walk(&inner, read_member);

	if (code == 0)
		code = walk_members(&inner);
	outer->members = inner.members;
	return code;
}

static int too_large(struct walk *walk, struct slice path, size_t limit)
{
	return error_set(walk->error, ERROR_LIMIT, "%s: %.*s: larger than %zu bytes",
	                 walk->source->path, (int)path.len, path.ptr, limit);
}

/* All of the member's bytes, malloc'd. What size it declares is not relied on. */
static int read_bytes(struct walk *walk, struct slice path, size_t limit, struct slice *out)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	size_t length = 0, room = 0;
	la_ssize_t n = 1;

	while (n > 0) {
		if (length + 1 >= room) {
			char *bigger = realloc(bytes, room = room ? 2 * room : CHUNK);

			if (!bigger)
				return error_nomem(walk->error);
			bytes = bigger;
		}
		n = archive_read_data(walk->archive, bytes + length, room - length - 1);
		if (n < 0)
			return failed(walk);
		length += (size_t)n;
		if (length > limit)
			return too_large(walk, path, limit);
	}
	bytes[length] = '\0';
	*out = (struct slice){take(bytes), length};
	return 0;
}

static int give_file(struct walk *walk, struct archive_entry *entry, struct slice path)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	uint64_t size =
	        archive_entry_size_is_set(entry) ? (uint64_t)archive_entry_size(entry) : UINT64_MAX;
	size_t limit = walk->sink->wanted(walk->sink->payload, path, size);
	struct slice text = {0};
	int code = 0;

	if (limit > 0 && size != UINT64_MAX && size > limit)
		return too_large(walk, path, limit);
	if (limit > 0)
		code = read_bytes(walk, path, limit, &text);
	bytes = (char *)text.ptr;
	if (code == 0)
		code = walk->sink->file(walk->sink->payload, path, text, walk->error);
	return code;
}

static int walk_member(struct walk *walk, struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);
	struct slice path = slice_of(name);

	if (archive_entry_is_encrypted(entry))
		return set_error(walk, ERROR_FORMAT, "is encrypted");
	if (++walk->members > ARCHIVE_MEMBERS_MAX)
		return set_error(walk, ERROR_LIMIT, "more than 4,194,304 members");
	if (!name || archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
		return 0;
	return is_payload(walk, path) ? walk_nested(walk) : give_file(walk, entry, path);
}

static int walk_members(struct walk *walk)
{
	struct archive_entry *entry;
	int code = 0, status;

	while ((status = archive_read_next_header(walk->archive, &entry)) != ARCHIVE_EOF) {
		if (status == ARCHIVE_FATAL || status == ARCHIVE_FAILED)
			code = failed(walk);
		else if (status != ARCHIVE_RETRY)
			code = walk_member(walk, entry);
		if (code == 0)
			code = check_expansion(walk);
		if (code < 0)
			return code;
	}
	return 0;
}

/* --- the whole --- */

/*
 * libarchive takes names through the character set of the locale; as UTF-8 they
 * come through unchanged. Only this thread, and only for now.
 */
int archive_file_walk(const struct archive_source *source, const struct archive_sink *sink,
                      struct error *error)
{
	struct error own = {0};
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	struct walk walk = {.source = source, .sink = sink, .error = &own};
	int code = open_walk(&walk, read_source);

	if (code == 0)
		code = walk_members(&walk);
	cleanup_walk(&walk);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	if (code < 0)
		error_set(error, code, "%s", error_text(&own));
	error_clear(&own);
	return code;
}
