/*
 * elf_file.c - reads what a shared object says by libelf; the only file that includes its headers.
 *
 * It reads the section headers, the dynamic symbols and the notes, however
 * large the file, and by read() rather than a mapping: a file that is
 * truncated meanwhile must not kill the host. Files come from strangers: no count
 * or offset in them is believed until libelf has checked it against the size of
 * the file.
 */
#include "libquery/disk/elf/elf_file.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdlib.h>

#include "db/base/cleanup.h"

#define VERSION_HIDDEN 0x8000 /* in a version index: not the default version of its symbol */
#define VERSIONS_MAX   ((size_t)1 << 16) /* looked at in one file: lists of them may overlap */
#define VERSION_FIRST  2                 /* the first index that stands for a named version */

/* The dynamic symbols with what belongs to them. */
struct symbols {
	Elf_Data *table, *versions; /* versions: NULL where there are none */
	struct slice strings;
	size_t count;
};

static int damaged(struct error *error)
{
	const char *reason = elf_errmsg(0);

	return error_set(error, ERROR_FORMAT, "damaged ELF file: %s",
	                 reason ? reason : "inconsistent");
}

/* The bytes of a section; NULL where they are in another file, as with debugging information. */
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

/* --- names --- */

/* The NUL-terminated string at @offset; null where there is none. */
static struct slice string_at(struct slice strings, uint64_t offset)
{
	struct slice rest;
	const char *end;

	if (offset >= strings.len)
		return (struct slice){0};
	rest = slice_from(strings, (size_t)offset);
	end = memchr(rest.ptr, '\0', rest.len);
	return end ? slice_between(rest.ptr, end) : (struct slice){0};
}

/* --- symbols --- */

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

/* False for what is of no use to others, and of which they are of none. */
static bool read_symbol(const struct symbols *symbols, size_t index, struct elf_symbol *out)
{
	GElf_Sym symbol;

	if (!gelf_getsym(symbols->table, (int)index, &symbol) ||
	    GELF_ST_BIND(symbol.st_info) == STB_LOCAL)
		return false;
	out->is_defined = symbol.st_shndx != SHN_UNDEF;
	out->is_weak = GELF_ST_BIND(symbol.st_info) == STB_WEAK;
	if (out->is_defined && !is_visible(&symbol))
		return false;
	out->is_old = out->is_defined && is_old_version(symbols, index);
	out->name = string_at(symbols->strings, symbol.st_name);
	return out->name.len > 0;
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

/* --- notes --- */

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

static void read_build_id(Elf *elf, char *to)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *data;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		data = section_data(section, &header);
		if (data && find_build_id(data, to))
			return;
	}
}

/* --- the file as a whole --- */

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

struct elf_file {
	Elf *elf;
	struct elf_header header;
};

const struct elf_header *elf_file_header(const struct elf_file *file)
{
	return &file->header;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	free(file);
}

static int read_header(struct elf_file *file, struct error *error)
{
	GElf_Ehdr header;

	if (!file->elf)
		return damaged(error);
	if (elf_kind(file->elf) != ELF_K_ELF)
		return error_set(error, ERROR_FORMAT, "not an ELF file");
	if (!gelf_getehdr(file->elf, &header))
		return damaged(error);
	file->header.elf_class = gelf_getclass(file->elf) == ELFCLASS32 ? 32 : 64;
	file->header.machine = header.e_machine;
	file->header.is_shared_object = header.e_type == ET_DYN && !is_program(file->elf);
	read_build_id(file->elf, file->header.build_id);
	return 0;
}

/*
 * libelf leaves out what it could not read or had no memory for, or calls it damaged: that
 * a system call has failed shows in errno, which is zero before libelf is first called. (It
 * repeats what was interrupted.)
 */
static int check_system(int code, struct error *error)
{
	if (errno != 0 && errno != EINTR && errno_is_failure(errno))
		return error_errno(error, errno, "cannot be read as ELF");
	return code;
}

int elf_file_open(int fd, struct elf_file **out, struct error *error)
{
	CLEANUP(cleanup_elf_file) struct elf_file *file = calloc(1, sizeof(*file));
	int code;

	if (!file)
		return error_nomem(error);
	errno = 0;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return damaged(error);
	file->elf = elf_begin(fd, ELF_C_READ, NULL);
	code = check_system(read_header(file, error), error);
	if (code == 0)
		*out = take(file);
	return code;
}

static int walk_symbols(Elf *elf, elf_symbol_each *each, void *payload, struct error *error)
{
	struct symbols symbols;
	struct elf_symbol symbol;
	int code = load_symbols(elf, &symbols, error);

	if (code < 0)
		return code;
	for (size_t i = 1; i < symbols.count; i++)
		if (read_symbol(&symbols, i, &symbol) && !each(payload, &symbol))
			break;
	return 0;
}

int elf_file_symbols(struct elf_file *file, elf_symbol_each *each, void *payload,
                     struct error *error)
{
	errno = 0;
	return check_system(walk_symbols(file->elf, each, payload, error), error);
}

/* --- what the dynamic linker reads --- */

/* A walk over it. */
struct links {
	Elf *elf;
	elf_link_each *each;
	void *payload;
	size_t versions; /* looked at so far */
	bool ended;
};

