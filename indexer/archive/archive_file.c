/*
 * archive_file.c - reads archives with libarchive; the only file that includes <archive.h>.
 *
 * Archives are untrusted, so declared sizes are not relied on. The limits apply to the output of
 * the decompressor, which is checked whenever it requests more input: even a skipped member may be
 * a bomb. Only named formats are enabled: the others that libarchive knows contain no Python
 * packages, and some refer to other files.
 */
#include "indexer/archive/archive_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/libc.h"

#define CHUNK ((size_t)64 * 1024) /* bytes of input read at a time */

struct walk {
	const struct archive_source *source;
	const struct archive_sink *sink;
	struct error *error; /* never NULL; once set, it ends the walk */
	struct archive *archive;
	char *chunk;        /* a buffer for input */
	uint64_t at, end;   /* offset in the source; the largest so far */
	uint64_t given;     /* bytes of members; in a zip, no filter counts them */
	uint64_t members;   /* including nested archives */
	bool has_payload;   /* a nested archive was found */
	struct walk *outer; /* of a nested archive; else NULL */
};

static int set_error(struct walk *walk, int code, const char *reason)
{
	return error_set(walk->error, code, "%s: %s", walk->source->path, reason);
}

/* libarchive's message, unless it only reports that a callback failed. */
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

/* Packed bytes are counted at the input, unpacked ones after the last filter. */
static int check_expansion(struct walk *walk)
{
	uint64_t unpacked = (uint64_t)archive_filter_bytes(walk->archive, 0);

	if (unpacked < walk->given)
		unpacked = walk->given;
	if (walk->sink->stop && walk->sink->stop())
		return set_error(walk, ERROR_IO, "interrupted");
	if (unpacked > ARCHIVE_UNPACKED_MAX)
		return set_error(walk, ERROR_LIMIT,
		                 "unpacks to more than 64 GiB; this may be a bomb");
	if (unpacked > ARCHIVE_RATIO_FREE && unpacked / ARCHIVE_RATIO_MAX > walk->end)
		return set_error(walk, ERROR_LIMIT,
		                 "unpacks to more than 1,000 times its size; this may be a bomb");
	return 0;
}

/* --- input --- */

/* A zip has its directory at the end. */
static la_int64_t seek_source(struct archive *archive, void *payload, la_int64_t offset, int whence)
{
	struct walk *walk = payload;
	struct stat status = {.st_size = 0};
	la_int64_t from = whence == SEEK_CUR ? (la_int64_t)walk->at : 0;

	if (whence == SEEK_END && fstat(walk->source->fd, &status) == 0)
		from = status.st_size;
	if (offset < -from || offset > INT64_MAX - from) {
		archive_set_error(archive, EIO, "a place outside of the file");
		return ARCHIVE_FATAL;
	}
	walk->at = (uint64_t)(from + offset);
	return from + offset;
}

/* Read and count the next bytes of the current member. */
static la_ssize_t read_data(struct walk *walk, char *to, size_t size)
{
	la_ssize_t n = archive_read_data(walk->archive, to, size);

	if (n < 0)
		return failed(walk);
	walk->given += (uint64_t)n;
	return n;
}

/* Read from the source's part of the file. */
static ssize_t read_source(struct walk *walk)
{
	const struct archive_source *source = walk->source;
	uint64_t left = source->size > walk->at ? source->size - walk->at : 0;
	size_t size = source->size && left < CHUNK ? (size_t)left : CHUNK;
	ssize_t n = TEMP_FAILURE_RETRY(
	        pread(source->fd, walk->chunk, size, (off_t)(source->offset + walk->at)));

	if (n < 0)
		error_errno(walk->error, errno, "%s", source->path);
	else if (walk->sink->input)
		walk->sink->input(walk->sink->payload, (struct slice){walk->chunk, (size_t)n});
	return n;
}

/* The next bytes of the source, or, for a nested archive, of its member. */
static la_ssize_t read_input(struct archive *archive, void *payload, const void **buffer)
{
	struct walk *walk = payload;
	ssize_t n = check_expansion(walk);

	*buffer = walk->chunk;
	if (n == 0 && walk->outer)
		n = read_data(walk->outer, walk->chunk, CHUNK);
	else if (n == 0)
		n = read_source(walk);
	if (n < 0) {
		archive_set_error(archive, EIO, "%s", error_text(walk->error));
		return -1;
	}
	walk->at += (uint64_t)n;
	if (walk->end < walk->at)
		walk->end = walk->at;
	return n;
}

/* --- formats --- */

