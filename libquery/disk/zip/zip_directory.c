/*
 * zip_directory.c - finds in every zip, however unusual, the members that Python's zipfile finds.
 *
 * So every rule below is zipfile's, including its tolerance: the directory ends where the end
 * record starts, so bytes before the archive shift all offsets; the variable part of the last
 * record may be truncated. Where releases of CPython differ, the newer one is followed: the Unicode
 * path field sets the name (3.12).
 */
#include "libquery/disk/zip/zip_directory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <uchar.h>
#include <unistd.h>
#include <zlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/libc.h"
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

/* --- the file --- */

static int not_a_zip(const struct zip *zip, struct error *error)
{
	return error_set(error, ERROR_FORMAT, "%s: not a zip file", zip->path);
}

int zip_file_read_some(const struct zip *zip, uint64_t at, char *to, size_t size, size_t *got,
                       struct error *error)
{
	size_t done = 0;

	while (done < size && at + done < zip->size) {
		ssize_t n = zip->source.read
		                    ? zip->source.read(zip->source.payload, to + done, size - done,
		                                       at + done)
		                    : TEMP_FAILURE_RETRY(pread(zip->fd, to + done, size - done,
		                                               (off_t)(at + done)));

		if (n < 0)
			return error_errno(error, errno, "%s", zip->path);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*got = done;
	return 0;
}

int zip_file_read(const struct zip *zip, uint64_t at, char *to, size_t size, struct error *error)
{
	size_t got = 0;
	int code = zip_file_read_some(zip, at, to, size, &got, error);

	if (code == 0 && got < size)
		return error_set(error, ERROR_FORMAT, "it ends within a record");
	return code;
}

/* --- names --- */

/*
 * Without the flag for UTF-8, Python decodes the name as cp437, the character set of the first PC,
 * whatever wrote the zip. Another choice would give names that Python does not know. In ASCII the
 * two agree.
 */
static const char16_t cp437[] =
        u"ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐"
        u"└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00A0";

/* Write cp437 @text as UTF-8 to @to, which has room for it. */
static struct slice convert(struct slice text, char *to)
{
	char *end = to;

