/*
 * zip_directory.c - see zip_directory.h. What matters is to see in each zip, however
 * odd, exactly the members that importlib.metadata would see through Python's zipfile.
 * Every rule below is therefore zipfile's, including its leniences: the directory ends
 * where the end record stands, so bytes before the archive shift all offsets; the last
 * record may be cut short in its variable part. Where releases of CPython differ, the
 * newer one is taken: the Unicode path field gives the name (3.12).
 */
#include "libquery/disk/zip/zip_directory.h"

#include <zlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/unicode.h"
#include "libquery/disk/zip/zip_text.h"

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

/* --- the end of the directory --- */

static void take_end(const char *record, uint64_t at, struct end *out)
{
	*out = (struct end){.at = at, .size = get32(record + 12), .offset = get32(record + 16)};
}

/* The last end record in the last 64 KiB: behind it only its comment may stand. */
static int search_end(const struct zip_file *file, struct end *out, struct error *error)
{
	size_t size = COMMENT_MAX + END_SIZE;
	CLEANUP(cleanup_free) char *tail = malloc(size);
	int code;

	if (!tail)
		return error_nomem(error);
	if (size > file->size)
		size = (size_t)file->size;
	code = zip_file_read(file, file->size - size, tail, size, error);
	if (code < 0)
		return code;
	for (size_t i = size - 3; i-- > 0;) {
		if (!has_signature(tail + i, 5, 6))
			continue;
		if (size - i < END_SIZE)
			break;
		take_end(tail + i, file->size - size + i, out);
		return 0;
	}
	return zip_file_not_a_zip(file, error);
}

/* Let the zip64 end record, where there is one, replace what @end says. */
static int apply_zip64(const struct zip_file *file, struct end *end, struct error *error)
{
	char locator[LOCATOR_SIZE], record[END64_SIZE];
	int code;

	if (end->at < LOCATOR_SIZE)
		return 0;
	code = zip_file_read(file, end->at - LOCATOR_SIZE, locator, sizeof(locator), error);
	if (code < 0 || !has_signature(locator, 6, 7))
		return code;
	if (get32(locator + 4) != 0 || get32(locator + 16) > 1)
		return error_set(error, ERROR_FORMAT, "%s: a zip of several disks is not supported",
		                 file->name);
	if (end->at < LOCATOR_SIZE + END64_SIZE)
		return zip_file_not_a_zip(file, error);
	code = zip_file_read(file, end->at - LOCATOR_SIZE - END64_SIZE, record, sizeof(record),
	                     error);
	if (code < 0 || !has_signature(record, 6, 6))
		return code;
	end->zip64 = true;
	end->size = get64(record + 40);
	end->offset = get64(record + 48);
	return 0;
}

static int find_end(const struct zip_file *file, struct end *out, struct error *error)
{
	char record[END_SIZE];
	int code;

	if (file->size < END_SIZE)
		return zip_file_not_a_zip(file, error);
	code = zip_file_read(file, file->size - END_SIZE, record, sizeof(record), error);
	if (code < 0)
		return code;
	if (has_signature(record, 5, 6) && get16(record + 20) == 0)
		take_end(record, file->size - END_SIZE, out);
	else
		code = search_end(file, out, error);
	return code < 0 ? code : apply_zip64(file, out, error);
}

/*
 * The directory ends where the end record begins; where the end record says it
 * begins only tells how far the whole archive was shifted.
 */
static int load(struct zip_directory *directory, const struct zip_file *file, struct error *error)
{
	struct end end = {0};
	int code = find_end(file, &end, error);

	if (code < 0)
		return code;
	if (end.zip64)
		end.at -= LOCATOR_SIZE + END64_SIZE;
	if (end.size > end.at)
		return error_set(error, ERROR_FORMAT, "%s: the directory has a bad offset",
		                 file->name);
	if (end.size > ZIP_DIRECTORY_MAX)
		return error_set(error, ERROR_LIMIT, "%s: a directory of more than %llu bytes",
		                 file->name, (unsigned long long)ZIP_DIRECTORY_MAX);
	directory->size = (size_t)end.size;
	directory->start = end.at - end.size;
	directory->declared = end.offset;
	directory->bytes = malloc(directory->size + 1);
	if (!directory->bytes)
		return error_nomem(error);
	return zip_file_read(file, directory->start, directory->bytes, directory->size, error);
}

/* --- one record --- */

/* As it stands in the file. */
struct record {
	const char *fixed;
	struct slice name, extra; /* cut where the directory ends */
	size_t end;               /* the place of the next, possibly behind the directory */
};

static struct slice part(const struct zip_directory *directory, size_t place, size_t length)
{
	size_t begin = place < directory->size ? place : directory->size;
	size_t left = directory->size - begin;

