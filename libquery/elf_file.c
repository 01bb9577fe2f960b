/*
 * elf_file.c - see elf_file.h. The only file that includes libelf's headers.
 *
 * It reads the section headers, the dynamic symbols and the notes, however
 * large the file, and by read() rather than a mapping: a file that is
 * truncated meanwhile must not kill the host. Files are what strangers built;
 * every count and offset in them is taken for a lie until libelf has held it
 * against the size of the file.
 */
#include "elf_file.h"

#include <gelf.h>
#include <libelf.h>

#include "cleanup.h"

#define VERSION_HIDDEN 0x8000 /* in a version index: not the default version of its symbol */
#define VERSION_FIRST  2      /* the first index that stands for a named version */

/* The dynamic symbols with what belongs to them. */
struct symbols {
	Elf_Data *table, *versions; /* versions: NULL where there are none */
	struct slice strings;
	size_t count;
};

static void cleanup_elf(Elf **elf)
{
	elf_end(*elf);
}

static int damaged(struct error *error)
{
	const char *reason = elf_errmsg(0);

	return error_set(error, ERROR_FORMAT, "damaged ELF file: %s",
	                 reason ? reason : "inconsistent");
}

/* The bytes of a section, NULL where the file does not hold them (one of debugging information). */
static Elf_Data *section_data(Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data;

	if (header->sh_type == SHT_NOBITS || header->sh_size > ELF_TABLE_MAX)
		return NULL;
	data = elf_getdata(section, NULL);
	return data && data->d_buf ? data : NULL;
}

/* The first section of that type; NULL when there is none. */
static Elf_Scn *find_section(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

/* Names. */

/* Whether the string at @offset starts with @prefix. */
static bool string_starts(struct slice strings, size_t offset, struct slice prefix)
{
	return offset < strings.len && slice_starts(slice_from(strings, offset), prefix);
}

/* Whether the NUL-terminated string at @offset is @name; never true for the null slice. */
static bool string_is(struct slice strings, size_t offset, struct slice name)
{
	return !slice_is_null(name) && string_starts(strings, offset, name) &&
	       strings.len - offset > name.len && strings.ptr[offset + name.len] == '\0';
}

/* Symbols. */

static bool is_visible(const GElf_Sym *symbol)
{
	int binding = GELF_ST_BIND(symbol->st_info);
	int visibility = GELF_ST_VISIBILITY(symbol->st_other);

	return (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) &&
	       (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

/* Old versions, kept for programs linked long ago, are hidden from dlsym(). */
static bool is_old_version(const struct symbols *symbols, size_t index)
{
	GElf_Versym version;

	if (!symbols->versions || !gelf_getversym(symbols->versions, (int)index, &version))
		return false;
	return (version & VERSION_HIDDEN) && (version & ~VERSION_HIDDEN) >= VERSION_FIRST;
}

/* A weak symbol may stay undefined, so it needs nothing. */
static bool is_python(const struct symbols *symbols, const GElf_Sym *symbol)
{
	return GELF_ST_BIND(symbol->st_info) == STB_GLOBAL &&
	       (string_starts(symbols->strings, symbol->st_name, SLICE("Py")) ||
	        string_starts(symbols->strings, symbol->st_name, SLICE("_Py")));
}

static void note_symbol(const struct symbols *symbols, size_t index, struct slice wanted,
                        struct slice init, struct elf_facts *facts)
{
	GElf_Sym symbol;

	if (!gelf_getsym(symbols->table, (int)index, &symbol))
		return;
	if (symbol.st_shndx == SHN_UNDEF) {
		facts->needs_python |= is_python(symbols, &symbol);
		return;
	}
	if (!is_visible(&symbol) || is_old_version(symbols, index))
		return;
	facts->exports_wanted |= string_is(symbols->strings, symbol.st_name, wanted);
	facts->exports_init |= string_is(symbols->strings, symbol.st_name, init);
}

static int load_strings(Elf *elf, size_t index, struct slice *out, struct error *error)
{
	Elf_Scn *section = elf_getscn(elf, index);
	GElf_Shdr header;
	Elf_Data *data;

	if (!section || !gelf_getshdr(section, &header) || header.sh_type != SHT_STRTAB)
		return damaged(error);
	data = section_data(section, &header);
	if (!data)
		return damaged(error);
	*out = (struct slice){data->d_buf, data->d_size};
	return 0;
}

static int load_symbols(Elf *elf, struct symbols *out, struct error *error)
{
	GElf_Shdr header, versions;
	Elf_Scn *section = find_section(elf, SHT_DYNSYM, &header);
	size_t size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);

	*out = (struct symbols){0};
	if (!section || header.sh_size == 0)
		return 0;
	out->table = section_data(section, &header);
	if (!out->table || size == 0)
		return damaged(error);
	out->count = out->table->d_size / size;
	section = find_section(elf, SHT_GNU_versym, &versions);
	out->versions = section ? section_data(section, &versions) : NULL;
	return load_strings(elf, header.sh_link, &out->strings, error);
}

static int read_symbols(Elf *elf, struct slice wanted, struct slice init, struct elf_facts *facts,
                        struct error *error)
{
	struct symbols symbols;
	int r = load_symbols(elf, &symbols, error);

	if (r < 0)
		return r;
	for (size_t i = 1; i < symbols.count; i++)
		note_symbol(&symbols, i, wanted, init, facts);
	return 0;
}

/* Notes. */

static void write_hex(const char *bytes, size_t size, char *to)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		*to++ = digits[(unsigned char)bytes[i] >> 4];
		*to++ = digits[(unsigned char)bytes[i] & 15];
	}
	*to = '\0';
}

