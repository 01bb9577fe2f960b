/*
 * marshal.c - see marshal.h.
 *
 * An object is a letter and what belongs to it. One that is needed again has a bit set, and
 * is numbered; "r" and the number stand for it later on. So a name may be written among the
 * constants first: what a number stands for is read again, in its new role, once.
 */
#include "indexer/audit/marshal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"

#define MAGIC_FIRST   3413 /* 3.8 */
#define MAGIC_LOCALS  3450 /* 3.11: one table of all local names */
#define MAGIC_UNKNOWN 3650 /* 3.15 */
#define DEPTH_MAX     2000 /* as CPython has it */
#define IS_NUMBERED   0x80

enum role { ANY, NAME, NAMES };

/* An object that has a number. */
struct numbered {
	uint32_t at;
	bool given; /* its names were */
};

struct walk {
	struct slice code;
	unsigned magic;
	marshal_name *each;
	void *payload;
	size_t at, depth;
	struct numbered *objects;
	size_t count, room;
	bool again; /* what is read has its number */
	enum marshal_end end;
};

bool marshal_is_known(unsigned magic)
{
	return magic >= MAGIC_FIRST && magic < MAGIC_UNKNOWN;
}

static bool ends(struct walk *walk, enum marshal_end why)
{
	walk->end = why;
	return false;
}

static bool take(struct walk *walk, size_t size, struct slice *out)
{
	if (size > walk->code.len - walk->at)
		return ends(walk, MARSHAL_BROKEN);
	*out = (struct slice){walk->code.ptr + walk->at, size};
	walk->at += size;
	return true;
}

static bool skip(struct walk *walk, size_t size)
{
	struct slice passed;

	return take(walk, size, &passed);
}

/* A number of @size bytes, the least one first. */
static bool take_word(struct walk *walk, size_t size, uint32_t *out)
{
	struct slice bytes;

	if (!take(walk, size, &bytes))
		return false;
	*out = 0;
	for (size_t i = 0; i < size; i++)
		*out |= (uint32_t)(unsigned char)bytes.ptr[i] << 8 * i;
	return true;
}

/* How many there are of something: never a negative number. */
static bool take_count(struct walk *walk, size_t size, uint32_t *out)
{
	return take_word(walk, size, out) && (*out <= INT32_MAX || ends(walk, MARSHAL_BROKEN));
}

static bool read_object(struct walk *walk, enum role role);

/* --- objects --- */

static bool read_text(struct walk *walk, size_t width, enum role role)
{
	struct slice text;
	uint32_t size;

	if (!take_count(walk, width, &size) || !take(walk, size, &text))
		return false;
	if (role == NAME && !walk->each(walk->payload, text))
		return ends(walk, MARSHAL_STOPPED);
	return role != NAMES || ends(walk, MARSHAL_BROKEN);
}

static bool read_items(struct walk *walk, uint32_t count, enum role role)
{
	if (role == NAME)
		return ends(walk, MARSHAL_BROKEN);
	while (count-- > 0)
		if (!read_object(walk, role == NAMES ? NAME : ANY))
			return false;
	return true;
}

static bool read_sequence(struct walk *walk, size_t width, enum role role)
{
	uint32_t count;

	return take_count(walk, width, &count) && read_items(walk, count, role);
}

/* Keys and values, up to a NULL where a key would be. */
static bool read_dict(struct walk *walk)
{
	while (walk->at < walk->code.len && walk->code.ptr[walk->at] != '0')
		if (!read_items(walk, 2, ANY))
			return false;
	return skip(walk, 1);
}

/* Digits of 15 bits; a negative count is the sign. */
static bool read_long(struct walk *walk)
{
	uint32_t count;

	if (!take_word(walk, sizeof(count), &count))
		return false;
	return skip(walk, 2 * (size_t)(count > INT32_MAX ? -count : count));
}

static bool read_decimal(struct walk *walk)
{
	uint32_t size;

	return take_count(walk, 1, &size) && skip(walk, size);
}

