/*
 * Prints what is known of entry points and shared objects: for programs each fact, for people the
 * remarkable ones.
 */
#include "indexer/entry_output.h"

#include <elf.h>

#include "indexer/message.h"

static void put_number(struct output *output, uint64_t number)
{
	if (number)
		output_number(output, (int64_t)number);
	else
		output_string(output, NULL);
}

static void put_cell(struct output *output, int cell, const entrydb_entry_point *e,
                     const entrydb_target *target)
{
	/* To people, a plugin without its object is missing. */
	const char *none = output->form == OUTPUT_JSON ? NULL : "missing";

	if (cell == FIELD(EXTRAS))
		output_words(output, field_of(e, ENTRYDB_FIELD_EXTRAS));
	else if (cell == CELL_PROVIDER)
		output_string(output, provider_of(e));
	else if (cell >= CELL_FIELD && cell < CELL_TARGET)
		output_text(output, field_of(e, (enum entrydb_field)(cell - CELL_FIELD)));
	else if (!target)
		output_string(output, cell == CELL_STATE ? none : NULL);
	else if (cell == CELL_KIND)
		output_string(output, entrydb_kind_name(entrydb_target_kind(target)));
	else if (cell == CELL_STATE)
		output_string(output, entrydb_state_name(entrydb_target_state(target)));
	else if (cell == CELL_SIZE)
		put_number(output, entrydb_target_size(target));
	else if (cell == CELL_MACHINE)
		put_number(output, (uint64_t)entrydb_target_machine(target));
	else
		output_string(output, entrydb_target_text(target, (enum entrydb_target_field)(
		                                                          cell - CELL_TARGET)));
}

void entry_put(struct output *output, const entrydb_entry_point *entry_point,
               const entrydb_target *target)
{
	int cell;

	while ((cell = output->columns[output->at].cell) != 0) {
		put_cell(output, cell, entry_point, target);
		if (output->at == 0)
			return;
	}
}

int entry_put_all(struct output *output, const struct selection *found, bool with_targets,
                  struct error *error)
{
	int code = 0, ended;

	for (size_t i = 0; code == 0 && i < entrydb_set_count(found->set); i++) {
		const entrydb_entry_point *entry_point = entrydb_set_get(found->set, i);
		entrydb_target *target = NULL;

		if (with_targets)
			code = find_target(found->db, entry_point, &target, error);
		if (code == 0)
			entry_put(output, entry_point, target);
		entrydb_target_free(target);
	}
	ended = output_end(output, code == 0 ? error : NULL);
	return code < 0 ? code : ended;
}

static void print_machine(int machine)
{
	static const char *const names[] = {
	        [EM_X86_64] = "x86-64", [EM_AARCH64] = "aarch64", [EM_386] = "i386",
	        [EM_ARM] = "arm",       [EM_RISCV] = "riscv",     [EM_PPC64] = "ppc64",
	        [EM_S390] = "s390",
	};
	size_t count = sizeof(names) / sizeof(*names);
	const char *name = machine >= 0 && (size_t)machine < count ? names[machine] : NULL;

	if (name)
		print_line(STYLE_BAD, "  made for     %s", name);
	else
		print_line(STYLE_BAD, "  made for     machine %d of ELF's", machine);
}

void target_print(const entrydb_target *target)
{
	static const struct {
		enum entrydb_target_field field;
		enum style style;
		const char *label;
	} lines[] = {
	        {ENTRYDB_TARGET_OBJECT, STYLE_PLAIN, "object"},
	        {ENTRYDB_TARGET_SYMBOL, STYLE_PLAIN, "symbol"},
	        {ENTRYDB_TARGET_BUILD_ID, STYLE_PLAIN, "build-id"},
	        {ENTRYDB_TARGET_GLIBC, STYLE_PLAIN, "glibc"},
	        {ENTRYDB_TARGET_GLIBCXX, STYLE_PLAIN, "glibcxx"},
	        {ENTRYDB_TARGET_MISSING, STYLE_BAD, "missing"},
	        {ENTRYDB_TARGET_UNDEFINED, STYLE_BAD, "undefined"},
	        {ENTRYDB_TARGET_PYTHON_BY, STYLE_PLAIN, "Python by"},
	};

	if (entrydb_target_state(target) == ENTRYDB_STATE_WRONG_ARCHITECTURE)
		print_machine(entrydb_target_machine(target));
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *text = entrydb_target_text(target, lines[i].field);

		if (text)
			print_line(lines[i].style, "  %-12s %s", lines[i].label, text);
	}
}
