/*
 * elf_file.c - reads ELF files with libelf; the only file that includes its headers.
 *
 * It reads the headers, the dynamic table, the symbols and the notes, however large the file, with
 * read() rather than a mapping: if a mapped file were truncated meanwhile, the host would be
 * killed. Files are untrusted: counts and offsets are used only after libelf has checked them
 * against the size of the file.
 */
#include "libquery/disk/elf/elf_file.h"

#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/libc.h"
#include "db/base/sha256.h"

#define VERSION_HIDDEN 0x8000 /* in a version index: not the default version of its symbol */
#define VERSIONS_MAX   ((size_t)1 << 16) /* read in one file: its lists may overlap */
#define VERSION_FIRST  2                 /* the first index of a named version */
/* Bytes, since many may share one name: longer symbols are ignored, longer links are an error. */
#define SYMBOL_NAME_MAX ((size_t)1 << 12)
#define LINK_NAME_MAX   ((size_t)1 << 16) /* a RUNPATH may be long */
#define SECTIONS_MAX    (1 << 18)
#define NOTES_MAX       ((size_t)1 << 20) /* bytes read in one file: sections may overlap */

struct elf_file {
	Elf *elf;
	struct elf_header header;
	/* A walk over the dynamic symbols: */
	Elf_Data *symbols, *versions; /* versions: NULL if there are none */
	struct slice strings;
	size_t next, count;
};

static int damaged(struct error *error)
{
	const char *reason = elf_errmsg(0);

	return error_set(error, ERROR_FORMAT, "damaged ELF file: %s",
	                 reason ? reason : "inconsistent");
}

/*
 * libelf reports read errors and lack of memory as missing or damaged data, but errno, which is
 * zero before the first call of libelf, shows a failed system call. (It retries interrupted calls.)
 */
static int check_system(int code, struct error *error)
{
	if (errno != 0 && errno != EINTR && errno_is_failure(errno))
		return error_errno(error, errno, "cannot be read as ELF");
	return code;
}

/* --- sections --- */

/* The content of a section; NULL if it is in another file, as debug information may be. */
static Elf_Data *section_data(Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data;

	if (header->sh_type == SHT_NOBITS || header->sh_size > ELF_TABLE_MAX)
		return NULL;
	data = elf_getdata(section, NULL);
	return data && data->d_buf ? data : NULL;
}

/* The first section of that type; NULL, with *header zero, if there is none. */
static Elf_Scn *find_section(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	*header = (GElf_Shdr){0};
	return NULL;
}

/* Its content; NULL if there is none. */
static Elf_Data *find_data(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = find_section(elf, type, header);

	return section ? section_data(section, header) : NULL;
}

/* --- segments, in which the dynamic linker finds everything --- */

/* The content from @address on, or, with ELF_T_DYN, of PT_DYNAMIC; NULL if not in the file. */
static Elf_Data *segment_data(Elf *elf, Elf_Type type, GElf_Addr address, uint64_t size)
{
	const bool is_dynamic = type == ELF_T_DYN;
	const GElf_Word wanted = is_dynamic ? PT_DYNAMIC : PT_LOAD;
	GElf_Phdr segment;

	for (int i = 0; gelf_getphdr(elf, i, &segment); i++) {
		uint64_t skipped = is_dynamic ? 0 : address - segment.p_vaddr;

		if (segment.p_type != wanted || skipped >= segment.p_filesz)
			continue;
		size = is_dynamic ? segment.p_filesz : size;
		return size > ELF_TABLE_MAX
		               ? NULL
		               : elf_getdata_rawchunk(elf, (int64_t)(segment.p_offset + skipped),
		                                      size, type);
	}
	return NULL;
}

/* The dynamic table, and values of its entries; 0 for those that it lacks. */
struct dynamic {
	Elf_Data *table;
	GElf_Xword symbols, versions, strings, strings_size, flags;
};

/* Of several entries of one kind the last one counts, as in glibc. */
static struct dynamic read_dynamic(Elf *elf)
{
	struct dynamic dynamic = {.table = segment_data(elf, ELF_T_DYN, 0, 0)};
	const struct {
		GElf_Sxword tag;
		GElf_Xword *value;
	} wanted[] = {
	        {DT_SYMTAB, &dynamic.symbols}, {DT_VERSYM, &dynamic.versions},
	        {DT_STRTAB, &dynamic.strings}, {DT_STRSZ, &dynamic.strings_size},
	        {DT_FLAGS_1, &dynamic.flags},
	};
	GElf_Dyn entry;

