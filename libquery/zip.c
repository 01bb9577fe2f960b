/*
 * zip.c - see zip.h.
 *
 * Why not a library: what matters here is not to read zips but to see in each
 * zip, however odd, exactly the members that importlib.metadata would see
 * through Python's zipfile, and to do so for a wheel of 12,000 members without
 * touching anything but its last megabyte. Every rule below is therefore
 * zipfile's, including its leniences: the directory ends where the end record
 * stands, so bytes before the archive shift all offsets; the last record may be
 * cut short in its variable part; sizes may lie as long as the checksum agrees.
 * Two rules differ between releases of CPython; the newer one is taken: the
 * Unicode path field gives the name (3.12), overlapping members are refused.
 *
 * The file is read, never mapped: a file that somebody truncates under a
 * mapping would kill the host with SIGBUS.
 */
#include <errno.h>
#include <sys/stat.h>
#include <zlib.h>

#include "cleanup.h"
#include "unicode.h"
#include "zip_internal.h"

#define END_SIZE     22 /* bytes of the end record without its comment */
#define LOCATOR_SIZE 20 /* bytes of the zip64 locator, which stands right before it */
#define END64_SIZE   56 /* bytes of the zip64 end record, right before that */
#define ENTRY_SIZE   46 /* bytes of a directory record without name, extra and comment */
#define COMMENT_MAX  ((size_t)1 << 16) /* bytes searched for an end record */
#define VERSION_MAX  63                /* the newest "version needed" that Python accepts */

enum extra_field {
	EXTRA_ZIP64 = 0x0001,
	EXTRA_UNICODE_PATH = 0x7075,
};

/* What the end record says, after zip64 has had its say. */
struct end {
	uint64_t at;           /* where the end record stands */
	uint64_t size, offset; /* of the directory */
	bool zip64;
};

static struct slice cut_at_nul(struct slice s)
{
	const char *nul = s.len ? memchr(s.ptr, '\0', s.len) : NULL;

	return nul ? slice_between(s.ptr, nul) : s;
}

/* The file. */

int zip_read_some(const struct zip *zip, uint64_t at, char *to, size_t size, size_t *got,
                  struct error *error)
{
	size_t done = 0;

