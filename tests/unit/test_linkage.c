/*
 * test_linkage.c - the dynamic linker's search by the rules of ld.so(8). The libraries are written
 * byte by byte into a file-system root of their own, so that this machine's libraries and cache do
 * not matter. cli/test_plugins.py compares with the linker itself.
 */
#include <elf.h>
#include <sys/stat.h>

#include "scratch.h"

#include "db/base/cleanup.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/elf/linkage_search.h"

#define BYTE_ORDER_HERE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)
#define NAMES_MAX       8
#define ROOM            16384 /* bytes of a library */
#define LIBC                                                                                       \
	{                                                                                          \
		.soname = "libc.so.6", .exports = {"puts"}, .defines = {                           \
			"GLIBC_2.2.5",                                                             \
			"GLIBC_2.34"                                                               \
		}                                                                                  \
	}

/* The content of a library; lists end at a NULL. */
struct says {
	const char *soname, *rpath, *runpath;
	const char *needed[NAMES_MAX], *exports[NAMES_MAX], *undefined[NAMES_MAX], *weak[NAMES_MAX];
	const char *wants[NAMES_MAX];   /* "library version" */
	const char *defines[NAMES_MAX]; /* versions */
	int machine;                    /* 0: x86-64 */
};

/* --- writing --- */

enum section { NONE, STRINGS, SYMBOLS, WANTS, DEFINES, DYNAMIC, SECTIONS };

struct image {
	char bytes[ROOM];
	size_t length;
	char strings[ROOM / 2];
	size_t strings_length;
	Elf64_Dyn dynamic[3 * NAMES_MAX + 3];
	size_t dynamic_count;
	Elf64_Sym symbols[4 * NAMES_MAX];
	size_t symbol_count;
	Elf64_Shdr sections[SECTIONS];
};

static Elf64_Word put_string(struct image *image, const char *text)
{
	size_t at = image->strings_length;

	image->strings_length += strlen(text) + 1;
	assert_true(image->strings_length <= sizeof(image->strings));
	strcpy(image->strings + at, text);
	return (Elf64_Word)at;
}

static void put_dynamic(struct image *image, Elf64_Sxword tag, const char *text)
{
	if (text)
		image->dynamic[image->dynamic_count++] =
		        (Elf64_Dyn){tag, {put_string(image, text)}};
}

static void put_symbols(struct image *image, const char *const *names, unsigned char binding,
                        Elf64_Section section)
{
	for (; *names; names++)
		image->symbols[image->symbol_count++] = (Elf64_Sym){
		        .st_name = put_string(image, *names),
		        .st_info = (unsigned char)ELF64_ST_INFO(binding, STT_FUNC),
		        .st_shndx = section,
		};
}

static void put_section(struct image *image, enum section number, Elf64_Word type,
                        const void *bytes, size_t size, size_t item, Elf64_Word info)
{
	image->length = (image->length + 7) / 8 * 8;
	assert_true(image->length + size <= ROOM);
	if (size > 0)
		memcpy(image->bytes + image->length, bytes, size);
	image->sections[number] = (Elf64_Shdr){
	        .sh_type = type,
	        .sh_addr = image->length,
	        .sh_offset = image->length,
	        .sh_size = size,
	        .sh_link = number == STRINGS ? 0 : STRINGS,
	        .sh_info = info,
	        .sh_entsize = item,
	        .sh_addralign = 8,
	};
	image->length += size;
}

static void put_wants(struct image *image, const char *const *wants)
{
	struct {
		Elf64_Verneed library;
		Elf64_Vernaux version;
	} records[NAMES_MAX];
	Elf64_Word count = 0;

	memset(records, 0, sizeof(records));
	for (; wants[count]; count++) {
		char library[64], version[64];

		assert_int_equal(sscanf(wants[count], "%63s %63s", library, version), 2);
		records[count].library.vn_version = VER_NEED_CURRENT;
		records[count].library.vn_cnt = 1;
		records[count].library.vn_file = put_string(image, library);
		records[count].library.vn_aux = sizeof(Elf64_Verneed);
		records[count].library.vn_next = wants[count + 1] ? sizeof(*records) : 0;
		records[count].version.vna_name = put_string(image, version);
	}
	if (count)
		put_section(image, WANTS, SHT_GNU_verneed, records, count * sizeof(*records), 0,
		            count);
}