static bool support_formats(const struct walk *walk)
{
	enum { TARBALL_ONLY = 7 };
	static int (*const parts[])(struct archive *) = {
	        archive_read_support_filter_compress,
	        archive_read_support_filter_lz4,
	        archive_read_support_filter_lzma,
	        archive_read_support_filter_rpm,
	        archive_read_support_filter_xz,
	        archive_read_support_format_ar,
	        archive_read_support_format_cpio,
	        /* TARBALL_ONLY, as layers may be packed */
	        archive_read_support_filter_bzip2,
	        archive_read_support_filter_gzip,
	        archive_read_support_filter_zstd,
	        archive_read_support_format_tar,
	};

	if (walk->source->is_zip && !walk->outer)
		return archive_read_support_format_zip_seekable(walk->archive) == ARCHIVE_OK &&
		       archive_read_set_seek_callback(walk->archive, seek_source) == ARCHIVE_OK;
	/* Skipped members of an image are not read. */
	if (walk->source->is_tarball && !walk->sink->input &&
	    archive_read_set_seek_callback(walk->archive, seek_source) != ARCHIVE_OK)
		return false;
	for (size_t i = walk->source->is_tarball ? TARBALL_ONLY : 0;
	     i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i](walk->archive) == ARCHIVE_FATAL)
			return false;
	return true;
}

/*
 * The output of one filter for a chunk is bounded; that of a second one is not. (An rpm is a header
 * before the packed data.)
 */
static int check_filters(struct walk *walk)
{
	int packed = 0;

	for (int i = 0; i < archive_filter_count(walk->archive); i++) {
		int filter = archive_filter_code(walk->archive, i);

		packed += filter != ARCHIVE_FILTER_NONE && filter != ARCHIVE_FILTER_RPM;
	}
	return packed > 1 ? set_error(walk, ERROR_LIMIT, "is packed more than once") : 0;
}

static void cleanup_walk(struct walk *walk)
{
	archive_read_free(walk->archive);
	free(walk->chunk);
}

/* --- members --- */

static int walk_members(struct walk *walk);

/* A .deb has its files in data.tar.*, a member of an ar archive; dpkg reads the first one. */
static bool is_payload(const struct walk *walk, struct slice path)
{
	int format = archive_format(walk->archive) & ARCHIVE_FORMAT_BASE_MASK;

	if (walk->outer || walk->has_payload)
		return false;
	if (walk->source->is_conda)
		return slice_starts(path, SLICE("pkg-")) && memmem(path.ptr, path.len, ".tar", 4);
	return format == ARCHIVE_FORMAT_AR && slice_starts(path, SLICE("data.tar"));
}

static int open_walk(struct walk *walk)
{
	walk->chunk = malloc(CHUNK);
	walk->archive = archive_read_new();
	if (!walk->chunk || !walk->archive || !support_formats(walk))
		return error_nomem(walk->error);
	if (archive_read_open(walk->archive, walk, NULL, read_input, NULL) != ARCHIVE_OK)
		return failed(walk);
	return check_filters(walk);
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
	int code = open_walk(&inner);

	if (code == 0)
		code = walk_members(&inner);
	outer->members = inner.members;
	outer->has_payload = true;
	return code;
}

/* Read the member's content, malloc'd, without relying on its declared size. */
static int read_bytes(struct walk *walk, size_t limit, struct slice *out)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	size_t length = 0, room = CHUNK / 2;
	la_ssize_t n = 1;

	while (n > 0 && length <= limit) {
		if ((!bytes || length + 1 == room) && !array_grow(&bytes, room, 1, &room))
			return error_nomem(walk->error);
		n = read_data(walk, bytes + length, room - length - 1);
		if (n < 0)
			return (int)n;
		length += (size_t)n;
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
	bool is_declared = limit > 0 && size != UINT64_MAX && size > limit;
	struct slice text = {0};
	int code = limit > 0 && !is_declared ? read_bytes(walk, limit, &text) : 0;

	bytes = (char *)text.ptr;
	if (is_declared || text.len > limit)
		return error_set(walk->error, ERROR_LIMIT, "%s: %.*s: larger than %zu bytes",
		                 walk->source->path, (int)path.len, path.ptr, limit);
	return code < 0 ? code : walk->sink->file(walk->sink->payload, path, text, walk->error);
}

static void cleanup_disk(struct archive **disk)
{
	archive_write_free(*disk);
}

/* Copy the content, with its holes, to the file that @disk created. */
static int unpack_data(struct walk *walk, struct archive *disk)
{
	const void *bytes;
	size_t size;
	la_int64_t at;
	int code = 0, status;

	while (code == 0 &&
	       (status = archive_read_data_block(walk->archive, &bytes, &size, &at)) == ARCHIVE_OK)
		code = archive_write_data_block(disk, bytes, size, at) < ARCHIVE_OK
		               ? ERROR_IO
		               : check_expansion(walk);
	return code < 0 || status == ARCHIVE_EOF ? code : failed(walk);
}