	for (int i = 0;
	     dynamic.table && gelf_getdyn(dynamic.table, i, &entry) && entry.d_tag != DT_NULL; i++)
		for (size_t j = 0; j < sizeof(wanted) / sizeof(*wanted); j++)
			if (entry.d_tag == wanted[j].tag)
				*wanted[j].value = entry.d_un.d_val;
	return dynamic;
}

/* The dynamic strings; null without any. */
static struct slice find_strings(Elf *elf, const struct dynamic *dynamic)
{
	Elf_Data *data = segment_data(elf, ELF_T_BYTE, dynamic->strings, dynamic->strings_size);

	return data ? (struct slice){data->d_buf, data->d_size} : (struct slice){0};
}

/* The string at @offset; null if there is none, or a longer one. */
static struct slice string_at(struct slice strings, uint64_t offset, size_t longest)
{
	if (offset >= strings.len)
		return (struct slice){0};
	strings = slice_from(strings, offset);
	return slice_text_at(slice_first(strings, strings.len < longest ? strings.len : longest),
	                     0);
}

/* --- symbols --- */

/*
 * The number of symbols is that of the section, since no dynamic entry tells it; all else is read
 * where dlsym() finds it.
 */
int elf_file_symbols(struct elf_file *file, struct error *error)
{
	size_t size = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
	struct dynamic dynamic;
	GElf_Shdr header;

	errno = 0;
	find_section(file->elf, SHT_DYNSYM, &header);
	dynamic = read_dynamic(file->elf);
	file->next = 1;
	file->count = 0;
	if (header.sh_addr != dynamic.symbols ||
	    (dynamic.symbols == 0 && file->header.is_shared_object))
		return check_system(error_set(error, ERROR_LIMIT,
		                              "its symbols are unknown without their section"),
		                    error);
	if (dynamic.symbols == 0 || size == 0)
		return check_system(0, error);
	file->count = header.sh_size / size;
	file->symbols = segment_data(file->elf, ELF_T_SYM, dynamic.symbols, header.sh_size);
	file->versions = dynamic.versions ? segment_data(file->elf, ELF_T_HALF, dynamic.versions,
	                                                 file->count * sizeof(GElf_Versym))
	                                  : NULL;
	file->strings = find_strings(file->elf, &dynamic);
	if (!file->symbols || (dynamic.versions && !file->versions) || file->strings.len == 0)
		return check_system(damaged(error), error);
	return check_system(0, error);
}

/* dlsym() does not find old versions, which are kept for programs linked against them. */
static bool is_old_version(const struct elf_file *file, size_t index)
{
	GElf_Versym version;

	if (!file->versions || !gelf_getversym(file->versions, (int)index, &version))
		return false;
	return (version & VERSION_HIDDEN) && (version & ~VERSION_HIDDEN) >= VERSION_FIRST;
}

/* False for symbols that cannot be linked to, and that need no definition. */
static bool read_symbol(const struct elf_file *file, size_t index, struct elf_symbol *out)
{
	GElf_Sym symbol;
	int binding, visibility;

	if (!gelf_getsym(file->symbols, (int)index, &symbol))
		return false;
	binding = GELF_ST_BIND(symbol.st_info);
	visibility = GELF_ST_VISIBILITY(symbol.st_other);
	if (binding == STB_LOCAL)
		return false;
	out->is_defined = symbol.st_shndx != SHN_UNDEF;
	out->is_weak = binding == STB_WEAK;
	if (out->is_defined &&
	    ((binding != STB_GLOBAL && binding != STB_WEAK && binding != STB_GNU_UNIQUE) ||
	     (visibility != STV_DEFAULT && visibility != STV_PROTECTED)))
		return false;
	out->is_old = out->is_defined && is_old_version(file, index);
	out->name = string_at(file->strings, symbol.st_name, SYMBOL_NAME_MAX);
	return out->name.len > 0;
}