static void put_defines(struct image *image, const char *const *defines)
{
	struct {
		Elf64_Verdef version;
		Elf64_Verdaux name;
	} records[NAMES_MAX];
	Elf64_Word count = 0;

	memset(records, 0, sizeof(records));
	for (; defines[count]; count++) {
		records[count].version.vd_version = VER_DEF_CURRENT;
		records[count].version.vd_ndx = (Elf64_Half)(count + 1);
		records[count].version.vd_cnt = 1;
		records[count].version.vd_aux = sizeof(Elf64_Verdef);
		records[count].version.vd_next = defines[count + 1] ? sizeof(*records) : 0;
		records[count].name.vda_name = put_string(image, defines[count]);
	}
	if (count)
		put_section(image, DEFINES, SHT_GNU_verdef, records, count * sizeof(*records), 0,
		            count);
}

static void put_header(struct image *image, int machine)
{
	Elf64_Ehdr header = {
	        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, BYTE_ORDER_HERE,
	                    EV_CURRENT},
	        .e_type = ET_DYN,
	        .e_machine = (Elf64_Half)(machine ? machine : EM_X86_64),
	        .e_version = EV_CURRENT,
	        .e_phoff = sizeof(header),
	        .e_phentsize = sizeof(Elf64_Phdr),
	        .e_phnum = 2,
	        .e_shoff = (image->length + 7) / 8 * 8,
	        .e_ehsize = sizeof(header),
	        .e_shentsize = sizeof(Elf64_Shdr),
	        .e_shnum = SECTIONS,
	};

	const Elf64_Phdr segments[] = {
	        {.p_type = PT_LOAD, .p_filesz = image->length},
	        {.p_type = PT_DYNAMIC,
	         .p_offset = image->sections[DYNAMIC].sh_offset,
	         .p_filesz = image->sections[DYNAMIC].sh_size},
	};

	assert_true(header.e_shoff + sizeof(image->sections) <= ROOM);
	memcpy(image->bytes, &header, sizeof(header));
	memcpy(image->bytes + sizeof(header), segments, sizeof(segments));
	memcpy(image->bytes + header.e_shoff, image->sections, sizeof(image->sections));
	image->length = (size_t)header.e_shoff + sizeof(image->sections);
}

static void make(const struct says *says, struct image *image)
{
	memset(image, 0, sizeof(*image));
	image->length = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
	image->strings_length = image->symbol_count = 1;
	put_dynamic(image, DT_SONAME, says->soname);
	put_dynamic(image, DT_RPATH, says->rpath);
	put_dynamic(image, DT_RUNPATH, says->runpath);
	for (size_t i = 0; says->needed[i]; i++)
		put_dynamic(image, DT_NEEDED, says->needed[i]);
	put_symbols(image, says->exports, STB_GLOBAL, 1);
	put_symbols(image, says->undefined, STB_GLOBAL, SHN_UNDEF);
	put_symbols(image, says->weak, STB_WEAK, SHN_UNDEF);
	put_wants(image, says->wants);
	put_defines(image, says->defines);
	put_section(image, SYMBOLS, SHT_DYNSYM, image->symbols,
	            image->symbol_count * sizeof(Elf64_Sym), sizeof(Elf64_Sym), 1);
	put_section(image, STRINGS, SHT_STRTAB, image->strings, image->strings_length, 0, 0);
	image->dynamic[image->dynamic_count++] =
	        (Elf64_Dyn){DT_SYMTAB, {image->sections[SYMBOLS].sh_offset}};
	image->dynamic[image->dynamic_count++] =
	        (Elf64_Dyn){DT_STRTAB, {image->sections[STRINGS].sh_offset}};
	image->dynamic[image->dynamic_count++] = (Elf64_Dyn){DT_STRSZ, {image->strings_length}};
	put_section(image, DYNAMIC, SHT_DYNAMIC, image->dynamic,
	            (image->dynamic_count + 1) * sizeof(Elf64_Dyn), sizeof(Elf64_Dyn), 0);
	put_header(image, says->machine);
}

static void install(const char *path, struct says says)
{
	static struct image image;
	char whole[SCRATCH_PATH];

	make(&says, &image);
	snprintf(whole, sizeof(whole), "root%s", path);
	scratch_write(whole, image.bytes, image.length);
}

/* --- judging --- */

struct fixture {
	struct linkage *linkage;
	struct linkage_report report;
	struct linkage_archive archive;
	bool is_archived;
	struct arena arena;
};