static void tell(struct links *links, enum elf_link what, struct slice text, struct slice of)
{
	if (!links->ended && text.len > 0)
		links->ended = !links->each(links->payload, what, text, of);
}

/* The section of that type with its strings; false where there is none to be read. */
static bool load_section(Elf *elf, GElf_Word type, GElf_Shdr *header, Elf_Data **data,
                         struct slice *strings)
{
	Elf_Scn *section = find_section(elf, type, header);

	*data = section ? section_data(section, header) : NULL;
	return *data && load_strings(elf, header->sh_link, strings, NULL) == 0;
}

static void tell_dynamic(struct links *links)
{
	static const struct {
		GElf_Sxword tag;
		enum elf_link what;
	} wanted[] = {{DT_SONAME, ELF_SONAME},
	              {DT_NEEDED, ELF_NEEDED},
	              {DT_RPATH, ELF_RPATH},
	              {DT_RUNPATH, ELF_RUNPATH}};
	struct slice strings;
	GElf_Shdr header;
	GElf_Dyn entry;
	Elf_Data *data;

	if (!load_section(links->elf, SHT_DYNAMIC, &header, &data, &strings))
		return;
	for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		for (size_t w = 0; w < sizeof(wanted) / sizeof(*wanted); w++)
			if (entry.d_tag == wanted[w].tag)
				tell(links, wanted[w].what, string_at(strings, entry.d_un.d_val),
				     (struct slice){0});
}

/* Those of one library: @at is that of its record. */
static void tell_versions_of(struct links *links, Elf_Data *data, struct slice strings, int at,
                             const GElf_Verneed *need)
{
	struct slice library = string_at(strings, need->vn_file);
	GElf_Vernaux version;

	at += (int)need->vn_aux;
	for (unsigned i = 0; i < need->vn_cnt && gelf_getvernaux(data, at, &version); i++) {
		links->ended |= ++links->versions > VERSIONS_MAX;
		if (!(version.vna_flags & VER_FLG_WEAK))
			tell(links, ELF_VERSION_NEEDED, string_at(strings, version.vna_name),
			     library);
		if (version.vna_next == 0 || version.vna_next > INT_MAX - (unsigned)at ||
		    links->ended)
			break;
		at += (int)version.vna_next;
	}
}

/* The records are a list; sh_info says how many they are, and no list is without an end. */
static void tell_versions_needed(struct links *links)
{
	struct slice strings;
	GElf_Verneed need;
	GElf_Shdr header;
	Elf_Data *data;
	int at = 0;

	if (!load_section(links->elf, SHT_GNU_verneed, &header, &data, &strings))
		return;
	for (unsigned i = 0; i < header.sh_info && gelf_getverneed(data, at, &need); i++) {
		if (need.vn_aux < INT_MAX / 2 && at < INT_MAX / 2)
			tell_versions_of(links, data, strings, at, &need);
		if (need.vn_next == 0 || need.vn_next > INT_MAX - (unsigned)at || links->ended)
			break;
		at += (int)need.vn_next;
	}
}

static void tell_versions_defined(struct links *links)
{
	struct slice strings;
	GElf_Verdef definition;
	GElf_Verdaux name;
	GElf_Shdr header;
	Elf_Data *data;
	int at = 0;

	if (!load_section(links->elf, SHT_GNU_verdef, &header, &data, &strings))
		return;
	for (unsigned i = 0; i < header.sh_info && gelf_getverdef(data, at, &definition); i++) {
		if (definition.vd_aux < INT_MAX / 2 && at < INT_MAX / 2 &&
		    gelf_getverdaux(data, at + (int)definition.vd_aux, &name))
			tell(links, ELF_VERSION_DEFINED, string_at(strings, name.vda_name),
			     (struct slice){0});
		if (definition.vd_next == 0 || definition.vd_next > INT_MAX - (unsigned)at ||
		    links->ended)
			break;
		at += (int)definition.vd_next;
	}
}

int elf_file_links(struct elf_file *file, elf_link_each *each, void *payload, struct error *error)
{
	struct links links = {.elf = file->elf, .each = each, .payload = payload};

	errno = 0;
	tell_dynamic(&links);
	tell_versions_needed(&links);
	tell_versions_defined(&links);
	return check_system(0, error);
}

/* --- two symbols --- */

struct search {
	struct slice wanted, init;
	struct elf_facts facts;
};

bool elf_is_python(struct slice name)
{
	return slice_starts(name, SLICE("Py")) || slice_starts(name, SLICE("_Py"));
}

static bool note_symbol(void *payload, const struct elf_symbol *symbol)
{
	struct search *search = payload;
	struct elf_facts *facts = &search->facts;

	if (symbol->is_old)
		return true;
	if (symbol->is_defined) {
		facts->exports_wanted |= slice_equal(symbol->name, search->wanted);
		facts->exports_init |= slice_equal(symbol->name, search->init);
	} else {
		facts->needs_python |= !symbol->is_weak && elf_is_python(symbol->name);
	}
	return true;
}

int elf_file_find(struct elf_file *file, struct slice wanted_symbol, struct slice init_symbol,
                  struct elf_facts *out, struct error *error)
{
	struct search search = {.wanted = wanted_symbol, .init = init_symbol};
	int code = elf_file_symbols(file, note_symbol, &search, error);

	if (code == 0)
		*out = search.facts;
	return code;
}