bool elf_file_next_symbol(struct elf_file *file, struct elf_symbol *out)
{
	while (file->next < file->count)
		if (read_symbol(file, file->next++, out))
			return true;
	return false;
}

bool elf_needs_python(const struct elf_symbol *symbol)
{
	return !symbol->is_defined && !symbol->is_weak && elf_is_python(symbol->name);
}

bool elf_is_python(struct slice name)
{
	return slice_starts(name, SLICE("Py")) || slice_starts(name, SLICE("_Py"));
}

int elf_file_find(struct elf_file *file, struct slice wanted_symbol, struct slice init_symbol,
                  struct elf_facts *out, struct error *error)
{
	struct elf_facts facts = {0};
	struct elf_symbol symbol;
	int code = elf_file_symbols(file, error);

	if (code < 0)
		return code;
	while (elf_file_next_symbol(file, &symbol)) {
		bool is_found = symbol.is_defined && !symbol.is_old;

		facts.exports_wanted |= is_found && slice_equal(symbol.name, wanted_symbol);
		facts.exports_init |= is_found && slice_equal(symbol.name, init_symbol);
		facts.needs_python |= elf_needs_python(&symbol);
	}
	*out = facts;
	return 0;
}

/* --- the file --- */

/* The first build-id among the notes. */
static void read_build_id(Elf *elf, char *to)
{
	Elf_Scn *section = NULL;
	size_t name_at, bytes_at, left = NOTES_MAX;
	GElf_Shdr header;
	GElf_Nhdr note;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		bool has_notes = gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
		                 header.sh_size <= left;
		Elf_Data *data = has_notes ? section_data(section, &header) : NULL;
		size_t offset = 0;

		left -= has_notes ? header.sh_size : 0;
		while (data &&
		       (offset = gelf_getnote(data, offset, &note, &name_at, &bytes_at)) > 0) {
			const char *notes = data->d_buf;

			if (note.n_type != NT_GNU_BUILD_ID ||
			    note.n_namesz != sizeof(ELF_NOTE_GNU) ||
			    memcmp(notes + name_at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0 ||
			    note.n_descsz > ELF_BUILD_ID_MAX)
				continue;
			hex_of(notes + bytes_at, note.n_descsz, to);
			return;
		}
	}
}

/* A position-independent program has the type of a shared object, but dlopen() rejects it. */
static bool is_program(Elf *elf)
{
	return (read_dynamic(elf).flags & DF_1_PIE) != 0;
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

/* A number of a file in its own byte order. */
static uint64_t number_of(bool is_32, bool is_big, uint32_t of_32, uint64_t of_64)
{
	if (is_32)
		return is_big ? be32toh(of_32) : le32toh(of_32);
	return is_big ? be64toh(of_64) : le64toh(of_64);
}

/*
 * Is the number of sections or segments too large? One that does not fit into the header is in the
 * first section header: libelf allocates memory for all, and a sparse file has room for any number.
 */
static bool has_many_parts(int fd)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr of_32;
		Elf64_Ehdr of_64;
	} header = {0};
	union {
		Elf32_Shdr of_32;
		Elf64_Shdr of_64;
	} first = {0};
	bool is_32, is_big, is_in_first;
	off_t at;

	if (TEMP_FAILURE_RETRY(pread(fd, &header, sizeof(header), 0)) <= 0 ||
	    memcmp(header.ident, ELFMAG, SELFMAG) != 0)
		return false; /* libelf says so */
	is_32 = header.ident[EI_CLASS] == ELFCLASS32;
	is_big = header.ident[EI_DATA] == ELFDATA2MSB;
	if ((is_32 ? header.of_32.e_phnum : header.of_64.e_phnum) == PN_XNUM)
		return true;
	is_in_first = (is_32 ? header.of_32.e_shnum : header.of_64.e_shnum) == 0;
	at = (off_t)number_of(is_32, is_big, header.of_32.e_shoff, header.of_64.e_shoff);
	if (!is_in_first || at <= 0 ||
	    TEMP_FAILURE_RETRY(pread(fd, &first, sizeof(first), at)) <= 0)
		return false;
	return number_of(is_32, is_big, first.of_32.sh_size, first.of_64.sh_size) > SECTIONS_MAX;
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
	if (has_many_parts(fd))
		return error_set(error, ERROR_LIMIT, "more than %d sections, or 65,534 segments",
		                 SECTIONS_MAX);
	file->elf = elf_begin(fd, ELF_C_READ, NULL);
	code = check_system(read_header(file, error), error);
	if (code == 0)
		*out = take(file);
	return code;
}

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