/*
 * Create a member of a tarball as @place. Holes count as unpacked: readers of the file get their
 * zeros. In a user namespace, an owner without a number there (EINVAL) is not set.
 */
static int unpack_member(struct walk *walk, struct archive_entry *entry, const char *place)
{
	CLEANUP(cleanup_disk) struct archive *disk = archive_write_disk_new();
	CLEANUP(cleanup_free) char *name = strdup(archive_entry_pathname(entry));
	int owner = geteuid() == 0 ? ARCHIVE_EXTRACT_OWNER : 0, code = 0;

	if (!disk || !name)
		return error_nomem(walk->error);
	archive_write_disk_set_options(disk, ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | owner);
	archive_entry_set_pathname(entry, place);
	if (archive_write_header(disk, entry) != ARCHIVE_OK)
		code = ERROR_IO;
	if (code == 0 && archive_entry_filetype(entry) == AE_IFREG) {
		walk->given += (uint64_t)archive_entry_size(entry);
		code = unpack_data(walk, disk);
	}
	if (code == 0 && archive_write_close(disk) != ARCHIVE_OK && archive_errno(disk) != EINVAL)
		code = ERROR_IO;
	if (code == 0 || walk->error->code)
		return code;
	return error_errno(walk->error, archive_errno(disk), "%s: %s: cannot be unpacked",
	                   walk->source->path, name);
}

/* Pass on a member of a tarball, of any type; unread data is skipped. */
static int give_member(struct walk *walk, struct archive_entry *entry, struct slice path)
{
	const struct archive_sink *sink = walk->sink;
	const char *link = archive_entry_hardlink(entry), *place = NULL;
	struct archive_member member = {
	        .path = path,
	        .mode = archive_entry_mode(entry),
	        .is_hard_link = link != NULL,
	        .link = link ? link : archive_entry_symlink(entry),
	        .size = (uint64_t)archive_entry_size(entry),
	        .offset = archive_filter_count(walk->archive) > 1
	                          ? UINT64_MAX
	                          : (uint64_t)archive_filter_bytes(walk->archive, 0),
	};
	int code;

	code = sink->member(sink->payload, &member, &place, walk->error);
	if (code <= 0)
		return code;
	archive_entry_set_mode(entry, member.mode);
	code = unpack_member(walk, entry, place);
	path = slice_of(place);
	return code < 0 ? code : sink->file(sink->payload, path, (struct slice){0}, walk->error);
}

/* A hard link; in an rpm, the last one has the content, for the first one, too. */
static int give_hard_link(struct walk *walk, struct archive_entry *entry, struct slice path)
{
	const struct archive_sink *sink = walk->sink;
	struct slice first = slice_of(archive_entry_hardlink(entry));
	int code = 0;

	if (archive_entry_size(entry) > 0) {
		if (sink->wanted(sink->payload, first, 0) == 0)
			return give_file(walk, entry, path);
		code = give_file(walk, entry, first);
	}
	return code < 0 ? code : sink->link(sink->payload, path, first, walk->error);
}

static int walk_member(struct walk *walk, struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);
	const struct archive_sink *sink = walk->sink;
	struct slice path = slice_of(name);
	const char *hard = archive_entry_hardlink(entry);
	bool is_link = hard || archive_entry_symlink(entry);

	if (archive_entry_is_encrypted(entry))
		return set_error(walk, ERROR_FORMAT, "is encrypted");
	if (++walk->members > ARCHIVE_MEMBERS_MAX)
		return set_error(walk, ERROR_LIMIT, "more than 4,194,304 members");
	if (name && sink->member)
		return give_member(walk, entry, path);
	if (name && is_link && sink->link && sink->wanted(sink->payload, path, 0) > 0)
		return hard ? give_hard_link(walk, entry, path)
		            : sink->link(sink->payload, path, (struct slice){0}, walk->error);
	if (!name || archive_entry_filetype(entry) != AE_IFREG || is_link)
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

/* --- the walk --- */

/*
 * libarchive converts names by the locale; as UTF-8 they stay unchanged, except that those of pax
 * headers are composed (NFC). Set for this thread and this call only.
 */
int archive_file_walk(const struct archive_source *source, const struct archive_sink *sink,
                      struct error *error)
{
	struct error own = {0};
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	struct walk walk = {.source = source, .sink = sink, .error = &own};
	int code = open_walk(&walk);
	ssize_t n = 0;

	if (code == 0)
		code = walk_members(&walk);
	if (code == 0 && source->is_conda && !walk.has_payload)
		code = set_error(&walk, ERROR_FORMAT, "no pkg-*.tar.zst in it");
	/* The digest includes data after the end of a tarball, and damaged parts. */
	while ((code == 0 || code == ERROR_FORMAT) && sink->input && (n = read_source(&walk)) > 0)
		walk.at += (uint64_t)n;
	code = n < 0 ? own.code : code;
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