	return (struct slice){directory->bytes + begin, length < left ? length : left};
}

static void split_record(const struct zip_directory *directory, size_t place, struct record *out)
{
	const char *fixed = directory->bytes + place;
	size_t name = get16(fixed + 28), extra = get16(fixed + 30), comment = get16(fixed + 32);

	out->fixed = fixed;
	out->name = part(directory, place + ENTRY_SIZE, name);
	out->extra = part(directory, place + ENTRY_SIZE + name, extra);
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
static uint64_t shift(const struct zip_directory *directory, uint64_t offset)
{
	uint64_t shifted;

	if (offset < directory->declared)
		return directory->declared - offset <= directory->start
		               ? directory->start - (directory->declared - offset)
		               : UINT64_MAX;
	if (__builtin_add_overflow(directory->start, offset - directory->declared, &shifted))
		return UINT64_MAX;
	return shifted;
}

/* Fill @m from @record, its name still as in the file. Returns what is wrong, or NULL. */
static const char *read_record(const struct zip_directory *directory, const struct record *record,
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
	        .place = (size_t)(fixed - directory->bytes),
	};
	if (record->extra.len > 0)
		problem = apply_extra(record->extra, record->name, m);
	m->header_offset = shift(directory, m->header_offset);
	return problem;
}

/* --- the check of the whole, once --- */

static const char *check_record(const struct zip_directory *directory, size_t place,
                                struct record *record, struct zip_member *m)
{
	if (directory->size - place < ENTRY_SIZE)
		return "the directory is cut short";
	if (!has_signature(directory->bytes + place, 1, 2))
		return "a record of the directory does not start with its signature";
	split_record(directory, place, record);
	if ((unsigned char)record->fixed[6] > VERSION_MAX)
		return "a member needs a newer version of the format";
	if ((get16(record->fixed + 8) & ZIP_UTF8) && !utf8_valid(record->name))
		return "a name is not UTF-8";
	return read_record(directory, record, m);
}

static bool is_foreign(const struct zip_member *m)
{
	return !(m->flags & ZIP_UTF8) && !zip_text_is_ascii(m->name);
}

/* Whether the name is that of the record itself, and not of a Unicode path field. */
static bool is_own_name(const struct record *record, const struct zip_member *m)
{
	return m->name.ptr == record->name.ptr;
}

/* Keep the UTF-8 of a cp437 name, so that a walk need not convert it again. */
static int keep_foreign(struct zip_directory *directory, const struct zip_member *m,
                        struct error *error)
{
	char *bytes = arena_alloc(&directory->names, m->name.len * UTF8_PER_CP437);

	if (!bytes || !array_grow(&directory->foreign, directory->foreigners,
	                          sizeof(*directory->foreign), &directory->room))
		return error_nomem(error);
	directory->foreign[directory->foreigners++] = (struct zip_foreign){
	        .place = m->place,
	        .name = {bytes, zip_text_convert(m->name, bytes)},
	};
	return 0;
}

static int check(struct zip_directory *directory, const struct zip_file *file, struct error *error)
{
	struct record record;
	struct zip_member m;
	int code = 0;

	for (size_t place = 0; code == 0 && place < directory->size; place = record.end) {
		const char *problem = check_record(directory, place, &record, &m);

		if (problem)
			return error_set(error, ERROR_FORMAT, "%s: %s", file->name, problem);
		if (++directory->count > ZIP_MEMBERS_MAX)
			return error_set(error, ERROR_LIMIT, "%s: more than %zu members",
			                 file->name, ZIP_MEMBERS_MAX);
		if (is_own_name(&record, &m) && is_foreign(&m))
			code = keep_foreign(directory, &m, error);
	}
	return code;
}

/* --- the whole --- */

int zip_directory_load(struct zip_directory *out, const struct zip_file *file, struct error *error)
{
	int code = load(out, file, error);

	return code < 0 ? code : check(out, file, error);
}

void zip_directory_free(struct zip_directory *directory)
{
	arena_free(&directory->names);
	free(directory->foreign);
	free(directory->bytes);
	*directory = (struct zip_directory){0};
}

/* --- walking --- */

bool zip_directory_next(const struct zip_directory *directory, struct zip_cursor *cursor,
                        struct zip_member *out)
{
	struct record record;

	if (cursor->place >= directory->size)
		return false;
	split_record(directory, cursor->place, &record);
	read_record(directory, &record, out); /* found right when the zip was opened */
	cursor->place = record.end;
	if (cursor->foreign < directory->foreigners &&
	    directory->foreign[cursor->foreign].place == out->place)
		out->name = directory->foreign[cursor->foreign++].name;
	return true;
}

struct slice zip_directory_name(const struct zip_directory *directory, size_t place)
{
	struct record record;

	split_record(directory, place, &record);
	return record.name;
}