	while (done < size && at + done < zip->file_size) {
		ssize_t n = pread(zip->fd, to + done, size - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(error, errno, "%s", zip_path(zip));
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*got = done;
	return 0;
}

int zip_read_all(const struct zip *zip, uint64_t at, char *to, size_t size, struct error *error)
{
	size_t got = 0;
	int r = zip_read_some(zip, at, to, size, &got, error);

	if (r < 0)
		return r;
	if (got < size)
		return error_set(error, ERROR_FORMAT, "%s: ends within a record", zip_path(zip));
	return 0;
}

static int not_a_zip(const struct zip *zip, struct error *error)
{
	return error_set(error, ERROR_FORMAT, "%s: not a zip file", zip_path(zip));
}

/* The end of the directory. */

static void take_end(const char *record, uint64_t at, struct end *out)
{
	*out = (struct end){.at = at, .size = get32(record + 12), .offset = get32(record + 16)};
}

/* The last end record in the last 64 KiB: behind it only its comment may stand. */
static int search_end(const struct zip *zip, struct end *out, struct error *error)
{
	size_t size = COMMENT_MAX + END_SIZE;
	CLEANUP(cleanup_free) char *tail = malloc(size);
	int r;

	if (!tail)
		return error_nomem(error);
	if (size > zip->file_size)
		size = (size_t)zip->file_size;
	r = zip_read_all(zip, zip->file_size - size, tail, size, error);
	if (r < 0)
		return r;
	for (size_t i = size - 3; i-- > 0;) {
		if (!has_signature(tail + i, 5, 6))
			continue;
		if (size - i < END_SIZE)
			break;
		take_end(tail + i, zip->file_size - size + i, out);
		return 0;
	}
	return not_a_zip(zip, error);
}

/* Let the zip64 end record, where there is one, replace what @end says. */
static int apply_zip64(const struct zip *zip, struct end *end, struct error *error)
{
	char locator[LOCATOR_SIZE], record[END64_SIZE];
	int r;

	if (end->at < LOCATOR_SIZE)
		return 0;
	r = zip_read_all(zip, end->at - LOCATOR_SIZE, locator, sizeof(locator), error);
	if (r < 0 || !has_signature(locator, 6, 7))
		return r;
	if (get32(locator + 4) != 0 || get32(locator + 16) > 1)
		return error_set(error, ERROR_FORMAT, "%s: a zip of several disks is not supported",
		                 zip_path(zip));
	if (end->at < LOCATOR_SIZE + END64_SIZE)
		return not_a_zip(zip, error);
	r = zip_read_all(zip, end->at - LOCATOR_SIZE - END64_SIZE, record, sizeof(record), error);
	if (r < 0 || !has_signature(record, 6, 6))
		return r;
	end->zip64 = true;
	end->size = get64(record + 40);
	end->offset = get64(record + 48);
	return 0;
}

static int find_end(const struct zip *zip, struct end *out, struct error *error)
{
	char record[END_SIZE];
	int r;

	if (zip->file_size < END_SIZE)
		return not_a_zip(zip, error);
	r = zip_read_all(zip, zip->file_size - END_SIZE, record, sizeof(record), error);
	if (r < 0)
		return r;
	if (has_signature(record, 5, 6) && get16(record + 20) == 0)
		take_end(record, zip->file_size - END_SIZE, out);
	else
		r = search_end(zip, out, error);
	return r < 0 ? r : apply_zip64(zip, out, error);
}

/*
 * The directory ends where the end record begins; where the end record says it
 * begins only tells how far the whole archive was shifted.
 */
static int load_directory(struct zip *zip, struct error *error)
{
	struct end end = {0};
	int r = find_end(zip, &end, error);

	if (r < 0)
		return r;
	if (end.zip64)
		end.at -= LOCATOR_SIZE + END64_SIZE;
	if (end.size > end.at)
		return error_set(error, ERROR_FORMAT, "%s: the directory has a bad offset",
		                 zip_path(zip));
	if (end.size > ZIP_DIRECTORY_MAX)
		return error_set(error, ERROR_LIMIT, "%s: a directory of more than %llu bytes",
		                 zip_path(zip), (unsigned long long)ZIP_DIRECTORY_MAX);
	zip->size = (size_t)end.size;
	zip->start = end.at - end.size;
	zip->declared = end.offset;
	zip->directory = malloc(zip->size + 1);
	if (!zip->directory)
		return error_nomem(error);
	return zip_read_all(zip, zip->start, zip->directory, zip->size, error);
}

/* One record of the directory. */

static struct slice part(const struct zip *zip, size_t place, size_t length)
{
	size_t begin = place < zip->size ? place : zip->size;
	size_t left = zip->size - begin;

	return (struct slice){zip->directory + begin, length < left ? length : left};
}

void zip_split_record(const struct zip *zip, size_t place, struct record *out)
{
	const char *fixed = zip->directory + place;
	size_t name = get16(fixed + 28), extra = get16(fixed + 30), comment = get16(fixed + 32);

	out->fixed = fixed;
	out->name = part(zip, place + ENTRY_SIZE, name);
	out->extra = part(zip, place + ENTRY_SIZE + name, extra);
	out->end = place + ENTRY_SIZE + name + extra + comment;
}

/* Take a number from the front of a zip64 field; false where it is missing. */
static bool take64(struct slice *field, uint64_t *out)
{
	if (field->len < sizeof(*out))
		return false;
	*out = get64(field->ptr);
	*field = slice_from(*field, sizeof(*out));
	return true;
}

/* The sizes and the offset that do not fit 32 bits. */
static const char *apply_extra64(struct slice field, struct zip_member *m)
{
	static const char missing[] = "a number is missing in a zip64 field";

	if ((m->size == UINT64_MAX || m->size == UINT32_MAX) && !take64(&field, &m->size))
		return missing;
	if (m->packed == UINT32_MAX && !take64(&field, &m->packed))
		return missing;
	if (m->header_offset == UINT32_MAX && !take64(&field, &m->header_offset))
		return missing;
	return NULL;
}

/* A name in UTF-8 beside a name in another character set, valid for just that name. */
static const char *apply_unicode_path(struct slice field, struct slice name, struct zip_member *m)
{
	struct slice path;
	uLong crc = crc32(0, (const Bytef *)name.ptr, (uInt)name.len);

	if (field.len < 5)
		return "a Unicode path field is cut short";
	if (field.ptr[0] != 1 || get32(field.ptr + 1) != crc)
		return NULL;
	path = slice_from(field, 5);
	if (!utf8_valid(path))
		return "a Unicode path field is not UTF-8";
	if (path.len > 0)
		m->name = cut_at_nul(path);
	return NULL;
}

static const char *apply_extra(struct slice extra, struct slice name, struct zip_member *m)
{
	const char *problem = NULL;

	while (!problem && extra.len >= 4) {
		unsigned kind = get16(extra.ptr);
		size_t size = get16(extra.ptr + 2);
		struct slice field = slice_from(extra, 4);

		if (size > field.len)
			return "an extra field is cut short";
		extra = slice_from(field, size);
		field.len = size;
		if (kind == EXTRA_ZIP64)
			problem = apply_extra64(field, m);
		else if (kind == EXTRA_UNICODE_PATH)
			problem = apply_unicode_path(field, name, m);
	}
	return problem;
}

/* The archive as a whole may be shifted; an offset that leaves 64 bits is in no file. */
static uint64_t shift(const struct zip *zip, uint64_t offset)
{
	uint64_t shifted;

	if (offset < zip->declared)
		return zip->declared - offset <= zip->start ? zip->start - (zip->declared - offset)
		                                            : UINT64_MAX;
	if (__builtin_add_overflow(zip->start, offset - zip->declared, &shifted))
		return UINT64_MAX;
	return shifted;
}

/* Fill @m from @record, its name still as in the file. Returns what is wrong, or NULL. */
static const char *read_record(const struct zip *zip, const struct record *record,
                               struct zip_member *m)
{
	const char *fixed = record->fixed, *problem = NULL;

	*m = (struct zip_member){
	        .name = cut_at_nul(record->name),
	        .flags = get16(fixed + 8),
	        .method = get16(fixed + 10),
	        .crc = get32(fixed + 16),
	        .packed = get32(fixed + 20),
	        .size = get32(fixed + 24),
	        .header_offset = get32(fixed + 42),
	        .place = (size_t)(fixed - zip->directory),
	};
	if (record->extra.len > 0)
		problem = apply_extra(record->extra, record->name, m);
	m->header_offset = shift(zip, m->header_offset);
	return problem;
}

/* The check of the whole directory, once, when the zip is opened. */

static const char *check_record(const struct zip *zip, size_t place, struct record *record,
                                struct zip_member *m)
{
	if (zip->size - place < ENTRY_SIZE)
		return "the directory is cut short";
	if (!has_signature(zip->directory + place, 1, 2))
		return "a record of the directory does not start with its signature";
	zip_split_record(zip, place, record);
	if ((unsigned char)record->fixed[6] > VERSION_MAX)
		return "a member needs a newer version of the format";
	if ((get16(record->fixed + 8) & FLAG_UTF8) && !utf8_valid(record->name))
		return "a name is not UTF-8";
	return read_record(zip, record, m);
}

static bool is_foreign(const struct zip_member *m)
{
	return !(m->flags & FLAG_UTF8) && !zip_is_ascii(m->name);
}

/* Whether the name is that of the record itself, and not of a Unicode path field. */
static bool is_own_name(const struct record *record, const struct zip_member *m)
{
	return m->name.ptr == record->name.ptr;
}

static int grow_foreign(struct zip *zip)
{
	size_t room = zip->room ? 2 * zip->room : 16;
	struct foreign *bigger = reallocarray(zip->foreign, room, sizeof(*bigger));

	if (!bigger)
		return -1;
	zip->foreign = bigger;
	zip->room = room;
	return 0;
}

/* Keep the UTF-8 of a cp437 name, so that a walk need not convert it again. */
static int keep_foreign(struct zip *zip, const struct zip_member *m, struct error *error)
{
	char *bytes = arena_alloc(&zip->names, m->name.len * UTF8_PER_BYTE);

	if (!bytes || (zip->foreigners == zip->room && grow_foreign(zip) < 0))
		return error_nomem(error);
	zip->foreign[zip->foreigners++] = (struct foreign){
	        .place = m->place,
	        .name = {bytes, zip_convert_cp437(m->name, bytes)},
	};
	return 0;
}

static int check_directory(struct zip *zip, struct error *error)
{
	struct record record;
	struct zip_member m;
	int r = 0;

	for (size_t place = 0; r == 0 && place < zip->size; place = record.end) {
		const char *problem = check_record(zip, place, &record, &m);

		if (problem)
			return error_set(error, ERROR_FORMAT, "%s: %s", zip_path(zip), problem);
		if (++zip->count > ZIP_MEMBERS_MAX)
			return error_set(error, ERROR_LIMIT, "%s: more than %zu members",
			                 zip_path(zip), ZIP_MEMBERS_MAX);
		if (is_own_name(&record, &m) && is_foreign(&m))
			r = keep_foreign(zip, &m, error);
	}
	return r;
}

void zip_close(struct zip *zip)
{
	if (!zip)
		return;
	arena_free(&zip->names);
	zip_headers_free(zip->headers);
	free(zip->foreign);
	free(zip->directory);
	free(zip->path);
	free(zip);
}

static void cleanup_zip(struct zip **zip)
{
	zip_close(*zip);
}

int zip_open(int fd, const char *path, struct zip **out, struct error *error)
{
	CLEANUP(cleanup_zip) struct zip *zip = calloc(1, sizeof(*zip));
	struct stat st;
	int r;

	if (!zip)
		return error_nomem(error);
	zip->fd = fd;
	zip->path = path ? strdup(path) : NULL;
	zip->headers = zip_headers_new();
	if ((path && !zip->path) || !zip->headers)
		return error_nomem(error);
	if (fstat(fd, &st) < 0)
		return error_errno(error, errno, "%s", zip_path(zip));
	if (!S_ISREG(st.st_mode))
		return not_a_zip(zip, error);
	zip->file_size = (uint64_t)st.st_size;
	r = load_directory(zip, error);
	if (r == 0)
		r = check_directory(zip, error);
	if (r == 0)
		*out = take(zip);
	return r;
}

/* Walking. */

size_t zip_count(const struct zip *zip)
{
	return zip->count;
}

bool zip_next(const struct zip *zip, struct zip_cursor *cursor, struct zip_member *out)
{
	struct record record;

	if (cursor->place >= zip->size)
		return false;
	zip_split_record(zip, cursor->place, &record);
	read_record(zip, &record, out); /* found right when the zip was opened */
	cursor->place = record.end;
	if (cursor->foreign < zip->foreigners && zip->foreign[cursor->foreign].place == out->place)
		out->name = zip->foreign[cursor->foreign++].name;
	return true;
}

bool zip_find(const struct zip *zip, struct slice name, struct zip_member *out)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member m;
	bool found = false;

	while (zip_next(zip, &cursor, &m)) {
		if (!slice_equal(m.name, name))
			continue;
		*out = m;
		found = true;
	}
	return found;
}