static int setup(void **state)
{
	struct fixture *f = scratch_fixture(state, sizeof(*f));

	f->linkage = linkage_create(scratch_path("root"), READERS_NONE);
	scratch_directory("root/site/pkg");
	install("/lib64/libc.so.6", (struct says)LIBC);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	linkage_free(f->linkage);
	arena_free(&f->arena);
	return scratch_teardown(state);
}

/* Judge a plugin at @path; "-" marks a field that is not reported. */
static void judge_at(struct fixture *f, const char *path, struct says says)
{
	static struct image image;
	struct elf_file *file;
	int fd;

	make(&says, &image);
	fd = scratch_memory(image.bytes, image.length);
	assert_int_equal(elf_file_open(fd, &file, NULL), 0);
	assert_int_equal(linkage_judge(f->linkage, file, slice_of(path),
	                               f->is_archived ? &f->archive : NULL, &f->arena, &f->report,
	                               NULL),
	                 0);
	elf_file_close(file);
	close(fd);
}

static void judge(struct fixture *f, struct says says)
{
	judge_at(f, "/site/pkg/plugin.so", says);
}

static void assert_says(struct slice found, const char *expected)
{
	char text[512];

	snprintf(text, sizeof(text), "%.*s", (int)found.len, found.len ? found.ptr : "");
	assert_string_equal(text, expected);
}

static void assert_missing(struct fixture *f, const char *missing)
{
	assert_says(f->report.missing, missing);
}

static void assert_undefined(struct fixture *f, const char *undefined)
{
	assert_says(f->report.missing, "");
	assert_says(f->report.undefined, undefined);
}

/* --- where libraries are searched --- */

static void test_run_paths(void **state)
{
	static const char *const found[] = {"$ORIGIN/../libs", "${ORIGIN}/../libs", "/site/libs",
	                                    "/nowhere:/site/libs", ":$ORIGIN/../libs"};
	static const char *const lost[] = {"$ORIGIN", "$LIB/../libs", "../libs", "/site", ""};
	struct fixture *f = *state;

	install("/site/libs/liba.so", (struct says){.soname = "liba.so", .exports = {"a"}});
	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++) {
		judge(f, (struct says){
		                 .runpath = found[i], .needed = {"liba.so"}, .undefined = {"a"}});
		assert_undefined(f, "");
		judge(f,
		      (struct says){.rpath = found[i], .needed = {"liba.so"}, .undefined = {"a"}});
		assert_undefined(f, "");
	}
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++) {
		judge(f, (struct says){.runpath = lost[i], .needed = {"liba.so"}});
		assert_missing(f, "liba.so");
	}
}

/* RPATH also applies to the dependencies of libraries; RUNPATH does not, and disables RPATH. */
static void test_inherited_paths(void **state)
{
	struct fixture *f = *state;

	install("/site/libs/liba.so", (struct says){.soname = "liba.so", .needed = {"libb.so"}});
	install("/site/libs/libb.so", (struct says){.soname = "libb.so"});
	judge(f, (struct says){.rpath = "/site/libs", .needed = {"liba.so"}});
	assert_missing(f, "");
	judge(f, (struct says){.runpath = "/site/libs", .needed = {"liba.so"}});
	assert_missing(f, "libb.so");
	judge(f,
	      (struct says){.rpath = "/site/libs", .runpath = "/nowhere", .needed = {"liba.so"}});
	assert_missing(f, "liba.so");
	judge(f, (struct says){.runpath = "/site/libs", .needed = {"liba.so", "libb.so"}});
	assert_missing(f, "");
	install("/site/more/libc_.so",
	        (struct says){.soname = "libc_.so", .runpath = "$ORIGIN", .needed = {"libb.so"}});
	judge(f, (struct says){.rpath = "/site/libs:/site/more", .needed = {"libc_.so"}});
	assert_missing(f, "libb.so"); /* a library with RUNPATH inherits no path */
}

static void test_system_directories(void **state)
{
	static const char *const places[] = {"/usr/lib64", "/lib/x86_64-linux-gnu",
	                                     "/usr/local/lib"};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char name[16], path[64];

		snprintf(name, sizeof(name), "lib%zu.so", i);
		snprintf(path, sizeof(path), "%s/%s", places[i], name);
		judge(f, (struct says){.needed = {name}});
		assert_missing(f, name);
		install(path, (struct says){.soname = name});
		judge(f, (struct says){.needed = {name}});
		assert_missing(f, "");
	}
}