	for (size_t i = 0; i < text.len; i++) {
		unsigned char byte = (unsigned char)text.ptr[i];

		end = utf8_put(end, byte < 0x80 ? byte : cp437[byte - 0x80]);
	}
	return slice_between(to, end);
}

static struct slice cut_at_nul(struct slice s)
{
	return s.len ? slice_first(s, strnlen(s.ptr, s.len)) : s;
}

/* --- the end of the directory --- */

/* The end record, after applying zip64. */
struct end {
	uint64_t at;           /* offset of the end record, and end of the directory */
	uint64_t size, offset; /* of the directory */
};

/*
 * Find the last end record in the last 64 KiB: only its comment may follow it. One without a
 * comment, at the very end of the file, is preferred.
 */
static int find_end(const struct zip *zip, struct end *out, struct error *error)
{
	size_t size = COMMENT_MAX + END_SIZE, at;
	CLEANUP(cleanup_free) char *tail = NULL;
	char last[END_SIZE];
	const char *record = last;
	int code;

	if (zip->size < END_SIZE)
		return not_a_zip(zip, error);
	code = zip_file_read(zip, zip->size - END_SIZE, last, sizeof(last), error);
	if (code < 0)
		return code;
	out->at = zip->size - END_SIZE;
	if (!has_signature(last, 5, 6) || get16(last + 20) != 0) {
		size = size > zip->size ? (size_t)zip->size : size;
		tail = malloc(size);
		if (!tail)
			return error_nomem(error);
		code = zip_file_read(zip, zip->size - size, tail, size, error);
		if (code < 0)
			return code;
		for (at = size - 3; at-- > 0 && !has_signature(tail + at, 5, 6);)
			;
		if (at > size - END_SIZE) /* truncated, or none */
			return not_a_zip(zip, error);
		record = tail + at;
		out->at = zip->size - size + at;
	}
	out->size = get32(record + 12);
	out->offset = get32(record + 16);
	return 0;
}

/* Replace the values of @end by those of the zip64 end record, if there is one. */
static int apply_zip64(const struct zip *zip, struct end *end, struct error *error)
{
	char locator[LOCATOR_SIZE], record[END64_SIZE];
	int code;

	if (end->at < LOCATOR_SIZE)
		return 0;
	code = zip_file_read(zip, end->at - LOCATOR_SIZE, locator, sizeof(locator), error);
	if (code < 0 || !has_signature(locator, 6, 7))
		return code;
	if (get32(locator + 4) != 0 || get32(locator + 16) > 1)
		return error_set(error, ERROR_FORMAT, "%s: a zip of several disks is not supported",
		                 zip->path);
	if (end->at < LOCATOR_SIZE + END64_SIZE)
		return not_a_zip(zip, error);
	code = zip_file_read(zip, end->at - LOCATOR_SIZE - END64_SIZE, record, sizeof(record),
	                     error);
	if (code < 0 || !has_signature(record, 6, 6))
		return code;
	end->at -= LOCATOR_SIZE + END64_SIZE;
	end->size = get64(record + 40);
	end->offset = get64(record + 48);
	return 0;
}

/*
 * The directory ends where the end record starts; its declared offset only gives the shift of the
 * whole archive.
 */
static int load(struct zip *zip, struct error *error)
{
	struct end end = {0};
	int code = find_end(zip, &end, error);

	if (code == 0)
		code = apply_zip64(zip, &end, error);
	if (code < 0)
		return code;
	if (end.size > end.at)
		return error_set(error, ERROR_FORMAT, "%s: the directory has a bad offset",
		                 zip->path);
	if (end.size > ZIP_DIRECTORY_MAX)
		return error_set(error, ERROR_LIMIT, "%s: a directory of more than %llu bytes",
		                 zip->path, (unsigned long long)ZIP_DIRECTORY_MAX);
	zip->length = (size_t)end.size;
	zip->start = end.at - end.size;
	zip->declared = end.offset;
	zip->bytes = malloc(zip->length + 1);
	if (!zip->bytes)
		return error_nomem(error);
	return zip_file_read(zip, zip->start, zip->bytes, zip->length, error);
}

/* --- one record --- */

/* A part of a record, truncated at the end of the directory. */
static struct slice part(const struct zip *zip, size_t place, size_t length)
{
	size_t begin = place < zip->length ? place : zip->length;
	size_t left = zip->length - begin;

	return (struct slice){zip->bytes + begin, length < left ? length : left};
}

/* The name in a record, as stored. */
static struct slice name_at(const struct zip *zip, size_t record)
{
	return part(zip, record + ENTRY_SIZE, get16(zip->bytes + record + 28));
}

/* The sizes and the offset that exceed 32 bits, in this order, each only if needed. */
static const char *apply_extra64(struct slice field, struct zip_member *m)
{
	uint64_t *const numbers[] = {&m->size, &m->packed, &m->header_offset};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (*numbers[i] != UINT32_MAX && (i > 0 || *numbers[i] != UINT64_MAX))
			continue;
		if (field.len < sizeof(uint64_t))
			return "a number is missing in a zip64 field";
		*numbers[i] = get64(field.ptr);
		field = slice_from(field, sizeof(uint64_t));
	}
	return NULL;
}

/* A name in UTF-8 in addition to one in another character set; valid only for that name. */
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

/* Add the shift of the archive; UINT64_MAX if the result is out of range. */
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