/* The build-id among the notes of one section; false when it is not there. */
static bool find_build_id(Elf_Data *data, char *to)
{
	size_t offset = 0, name_at, bytes_at;
	GElf_Nhdr note;

	while ((offset = gelf_getnote(data, offset, &note, &name_at, &bytes_at)) > 0) {
		const char *notes = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(notes + name_at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0 ||
		    note.n_descsz > ELF_BUILD_ID_MAX)
			continue;
		write_hex(notes + bytes_at, note.n_descsz, to);
		return true;
	}
	return false;
}

static void read_build_id(Elf *elf, struct elf_facts *facts)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *data;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		data = section_data(section, &header);
		if (data && find_build_id(data, facts->build_id))
			return;
	}
}

/* The file as a whole. */

/* A position-independent program looks like a shared object, but dlopen() refuses it. */
static bool is_program(Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, SHT_DYNAMIC, &header);
	Elf_Data *data = section ? section_data(section, &header) : NULL;
	GElf_Dyn entry;

	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		if (entry.d_tag == DT_FLAGS_1)
			return (entry.d_un.d_val & DF_1_PIE) != 0;
	return false;
}

static int examine(Elf *elf, struct slice wanted, struct slice init, struct elf_facts *out,
                   struct error *error)
{
	struct elf_facts facts = {0};
	GElf_Ehdr header;
	int r;

	if (elf_kind(elf) != ELF_K_ELF)
		return error_set(error, ERROR_FORMAT, "not an ELF file");
	if (!gelf_getehdr(elf, &header))
		return damaged(error);
	facts.elf_class = gelf_getclass(elf) == ELFCLASS32 ? 32 : 64;
	facts.machine = header.e_machine;
	facts.is_shared_object = header.e_type == ET_DYN && !is_program(elf);
	r = read_symbols(elf, wanted, init, &facts, error);
	if (r < 0)
		return r;
	read_build_id(elf, &facts);
	*out = facts;
	return 0;
}

int elf_examine(int fd, struct slice wanted_symbol, struct slice init_symbol, struct elf_facts *out,
                struct error *error)
{
	CLEANUP(cleanup_elf) Elf *elf = NULL;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return damaged(error);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return error_set(error, ERROR_IO, "cannot be read as ELF: %s", elf_errmsg(-1));
	return examine(elf, wanted_symbol, init_symbol, out, error);
}

int elf_examine_memory(struct slice image, struct slice wanted_symbol, struct slice init_symbol,
                       struct elf_facts *out, struct error *error)
{
	CLEANUP(cleanup_elf) Elf *elf = NULL;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return damaged(error);
	elf = elf_memory((char *)image.ptr, image.len); /* not const, yet not written to */
	if (!elf)
		return damaged(error);
	return examine(elf, wanted_symbol, init_symbol, out, error);
}