static void test_name_with_slash(void **state)
{
	struct fixture *f = *state;

	install("/opt/liba.so", (struct says){.exports = {"a"}});
	judge(f, (struct says){.needed = {"/opt/liba.so"}, .undefined = {"a"}});
	assert_undefined(f, "");
	judge(f, (struct says){.needed = {"$ORIGIN/liba.so"}});
	assert_missing(f, "$ORIGIN/liba.so");
	judge_at(f, "/opt/plugin.so", (struct says){.needed = {"$ORIGIN/liba.so"}});
	assert_missing(f, "");
}

/* Write a cache as ldconfig does; see ld_cache.h. */
static void write_cache(const char *name, const char *path)
{
	char bytes[512] = "glibc-ld.so.cache1.1";
	uint32_t numbers[] = {48 + 24, 48 + 24 + (uint32_t)strlen(name) + 1}, count = 1;

	memcpy(bytes + 20, &count, sizeof(count));
	memcpy(bytes + 48 + 4, numbers, sizeof(numbers));
	strcpy(bytes + numbers[0], name);
	strcpy(bytes + numbers[1], path);
	scratch_write("root/etc/ld.so.cache", bytes, numbers[1] + strlen(path) + 1);
}

static void test_cache(void **state)
{
	struct fixture *f = *state;

	install("/opt/vendor/liba.so.1", (struct says){.soname = "liba.so.1", .exports = {"a"}});
	install("/lib64/liba.so.1", (struct says){.soname = "liba.so.1", .exports = {"other"}});
	write_cache("liba.so.1", "/opt/vendor/liba.so.1");
	judge(f, (struct says){.needed = {"liba.so.1"}, .undefined = {"a"}});
	assert_undefined(f, "");
	judge(f, (struct says){.needed = {"libb.so"}});
	assert_missing(f, "libb.so");
	install("/site/liba.so.1", (struct says){.soname = "liba.so.1", .exports = {"own"}});
	judge(f, (struct says){.runpath = "/site", .needed = {"liba.so.1"}, .undefined = {"own"}});
	assert_undefined(f, ""); /* the cache is searched after the paths */
}

static void test_hosts(void **state)
{
	struct fixture *f = *state;

	install("/host/liba.so", (struct says){.soname = "liba.so"});
	judge(f, (struct says){.needed = {"liba.so"}});
	assert_missing(f, "liba.so");
	assert_true(linkage_add_host(f->linkage, SLICE("/elsewhere")));
	assert_true(linkage_add_host(f->linkage, SLICE("/host")));
	judge(f, (struct says){.needed = {"liba.so"}});
	assert_missing(f, "");
}

/* --- which libraries are suitable --- */

static void test_other_machines(void **state)
{
	struct fixture *f = *state;

	install("/one/liba.so", (struct says){.soname = "liba.so", .machine = EM_AARCH64});
	judge(f, (struct says){.runpath = "/one", .needed = {"liba.so"}});
	assert_missing(f, "liba.so");
	install("/two/liba.so", (struct says){.soname = "liba.so"});
	judge(f, (struct says){.runpath = "/one:/two", .needed = {"liba.so"}});
	assert_missing(f, "");
	assert_false(f->report.is_foreign);
	judge(f, (struct says){.runpath = "/one", .needed = {"liba.so"}, .machine = EM_AARCH64});
	assert_true(f->report.is_foreign); /* there is no C library for it */
	assert_missing(f, "");
}

static void test_invalid_libraries(void **state)
{
	struct fixture *f = *state;

	scratch_text("root/site/liba.so", "no library\n");
	scratch_directory("root/site/libb.so");
	install("/site/libc_.so", (struct says){.soname = "libc_.so"});
	assert_int_equal(chmod("root/site/libc_.so", 0600), 0);
	judge(f, (struct says){.runpath = "/site", .needed = {"liba.so", "libb.so"}});
	assert_missing(f, "liba.so libb.so");
	if (geteuid() == 0) { /* files that only root can read or reach are not reported */
		judge(f, (struct says){.runpath = "/site", .needed = {"libc_.so"}});
		assert_missing(f, "libc_.so");
	}
	install("/private/libd.so", (struct says){.soname = "libd.so"});
	install("/site/libe.so", (struct says){.soname = "libe.so"});
	assert_int_equal(chmod(scratch_path("root/private"), 0700), 0);
	assert_int_equal(chmod(scratch_path("."), 0755), 0);
	f->linkage->readers.mode = 0444;
	judge(f, (struct says){.runpath = "/site:/private", .needed = {"libd.so", "libe.so"}});
	assert_missing(f, "libd.so");
}

