/*
 * Prints what is known of a shared object: for programs each fact, for people the remarkable ones.
 */
#include "indexer/target_output.h"

#include <elf.h>

#include "indexer/message.h"

const char *target_kind(const entrydb_target *target)
{
	return target ? entrydb_kind_name(entrydb_target_kind(target)) : NULL;
}

const char *target_state(const entrydb_target *target)
{
	return target ? entrydb_state_name(entrydb_target_state(target)) : NULL;
}

const char *target_object(const entrydb_target *target)
{
	return target ? entrydb_target_object(target) : NULL;
}

static void put_number(struct output *output, uint64_t number)
{
	if (number)
		output_number(output, (int64_t)number);
	else
		output_string(output, NULL);
}

void target_put(struct output *output, const entrydb_target *target)
{
	static const enum entrydb_target_field fields[] = {
	        ENTRYDB_TARGET_BUILD_ID,  ENTRYDB_TARGET_SHA256,  ENTRYDB_TARGET_GLIBC,
	        ENTRYDB_TARGET_GLIBCXX,   ENTRYDB_TARGET_MISSING, ENTRYDB_TARGET_UNDEFINED,
	        ENTRYDB_TARGET_PYTHON_BY,
	};

	put_number(output, target ? entrydb_target_size(target) : 0);
	put_number(output, target ? (uint64_t)entrydb_target_machine(target) : 0);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		output_string(output, target ? entrydb_target_text(target, fields[i]) : NULL);
}

int target_put_all(struct output *output, const struct selection *found, bool with_targets,
                   entry_point_put *put, struct error *error)
{
	int code = 0, ended;

	for (size_t i = 0; code == 0 && i < entrydb_set_count(found->set); i++) {
		const entrydb_entry_point *entry_point = entrydb_set_get(found->set, i);
		entrydb_target *target = NULL;

		if (with_targets)
			code = find_target(found->db, entry_point, &target, error);
		if (code == 0)
			put(output, entry_point, target);
		entrydb_target_free(target);
	}
	ended = output_end(output, code == 0 ? error : NULL);
	return code < 0 ? code : ended;
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

void target_print(const entrydb_target *target)
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
