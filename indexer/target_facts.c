/*
 * target_facts.c - see target_facts.h.
 */
#include "indexer/target_facts.h"

#include <elf.h>
#include <stdio.h>

#include "indexer/command.h"

/* The texts, in the order of TARGET_FACTS_KEYS behind the two numbers. */
static const enum entrydb_target_field fields[] = {
        ENTRYDB_TARGET_BUILD_ID,  ENTRYDB_TARGET_SHA256,  ENTRYDB_TARGET_GLIBC,
        ENTRYDB_TARGET_GLIBCXX,   ENTRYDB_TARGET_MISSING, ENTRYDB_TARGET_UNDEFINED,
        ENTRYDB_TARGET_PYTHON_BY,
};

#define FIELD_COUNT (sizeof(fields) / sizeof(*fields))

_Static_assert(FIELD_COUNT + 2 == TARGET_FACTS_COUNT, "a value for each key");

void target_facts_put(struct json *json, size_t first, const entrydb_target *target)
{
	if (entrydb_target_size(target))
		json_number(json, first, (int64_t)entrydb_target_size(target));
	if (entrydb_target_machine(target))
		json_number(json, first + 1, entrydb_target_machine(target));
	for (size_t i = 0; i < FIELD_COUNT; i++)
		json_text(json, first + 2 + i, slice_of(entrydb_target_text(target, fields[i])));
}

static void print_machine(const entrydb_target *target)
{
	static const struct {
		int machine;
		const char *name;
	} known[] = {
	        {EM_X86_64, "x86-64"}, {EM_AARCH64, "aarch64"}, {EM_386, "i386"},  {EM_ARM, "arm"},
	        {EM_RISCV, "riscv"},   {EM_PPC64, "ppc64"},     {EM_S390, "s390"},
	};
	int machine = entrydb_target_machine(target);

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].machine == machine) {
			print_line(STYLE_BAD, "  made for     %s", known[i].name);
			return;
		}
	print_line(STYLE_BAD, "  made for     machine %d of ELF's", machine);
}

void target_facts_print(const entrydb_target *target)
{
	static const struct {
		enum entrydb_target_field field;
		enum style style;
		const char *label;
	} lines[] = {
	        {ENTRYDB_TARGET_BUILD_ID, STYLE_PLAIN, "build-id"},
	        {ENTRYDB_TARGET_GLIBC, STYLE_PLAIN, "glibc"},
	        {ENTRYDB_TARGET_GLIBCXX, STYLE_PLAIN, "glibcxx"},
	        {ENTRYDB_TARGET_MISSING, STYLE_BAD, "missing"},
	        {ENTRYDB_TARGET_UNDEFINED, STYLE_BAD, "undefined"},
	        {ENTRYDB_TARGET_PYTHON_BY, STYLE_PLAIN, "Python by"},
	};

	if (entrydb_target_state(target) == ENTRYDB_STATE_WRONG_ARCHITECTURE)
		print_machine(target);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *text = entrydb_target_text(target, lines[i].field);

		if (text)
			print_line(lines[i].style, "  %-12s %s", lines[i].label, text);
	}
}