static void test_cycles(void **state)
{
	struct fixture *f = *state;

	install("/site/liba.so", (struct says){.soname = "liba.so",
	                                       .runpath = "$ORIGIN",
	                                       .needed = {"libb.so", "liba.so"},
	                                       .undefined = {"b"}});
	install("/site/libb.so", (struct says){.soname = "libb.so",
	                                       .runpath = "$ORIGIN",
	                                       .needed = {"liba.so", "plugin.so"},
	                                       .exports = {"b"},
	                                       .undefined = {"own"}});
	judge_at(f, "/site/plugin.so",
	         (struct says){.runpath = "$ORIGIN", .needed = {"liba.so"}, .exports = {"own"}});
	assert_undefined(f, "");
}

/* Chains and lists are followed up to a limit. */
static void test_many(void **state)
{
	struct fixture *f = *state;
	char name[32], next[32], path[64];

	judge(f, (struct says){.needed = {"a", "b", "c", "d", "e", "f", "g"}});
	assert_missing(f, "a b c d e f g");
	for (size_t i = 0; i <= LINKAGE_CLOSURE_MAX; i++) {
		snprintf(name, sizeof(name), "lib%zu.so", i);
		snprintf(next, sizeof(next), "lib%zu.so", i + 1);
		snprintf(path, sizeof(path), "/site/%s", name);
		install(path,
		        (struct says){.soname = name, .runpath = "$ORIGIN", .needed = {next}});
	}
	judge(f, (struct says){.runpath = "/site", .needed = {"lib0.so"}});
	assert_missing(f, "");
	assert_true(f->report.not_examined); /* such as whether the last library exists */
	judge(f, (struct says){.runpath = "/site", .needed = {"lib500.so"}});
	assert_missing(f, "lib513.so");
	assert_false(f->report.not_examined);
	assert_in_range(f->linkage->work, 200000, LINKAGE_WORK_MAX / 10);
	f->linkage->work = LINKAGE_WORK_MAX - 100; /* by other objects */
	judge(f, (struct says){.needed = {"a"}});
	assert_true(f->report.not_examined);
	assert_missing(f, "");
}

static void test_read_once(void **state)
{
	struct fixture *f = *state;

	install("/site/liba.so", (struct says){.soname = "liba.so"});
	judge(f, (struct says){.runpath = "/site", .needed = {"liba.so"}});
	assert_int_equal(unlink("root/site/liba.so"), 0);
	judge(f, (struct says){.runpath = "/site", .needed = {"liba.so"}});
	assert_missing(f, "");
}

/* --- missing symbols and versions --- */

static void test_symbols(void **state)
{
	struct fixture *f = *state;

	install("/site/liba.so",
	        (struct says){.soname = "liba.so", .needed = {"libb.so"}, .undefined = {"deep"}});
	install("/site/libb.so", (struct says){.soname = "libb.so", .exports = {"b"}});
	judge(f, (struct says){.rpath = "/site",
	                       .needed = {"liba.so"},
	                       .undefined = {"b", "puts", "lost"},
	                       .weak = {"faint"}});
	assert_undefined(f, "lost deep");
	judge(f, (struct says){.undefined = {"puts"}}); /* every program has the C library */
	assert_undefined(f, "");
	judge(f, (struct says){.needed = {"absent.so"}, .undefined = {"lost"}});
	assert_missing(f, "absent.so");
	assert_true(slice_is_null(f->report.undefined)); /* the unexamined library may define it */
}

static void test_python(void **state)
{
	struct fixture *f = *state;

	install("/site/liba.so", (struct says){.soname = "liba.so", .undefined = {"PyExc_Error"}});
	judge(f, (struct says){.runpath = "/site", .needed = {"liba.so"}});
	assert_true(f->report.needs_python);
	assert_says(f->report.python_by, "liba.so");
	judge(f, (struct says){.undefined = {"PyList_New"}});
	assert_true(f->report.needs_python && slice_is_null(f->report.python_by));
	install("/lib64/libpython3.so",
	        (struct says){.soname = "libpython3.so", .exports = {"PyList_New", "PyExc_Error"}});
	judge(f, (struct says){.runpath = "/site",
	                       .needed = {"libpython3.so", "liba.so"},
	                       .undefined = {"PyList_New"}});
	assert_false(f->report.needs_python); /* it links Python itself */
	judge(f, (struct says){.weak = {"PyList_New"}});
	assert_false(f->report.needs_python);
}

