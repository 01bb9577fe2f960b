/*
 * zip_directory.c - sees in each zip, however odd, exactly the members that importlib.metadata
 * would see through Python's zipfile.
 *
 * Every rule below is therefore zipfile's, including its leniences: the directory ends
 * where the end record stands, so bytes before the archive shift all offsets; the last
 * record may be cut short in its variable part. Where releases of CPython differ, the
 * newer one is taken: the Unicode path field gives the name (3.12).
 */
#include "libquery/disk/zip/zip_directory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/unicode.h"

#define END_SIZE     22 /* bytes of the end record without its comment */
#define LOCATOR_SIZE 20 /* bytes of the zip64 locator, which stands right before it */
#define END64_SIZE   56 /* bytes of the zip64 end record, right before that */
#define ENTRY_SIZE   46 /* bytes of a directory record without name, extra and comment */
#define COMMENT_MAX  ((size_t)1 << 16) /* bytes searched for an end record */
#define VERSION_MAX  63                /* the newest "version needed" that Python accepts */

#define UTF8_PER_CP437 3 /* the most bytes of UTF-8 for one of cp437 */

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

/* --- the file --- */

static int not_a_zip(const struct zip_file *file, struct error *error)
{
	return error_set(error, ERROR_FORMAT, "%s: not a zip file", file->name);
}

int zip_file_open(int fd, const char *name, struct zip_file *out, struct error *error)
{
	struct zip_file file = {.fd = fd, .name = name};
	struct stat status;

	if (fstat(fd, &status) < 0)
		return error_errno(error, errno, "%s", name);
	if (!S_ISREG(status.st_mode))
		return not_a_zip(&file, error);
	file.size = (uint64_t)status.st_size;
	*out = file;
	return 0;
}

int zip_file_read_some(const struct zip_file *file, uint64_t at, char *to, size_t size, size_t *got,
                       struct error *error)
{
	size_t done = 0;

	while (done < size && at + done < file->size) {
		ssize_t n = pread(file->fd, to + done, size - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(error, errno, "%s", file->name);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*got = done;
	return 0;
}

int zip_file_read(const struct zip_file *file, uint64_t at, char *to, size_t size,
                  struct error *error)
{
	size_t got = 0;
	int code = zip_file_read_some(file, at, to, size, &got, error);

	if (code < 0)
		return code;
	if (got < size)
		return error_set(error, ERROR_FORMAT, "%s: ends within a record", file->name);
	return 0;
}

/* --- names --- */

/*
 * A flag says UTF-8; without it Python takes the name for cp437, the character set of the
 * first PC, whatever wrote the zip. The wrong choice here would name members that Python
 * does not know. In ASCII the two agree.
 */
static const uint16_t cp437[128] = {
        0x00C7, 0x00FC, 0x00E9, 0x00E2, 0x00E4, 0x00E0, 0x00E5, 0x00E7, 0x00EA, 0x00EB, 0x00E8,
        0x00EF, 0x00EE, 0x00EC, 0x00C4, 0x00C5, 0x00C9, 0x00E6, 0x00C6, 0x00F4, 0x00F6, 0x00F2,
        0x00FB, 0x00F9, 0x00FF, 0x00D6, 0x00DC, 0x00A2, 0x00A3, 0x00A5, 0x20A7, 0x0192, 0x00E1,
        0x00ED, 0x00F3, 0x00FA, 0x00F1, 0x00D1, 0x00AA, 0x00BA, 0x00BF, 0x2310, 0x00AC, 0x00BD,
        0x00BC, 0x00A1, 0x00AB, 0x00BB, 0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561, 0x2562,
        0x2556, 0x2555, 0x2563, 0x2551, 0x2557, 0x255D, 0x255C, 0x255B, 0x2510, 0x2514, 0x2534,
        0x252C, 0x251C, 0x2500, 0x253C, 0x255E, 0x255F, 0x255A, 0x2554, 0x2569, 0x2566, 0x2560,
        0x2550, 0x256C, 0x2567, 0x2568, 0x2564, 0x2565, 0x2559, 0x2558, 0x2552, 0x2553, 0x256B,
        0x256A, 0x2518, 0x250C, 0x2588, 0x2584, 0x258C, 0x2590, 0x2580, 0x03B1, 0x00DF, 0x0393,
        0x03C0, 0x03A3, 0x03C3, 0x00B5, 0x03C4, 0x03A6, 0x0398, 0x03A9, 0x03B4, 0x221E, 0x03C6,
        0x03B5, 0x2229, 0x2261, 0x00B1, 0x2265, 0x2264, 0x2320, 0x2321, 0x00F7, 0x2248, 0x00B0,
        0x2219, 0x00B7, 0x221A, 0x207F, 0x00B2, 0x25A0, 0x00A0,
};

static bool is_ascii(struct slice text)
{
	const uint64_t high = UINT64_C(0x8080808080808080);
	uint64_t word, seen = 0;
	unsigned char rest = 0;

	for (; text.len >= sizeof(word); text = slice_from(text, sizeof(word))) {
		memcpy(&word, text.ptr, sizeof(word));
		seen |= word;
	}
	for (size_t i = 0; i < text.len; i++)
		rest |= (unsigned char)text.ptr[i];
	return (seen & high) == 0 && rest < 0x80;
}

/* Write cp437 @text as UTF-8 to @to, which has room for it; returns how many bytes. */
static size_t convert(struct slice text, char *to)
{
	char *begin = to;

	for (size_t i = 0; i < text.len; i++) {
		unsigned char byte = (unsigned char)text.ptr[i];
		unsigned point = byte < 0x80 ? byte : cp437[byte - 0x80];

		if (point < 0x80) {
			*to++ = (char)point;
		} else if (point < 0x800) {
			*to++ = (char)(0xC0 | point >> 6);
			*to++ = (char)(0x80 | (point & 0x3F));
		} else {
			*to++ = (char)(0xE0 | point >> 12);
			*to++ = (char)(0x80 | (point >> 6 & 0x3F));
			*to++ = (char)(0x80 | (point & 0x3F));
		}
	}
	return (size_t)(to - begin);
}

/* Whether cp437 text and UTF-8 text say the same; 1, 0 or ERROR_NOMEM. */
static int same_across(struct slice foreign, struct slice utf8)
{
	CLEANUP(cleanup_free) char *converted = malloc(foreign.len * UTF8_PER_CP437 + 1);

	if (!converted)
		return ERROR_NOMEM;
	return slice_equal((struct slice){converted, convert(foreign, converted)}, utf8);
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
	return not_a_zip(file, error);
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
		return not_a_zip(file, error);
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
		return not_a_zip(file, error);
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
	return !(m->flags & ZIP_UTF8) && !is_ascii(m->name);
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
	                          sizeof(*directory->foreign), &directory->foreign_room))
		return error_nomem(error);
	directory->foreign[directory->foreigners++] = (struct zip_foreign){
	        .place = m->place,
	        .name = {bytes, convert(m->name, bytes)},
	};
	return 0;
}