/* --- the dynamic linker's information --- */

/* The state of a walk. */
struct links {
	elf_link_each *each;
	void *payload;
	struct slice strings;
	size_t versions; /* read so far */
	bool ended, is_damaged;
};

static void report(struct links *links, enum elf_link what, uint64_t text, struct slice of)
{
	struct slice string = string_at(links->strings, text, LINK_NAME_MAX);

	links->is_damaged |= slice_is_null(string);
	if (!links->ended && string.len > 0)
		links->ended = !links->each(links->payload, what, string, of);
}

/* The offset of the next record in a list; -1 at its end. */
static int step(int at, GElf_Word by)
{
	return by == 0 || by > ELF_TABLE_MAX ? -1 : at + (int)by;
}

static void report_dynamic(struct links *links, Elf_Data *data)
{
	static const GElf_Sxword tags[] = {
	        [ELF_SONAME] = DT_SONAME,       [ELF_RPATH] = DT_RPATH,
	        [ELF_RUNPATH] = DT_RUNPATH,     [ELF_NEEDED] = DT_NEEDED,
	        [ELF_AUXILIARY] = DT_AUXILIARY, [ELF_FILTER] = DT_FILTER};
	GElf_Dyn entry;

	for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		for (enum elf_link what = ELF_SONAME; what <= ELF_FILTER; what++)
			if (entry.d_tag == tags[what])
				report(links, what, entry.d_un.d_val, (struct slice){0});
}

/* The records are a list of lists; @count limits the outer one, so that a cycle ends. */
static void report_versions_needed(struct links *links, Elf_Data *data, GElf_Word count)
{
	GElf_Verneed need;
	GElf_Vernaux version;

	for (int at = 0;
	     at >= 0 && !links->ended && count-- > 0 && gelf_getverneed(data, at, &need);
	     at = step(at, need.vn_next)) {
		struct slice library = string_at(links->strings, need.vn_file, LINK_NAME_MAX);
		int of = step(at, need.vn_aux);

		for (unsigned i = 0; of >= 0 && !links->ended && i < need.vn_cnt &&
		                     gelf_getvernaux(data, of, &version);
		     i++, of = step(of, version.vna_next)) {
			links->ended = ++links->versions > VERSIONS_MAX;
			if (!(version.vna_flags & VER_FLG_WEAK))
				report(links, ELF_VERSION_NEEDED, version.vna_name, library);
		}
	}
}

static void report_versions_defined(struct links *links, Elf_Data *data, GElf_Word count)
{
	GElf_Verdef definition;
	GElf_Verdaux name;

	for (int at = 0;
	     at >= 0 && !links->ended && count-- > 0 && gelf_getverdef(data, at, &definition);
	     at = step(at, definition.vd_next))
		if (definition.vd_aux < ELF_TABLE_MAX &&
		    gelf_getverdaux(data, at + (int)definition.vd_aux, &name))
			report(links, ELF_VERSION_DEFINED, name.vda_name, (struct slice){0});
}

int elf_file_links(struct elf_file *file, elf_link_each *each, void *payload, struct error *error)
{
	struct links links = {.each = each, .payload = payload};
	GElf_Shdr header;
	struct dynamic dynamic;
	Elf_Data *data;

	errno = 0;
	dynamic = read_dynamic(file->elf);
	links.strings = find_strings(file->elf, &dynamic);
	if (!dynamic.table || slice_is_null(links.strings))
		return check_system(damaged(error), error);
	report_dynamic(&links, dynamic.table);
	if ((data = find_data(file->elf, SHT_GNU_verneed, &header)))
		report_versions_needed(&links, data, header.sh_info);
	if ((data = find_data(file->elf, SHT_GNU_verdef, &header)))
		report_versions_defined(&links, data, header.sh_info);
	return check_system(links.is_damaged ? damaged(error) : 0, error);
}