/* Fill @m from the record at m->record. Returns the problem, or NULL. */
static const char *read_record(struct zip *zip, struct zip_member *m, bool *failed)
{
	const char *fixed = zip->bytes + m->record, *problem;
	struct slice name, extra;
	char *converted;

	if (zip->length - m->record < ENTRY_SIZE)
		return "the directory is cut short";
	if (!has_signature(fixed, 1, 2))
		return "a record of the directory does not start with its signature";
	if ((unsigned char)fixed[6] > VERSION_MAX)
		return "a member needs a newer version of the format";
	name = name_at(zip, m->record);
	extra = part(zip, m->record + ENTRY_SIZE + get16(fixed + 28), get16(fixed + 30));
	m->name = cut_at_nul(name);
	m->flags = get16(fixed + 8);
	m->method = get16(fixed + 10);
	m->crc = get32(fixed + 16);
	m->packed = get32(fixed + 20);
	m->size = get32(fixed + 24);
	m->header_offset = get32(fixed + 42);
	if ((m->flags & ZIP_UTF8) && !utf8_valid(name))
		return "a name is not UTF-8";
	problem = apply_extra(extra, name, m);
	m->header_offset = shift(zip, m->header_offset);
	if (m->flags & ZIP_UTF8 || m->name.ptr != name.ptr ||
	    utf8_span_ascii(m->name.ptr, m->name.ptr + m->name.len) == m->name.len)
		return problem;
	converted = arena_alloc(&zip->names, m->name.len * UTF8_PER_CP437);
	if (converted)
		m->name = convert(m->name, converted);
	*failed |= !converted;
	return problem;
}

/* --- the whole --- */

static int by_offset(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/*
 * Sort the offsets: each read checks that a member ends before the next one starts. Members are
 * usually in order.
 */
static int sort_starts(struct zip *zip, struct error *error)
{
	bool in_order = true;

	zip->starts = malloc((zip->count + 1) * sizeof(*zip->starts));
	if (!zip->starts)
		return error_nomem(error);
	for (size_t i = 0; i < zip->count; i++) {
		zip->starts[i] = zip->members[i].header_offset;
		in_order &= i == 0 || zip->starts[i - 1] <= zip->starts[i];
	}
	if (!in_order)
		qsort(zip->starts, zip->count, sizeof(*zip->starts), by_offset);
	return 0;
}

int zip_directory_load(struct zip *zip, struct error *error)
{
	struct stat status;
	size_t next;
	int code;

	if (zip->source.read)
		status = (struct stat){.st_mode = S_IFREG, .st_size = (off_t)zip->source.size};
	else if (fstat(zip->fd, &status) < 0)
		return error_errno(error, errno, "%s", zip->path);
	if (!S_ISREG(status.st_mode))
		return not_a_zip(zip, error);
	zip->size = (uint64_t)status.st_size;
	code = load(zip, error);
	if (code < 0)
		return code;
	for (size_t place = 0; place < zip->length; place = next) {
		struct zip_member m = {.record = place};
		const char *fixed = zip->bytes + place;
		bool failed = false;
		const char *problem = read_record(zip, &m, &failed);

		if (problem)
			return error_set(error, ERROR_FORMAT, "%s: %s", zip->path, problem);
		if (zip->count == ZIP_MEMBERS_MAX)
			return error_set(error, ERROR_LIMIT, "%s: more than %zu members", zip->path,
			                 ZIP_MEMBERS_MAX);
		if (failed ||
		    !array_grow(&zip->members, zip->count, sizeof(*zip->members), &zip->room))
			return error_nomem(error);
		zip->members[zip->count++] = m;
		next = place + ENTRY_SIZE + get16(fixed + 28) + get16(fixed + 30) +
		       get16(fixed + 32);
	}
	return sort_starts(zip, error);
}

/* --- look-ups --- */

/* A member with an offset out of range does not limit others. */
uint64_t zip_directory_next_start(const struct zip *zip, uint64_t offset)
{
	size_t low = 0, high = zip->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (zip->starts[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < zip->count && zip->starts[low] != UINT64_MAX ? zip->starts[low] : zip->start;
}

/* The two headers may use different character sets. */
int zip_directory_is_named(const struct zip *zip, const struct zip_member *member,
                           struct slice local, unsigned flags)
{
	struct slice name = name_at(zip, member->record);
	struct slice foreign = member->flags & ZIP_UTF8 ? local : name;
	CLEANUP(cleanup_free) char *converted = NULL;

	if (((member->flags ^ flags) & ZIP_UTF8) == 0)
		return slice_equal(name, local);
	converted = malloc(foreign.len * UTF8_PER_CP437 + 1);
	if (!converted)
		return ERROR_NOMEM;
	return slice_equal(convert(foreign, converted), member->flags & ZIP_UTF8 ? name : local);
}