/*
 * The packed bytes of a member end before the next one starts, so each read asks for that.
 * One whose start lies outside of any file keeps nothing from being read.
 */
static bool keep_start(struct zip_directory *directory, uint64_t offset)
{
	if (offset == UINT64_MAX)
		return true;
	if (!array_grow(&directory->starts, directory->start_count, sizeof(offset),
	                &directory->start_room))
		return false;
	directory->starts[directory->start_count++] = offset;
	return true;
}

static int by_offset(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Members are in order, as a rule. */
static void sort_starts(struct zip_directory *directory)
{
	for (size_t i = 1; i < directory->start_count; i++)
		if (directory->starts[i - 1] > directory->starts[i]) {
			qsort(directory->starts, directory->start_count, sizeof(uint64_t),
			      by_offset);
			return;
		}
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
		if (!keep_start(directory, m.header_offset))
			code = error_nomem(error);
	}
	sort_starts(directory);
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
	free(directory->starts);
	free(directory->bytes);
	*directory = (struct zip_directory){0};
}

/* --- asking --- */

static int by_place(const void *left, const void *right)
{
	const struct zip_foreign *a = left, *b = right;

	return (a->place > b->place) - (a->place < b->place);
}

bool zip_directory_next(const struct zip_directory *directory, size_t *place,
                        struct zip_member *out)
{
	const struct zip_foreign *foreign = NULL;
	struct record record;

	if (*place >= directory->size)
		return false;
	split_record(directory, *place, &record);
	read_record(directory, &record, out); /* found right when the zip was opened */
	if (directory->foreigners > 0)
		foreign = bsearch(&(struct zip_foreign){.place = *place}, directory->foreign,
		                  directory->foreigners, sizeof(*foreign), by_place);
	if (foreign)
		out->name = foreign->name;
	*place = record.end;
	return true;
}

uint64_t zip_directory_next_start(const struct zip_directory *directory, uint64_t offset)
{
	size_t low = 0, high = directory->start_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (directory->starts[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < directory->start_count ? directory->starts[low] : directory->start;
}

/* Both headers name the member, each in a character set of its own. */
int zip_directory_is_named(const struct zip_directory *directory, const struct zip_member *member,
                           struct slice local, unsigned flags)
{
	struct record record;

	split_record(directory, member->place, &record);
	if (((member->flags ^ flags) & ZIP_UTF8) == 0)
		return slice_equal(record.name, local);
	return member->flags & ZIP_UTF8 ? same_across(local, record.name)
	                                : same_across(record.name, local);
}