/* The fields of a code object: 'i' is a number, and the others are objects by their role. */
static bool read_code(struct walk *walk)
{
	/* ...; code, constants; names; locals; their kinds, file; name; qualified name; line; ...
	 */
	static const char fields[] = "iiiiiooNNoonoioo";
	/* ...; code, constants; names, variables, free ones, cells; file; name; line; ... */
	static const char older[] = "iiiiiiooNNNNonio";

	for (const char *at = walk->magic < MAGIC_LOCALS ? older : fields; *at; at++)
		if (!(*at == 'i' ? skip(walk, 4)
		                 : read_object(walk, *at == 'N'   ? NAMES
		                                     : *at == 'n' ? NAME
		                                                  : ANY)))
			return false;
	return true;
}

static bool read_body(struct walk *walk, unsigned char kind, enum role role)
{
	switch (kind) {
	case 'N':
	case 'F':
	case 'T':
	case 'S':
	case '.': /* None, False, True, ..., Ellipsis */
		return true;
	case 'i':
		return skip(walk, 4);
	case 'I':
	case 'g':
		return skip(walk, 8);
	case 'y':
		return skip(walk, 16);
	case 'f':
		return read_decimal(walk);
	case 'x':
		return read_decimal(walk) && read_decimal(walk);
	case 'l':
		return read_long(walk);
	case 's':
	case 't':
	case 'u':
	case 'a':
	case 'A':
		return read_text(walk, 4, role);
	case 'z':
	case 'Z':
		return read_text(walk, 1, role);
	case ')':
		return read_sequence(walk, 1, role);
	case '(':
	case '[':
	case '<':
	case '>':
		return read_sequence(walk, 4, role);
	case '{':
		return read_dict(walk);
	case ':':
		return read_items(walk, 3, ANY);
	case 'c':
		return read_code(walk);
	default:
		return ends(walk, MARSHAL_BROKEN);
	}
}

/* What was read before, in a role of names. */
static bool read_again(struct walk *walk, struct numbered *object, enum role role)
{
	size_t at = walk->at;
	bool again = walk->again, read;

	if (object->given || role == ANY)
		return true;
	object->given = true;
	walk->at = object->at;
	walk->again = true;
	read = read_object(walk, role);
	walk->at = at;
	walk->again = again;
	return read;
}

static bool read_reference(struct walk *walk, enum role role)
{
	uint32_t number;

	if (!take_count(walk, 4, &number))
		return false;
	if (number >= walk->count)
		return ends(walk, MARSHAL_BROKEN);
	return read_again(walk, &walk->objects[number], role);
}

static bool give_number(struct walk *walk, enum role role)
{
	if (!array_grow(&walk->objects, walk->count, sizeof(*walk->objects), &walk->room))
		return ends(walk, MARSHAL_NOMEM);
	walk->objects[walk->count++] = (struct numbered){(uint32_t)(walk->at - 1), role != ANY};
	return true;
}

/* Of a role of names only texts, and tuples of them: what else there is, Python refuses. */
static bool suits(unsigned char kind, enum role role)
{
	return role == ANY || memchr("rstuaAzZ()", kind, 10);
}

static bool read_object(struct walk *walk, enum role role)
{
	struct slice letter;
	unsigned char kind;
	bool read;

	if (walk->depth == DEPTH_MAX || !take(walk, 1, &letter))
		return ends(walk, MARSHAL_BROKEN);
	kind = (unsigned char)letter.ptr[0];
	if (kind & IS_NUMBERED && !walk->again && !give_number(walk, role))
		return false;
	kind &= (unsigned char)~IS_NUMBERED;
	if (!suits(kind, role))
		return ends(walk, MARSHAL_BROKEN);
	walk->depth++;
	read = kind == 'r' ? read_reference(walk, role) : read_body(walk, kind, role);
	walk->depth--;
	return read;
}

enum marshal_end marshal_walk(struct slice code, unsigned magic, marshal_name *each, void *payload)
{
	struct walk walk = {.code = code, .magic = magic, .each = each, .payload = payload};

	if (code.len == 0 || code.len > MARSHAL_MAX ||
	    ((unsigned char)code.ptr[0] & ~IS_NUMBERED) != 'c')
		return MARSHAL_BROKEN;
	read_object(&walk, ANY);
	free(walk.objects);
	return walk.end;
}