static void test_versions(void **state)
{
	struct fixture *f = *state;

	judge(f, (struct says){.needed = {"libc.so.6"},
	                       .wants = {"libc.so.6 GLIBC_2.2.5", "libc.so.6 GLIBC_2.34",
	                                 "libc.so.6 GLIBC_2.9", "libstdc++.so.6 GLIBCXX_3.4.9",
	                                 "libstdc++.so.6 GLIBCXX_3.4.30"}});
	assert_missing(f, "GLIBC_2.9"); /* the C library defines the two others */
	assert_says(f->report.glibc, "2.34");
	assert_says(f->report.glibcxx, "3.4.30");
	judge(f, (struct says){.wants = {"libc.so.6 GLIBC_9.1", "libc.so.6 GLIBC_PRIVATE"}});
	assert_missing(f, "GLIBC_9.1 GLIBC_PRIVATE");
	assert_says(f->report.glibc, "9.1");
	install("/site/liba.so", (struct says){.soname = "liba.so"});
	judge(f,
	      (struct says){.runpath = "/site", .needed = {"liba.so"}, .wants = {"liba.so A_1"}});
	assert_missing(f, ""); /* a library without versions satisfies any version */
}

/* Programs linked with musl under its own name need "libc.so", which is the dynamic linker. */
static void test_musl(void **state)
{
	struct fixture *f = *state;

	judge(f, (struct says){.needed = {"libc.so"}, .undefined = {"puts"}});
	assert_missing(f, "libc.so");
	install("/lib/ld-musl-x86_64.so.1",
	        (struct says){.soname = "libc.so", .exports = {"puts", "of_musl"}});
	judge(f, (struct says){.needed = {"libc.so"}, .undefined = {"puts", "of_musl"}});
	assert_undefined(f, "");
	judge(f, (struct says){.needed = {"libc.so"}, .undefined = {"nowhere"}});
	assert_undefined(f, "nowhere");
}

static void test_no_c_library(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(unlink("root/lib64/libc.so.6"), 0);
	judge(f, (struct says){.needed = {"liba.so"}, .undefined = {"lost"}});
	assert_undefined(f, "");
	assert_false(f->report.is_foreign);
}

/* --- in an archive --- */

static struct image archived;

static int fetch(void *payload, struct slice path, struct error *error)
{
	const char *name = payload;

	if (!slice_ends(path, SLICE("liba.so")))
		return error_set(error, ERROR_NOTFOUND, "no such file");
	if (!name)
		return error_set(error, ERROR_LIMIT, "too large");
	return scratch_memory(archived.bytes, archived.length);
}

static void test_archive(void **state)
{
	struct fixture *f = *state;
	const struct says plugin = {
	        .runpath = "$ORIGIN/libs", .needed = {"liba.so"}, .undefined = {"a", "lost"}};
	char name[] = "liba.so";

	make(&(struct says){.soname = "liba.so", .exports = {"a"}}, &archived);
	f->is_archived = true;
	f->archive = (struct linkage_archive){fetch, name, SLICE("/\001/")};
	judge_at(f, "/\001/pkg/plugin.so", plugin);
	assert_undefined(f, "lost");
	f->archive.payload = NULL;
	judge_at(f, "/\001/pkg/plugin.so", plugin);
	assert_true(f->report.not_examined); /* missing symbols are then unknown */
	assert_undefined(f, "");
	judge_at(f, "/\001/pkg/plugin.so", (struct says){.runpath = "$ORIGIN", .needed = {"b.so"}});
	assert_false(f->report.not_examined);
	assert_missing(f, "b.so");
}

RUN_TESTS(TEST(test_run_paths), TEST(test_inherited_paths), TEST(test_cache),
          TEST(test_system_directories), TEST(test_hosts), TEST(test_name_with_slash),
          TEST(test_other_machines), TEST(test_invalid_libraries), TEST(test_cycles),
          TEST(test_many), TEST(test_read_once), TEST(test_symbols), TEST(test_python),
          TEST(test_versions), TEST(test_musl), TEST(test_no_c_library), TEST(test_archive))
