/*
 * fuzz_target_record.c - the first line of the input is the module, the second the attr, the rest
 * is RECORD. An answer is always given; the files it names are listed in RECORD and below the path
 * entry.
 */
#include "libquery/disk/target/target.h"
#include "tests/fuzz/input.h"

static struct slice take_line(struct slice *rest)
{
	const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
	struct slice line = end ? slice_between(rest->ptr, end) : *rest;

	*rest = slice_from(*rest, line.len + (end ? 1 : 0));
	return line;
}

/* Every second file does not exist, and none is an ELF file. */
static int fetch(void *payload, struct slice path, uint64_t *unpacked, struct error *error)
{
	unsigned *calls = payload;

	if (path.len == 0 || memchr(path.ptr, '\n', path.len))
		abort();
	if (++*calls % 2)
		return error_set(error, ERROR_NOTFOUND, "not there");
	*unpacked = 1;
	return input_descriptor("\177ELF and nothing else", 21);
}

static void check(const struct target_site *site, const struct target_record *target)
{
	struct slice object = target->object;

	if (!target_kinds.all[target->kind] || !target_states.all[target->state])
		abort();
	if ((target->kind == TARGET_UNRESOLVED) != (target->state != TARGET_OK))
		abort();
	if (slice_is_null(object))
		return;
	if (object.len == 0 || object.ptr[0] == '/' || slice_starts(object, SLICE("../")))
		abort();
	if (!memmem(site->modules.record.text.ptr, site->modules.record.text.len, object.ptr,
	            object.len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A buffer of the exact size, so that reading beyond it is detected. */
	char *copy = malloc(size + !size);
	struct slice rest = {copy, size};
	struct target_site site = {.modules = {.fd = -1}, .objects = {.fd = -1, .fetch = fetch}};
	struct entry_point_record wanted = {.group = SLICE("other")};
	struct arena arena = ARENA_INIT;
	unsigned calls = 0;
	struct target_record target;

	if (size > 0)
		memcpy(copy, data, size);
	site.objects.payload = &calls;
	wanted.module = take_line(&rest);
	wanted.attr = take_line(&rest);
	site.modules.record.text = rest;
	for (int jax = 0; jax < 2; jax++) {
		if (jax)
			wanted.group = SLICE("jax_plugins");
		if (target_resolve(&site, &wanted, &arena, &target, NULL) < 0)
			abort();
		check(&site, &target);
	}
	arena_free(&arena);
	free(copy);
	return 0;
}
