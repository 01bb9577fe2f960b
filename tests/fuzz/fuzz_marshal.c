/*
 * fuzz_marshal.c - whatever the bytecode is, each name is a part of it, there are no more
 * names than bytes, and the same ones each time, up to the one that ends the walk.
 */
#include "db/base/hash.h"
#include "indexer/audit/marshal.h"
#include "tests/fuzz/input.h"

struct seen {
	struct slice code;
	uint64_t digest; /* of all names so far */
	size_t count, most;
};

static bool each(void *payload, struct slice name)
{
	struct seen *seen = payload;
	uint64_t pair[2] = {seen->digest, hash_stable(name.ptr, name.len)};

	require(name.ptr >= seen->code.ptr);
	require(name.len <= (size_t)(seen->code.ptr + seen->code.len - name.ptr));
	seen->digest = hash_numbers(pair, 2);
	return ++seen->count < seen->most;
}

/* The first two bytes are the magic number. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice code = input_of(data, size);
	unsigned magic = (unsigned)input_number(&code, 2);
	struct seen whole = {.code = code, .most = SIZE_MAX};
	struct seen again = {.code = code}, none = {.code = code, .most = 1};
	enum marshal_end end = marshal_walk(code, magic, each, &whole);

	require(end != MARSHAL_STOPPED && end != MARSHAL_NOMEM);
	require(whole.count <= code.len);
	again.most = whole.count;
	require(marshal_walk(code, magic, each, &again) == (whole.count ? MARSHAL_STOPPED : end));
	require(again.count == whole.count && again.digest == whole.digest);
	require(marshal_walk(code, magic, each, &none) == (whole.count ? MARSHAL_STOPPED : end));
	return 0;
}
