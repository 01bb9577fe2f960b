/*
 * elf_extract.c - see elf_extract.h. Nothing that the object says is believed: each number
 * only says where to read, and what is read is bounded by named limits. Tables whose size is
 * told nowhere end where the next one begins; the number of symbols is that of their hash
 * table. The numbers within the tables are left to elf_file.c.
 */
#include "libquery/disk/elf/elf_extract.h"

#include <elf.h>
#include <stdlib.h>

#include "db/base/arena.h"
#include "db/base/cleanup.h"
#include "db/base/libc.h"

#define NOTES_MAX      4                    /* segments of notes that are looked at */
#define NOTES_SIZE_MAX ((uint64_t)64 << 10) /* bytes of one of them */
#define DYNAMIC_MAX    ((uint64_t)1 << 20)  /* bytes */
#define UNSIZED_MAX    ((uint64_t)32 << 20) /* bytes of a table whose size is told nowhere */
#define TABLE_ALIGN    8                    /* of each in the extract; bytes */

/* What is taken over, and in which order it stands in the extract. */
enum {
	SYMBOLS,
	STRINGS,
	VERSIONS,
	VERSIONS_NEEDED,
	VERSIONS_DEFINED,
	DYNAMIC,
	NOTES,
	TABLE_COUNT = NOTES + NOTES_MAX,
	/* read, and left out of the extract: */
	HASH = TABLE_COUNT,
	GNU_HASH,
	READ_COUNT
};

struct table {
	bool exists;
	uint64_t offset, size; /* in the object; after it has been read, of what there was */
	uint64_t align;        /* of notes */
	char *bytes;           /* NULL: not read */
};

/* A part of the file as it lies in memory. */
struct segment {
	uint64_t offset, address, size;
};

struct extract {
	const struct elf_source *source;
	struct error *error;
	struct arena arena;
	char header[sizeof(Elf64_Ehdr)];
	size_t word; /* bytes of an address */
	bool is_big; /* the most significant byte comes first */
	unsigned machine;
	struct segment *segments;
	size_t segment_count;
	struct table tables[READ_COUNT];
	uint64_t needed_count, defined_count; /* versions */
	size_t held;                          /* bytes of tables; see ELF_EXTRACT_MAX */
};

static int damaged(const struct extract *extract, const char *what)
{
	return error_set(extract->error, ERROR_FORMAT, "damaged ELF file: %s", what);
}

/* --- numbers --- */

static uint64_t get(const struct extract *extract, const char *from, size_t size)
{
	uint64_t number = 0;

	for (size_t i = 0; i < size; i++)
		number = number << 8 | (unsigned char)from[extract->is_big ? i : size - 1 - i];
	return number;
}

static void put(const struct extract *extract, char *to, size_t size, uint64_t number)
{
	for (size_t i = 0; i < size; i++, number >>= 8)
		to[extract->is_big ? size - 1 - i : i] = (char)(number & 0xff);
}

/* Where a field is, and how long, in the form for 64 bits and in that for 32. */
struct field {
	size_t at64, size64, at32, size32;
};

#define FIELD(type, name)                                                                          \
	((struct field){offsetof(Elf64_##type, name), sizeof(((Elf64_##type *)NULL)->name),        \
	                offsetof(Elf32_##type, name), sizeof(((Elf32_##type *)NULL)->name)})

/* The size of a record. */
#define SIZE(extract, type) ((extract)->word == 8 ? sizeof(Elf64_##type) : sizeof(Elf32_##type))

static uint64_t get_field(const struct extract *extract, const char *record, struct field field)
{
	return extract->word == 8 ? get(extract, record + field.at64, field.size64)
	                          : get(extract, record + field.at32, field.size32);
}

static void put_field(const struct extract *extract, char *record, struct field field,
                      uint64_t number)
{
	if (extract->word == 8)
		put(extract, record + field.at64, field.size64, number);
	else
		put(extract, record + field.at32, field.size32, number);
}

/* --- reading --- */

static int read_at(const struct extract *extract, uint64_t at, char *to, size_t size, size_t *got)
{
	const struct elf_source *source = extract->source;

	return source->read(source->payload, at, to, size, got, extract->error);
}

static int read_table(struct extract *extract, struct table *table)
{
	size_t got = 0;
	int code;

	if (table->offset >= extract->source->size)
		table->size = 0;
	else if (table->size > extract->source->size - table->offset)
		table->size = extract->source->size - table->offset;
	if (table->size > ELF_EXTRACT_MAX - extract->held)
		return error_set(extract->error, ERROR_LIMIT, "more than %zu bytes of tables",
		                 ELF_EXTRACT_MAX);
	table->bytes = arena_alloc(&extract->arena, (size_t)table->size + 1);
	if (!table->bytes)
		return error_nomem(extract->error);
	code = read_at(extract, table->offset, table->bytes, (size_t)table->size, &got);
	table->size = got;
	extract->held += got;
	return code;
}

/* The first, by its place, of those that are to be read; NULL: all have been. */
static struct table *next_table(struct extract *extract)
{
	struct table *next = NULL;

	for (size_t i = 0; i < READ_COUNT; i++) {
		struct table *table = &extract->tables[i];

		if (table->exists && !table->bytes && (!next || table->offset < next->offset))
			next = table;
	}
	return next;
}

static int read_tables(struct extract *extract)
{
	struct table *table;
	int code = 0;

	while (code == 0 && (table = next_table(extract)) != NULL)
		code = read_table(extract, table);
	return code;
}

/* --- the header --- */

static int read_header(struct extract *extract)
{
	char *header = extract->header;
	size_t size = sizeof(Elf32_Ehdr), rest, got;
	int code = read_at(extract, 0, header, size, &got);

	if (code < 0)
		return code;
	if (got < size || memcmp(header, ELFMAG, SELFMAG) != 0)
		return error_set(extract->error, ERROR_FORMAT, "not an ELF file");
	extract->word = header[EI_CLASS] == ELFCLASS32 ? 4 : 8;
	extract->is_big = header[EI_DATA] == ELFDATA2MSB;
	rest = SIZE(extract, Ehdr) - size; /* with 32 bits, other tables begin behind this */
	code = rest ? read_at(extract, size, header + size, rest, &got) : 0;
	if (code < 0)
		return code;
	if (rest && got < rest)
		return damaged(extract, "its header is cut short");
	extract->machine = (unsigned)get_field(extract, header, FIELD(Ehdr, e_machine));
	return 0;
}

static void add_note(struct extract *extract, const struct segment *segment, uint64_t align)
{
	struct table *table = &extract->tables[NOTES];

	if (segment->size > NOTES_SIZE_MAX)
		return;
	while (table < extract->tables + TABLE_COUNT && table->exists)
		table++;
	if (table < extract->tables + TABLE_COUNT)
		*table = (struct table){true, segment->offset, segment->size, align, NULL};
}

static void add_segment(struct extract *extract, const char *record)
{
	const struct segment segment = {
	        .offset = get_field(extract, record, FIELD(Phdr, p_offset)),
	        .address = get_field(extract, record, FIELD(Phdr, p_vaddr)),
	        .size = get_field(extract, record, FIELD(Phdr, p_filesz)),
	};

	switch (get_field(extract, record, FIELD(Phdr, p_type))) {
	case PT_LOAD:
		if (segment.size <= UINT64_MAX - segment.offset)
			extract->segments[extract->segment_count++] = segment;
		break;
	case PT_DYNAMIC:
		extract->tables[DYNAMIC] = (struct table){
		        true, segment.offset,
		        segment.size < DYNAMIC_MAX ? segment.size : DYNAMIC_MAX, 0, NULL};
		break;
	case PT_NOTE:
		add_note(extract, &segment, get_field(extract, record, FIELD(Phdr, p_align)));
		break;
	default:
		break;
	}
}

static int read_segments(struct extract *extract)
{
	const char *header = extract->header;
	size_t size = SIZE(extract, Phdr), got;
	uint64_t count = get_field(extract, header, FIELD(Ehdr, e_phnum));
	char *records;
	int code;

	if (count > ELF_SEGMENTS_MAX)
		return error_set(extract->error, ERROR_LIMIT, "more than %zu program headers",
		                 ELF_SEGMENTS_MAX);
	if (count > 0 && get_field(extract, header, FIELD(Ehdr, e_phentsize)) != size)
		return damaged(extract, "its program headers are of another size");
	records = arena_alloc(&extract->arena, (size_t)count * size + 1);
	extract->segments =
	        arena_calloc(&extract->arena, (size_t)count + 1, sizeof(*extract->segments));
	if (!records || !extract->segments)
		return error_nomem(extract->error);
	code = read_at(extract, get_field(extract, header, FIELD(Ehdr, e_phoff)), records,
	               (size_t)count * size, &got);
	if (code < 0)
		return code;
	for (size_t at = 0; at + size <= got; at += size)
		add_segment(extract, records + at);
	return 0;
}

/* --- what PT_DYNAMIC says --- */

/* The tables that it points to, those included that only end others. */
static const struct {
	int64_t tag;
	int table; /* READ_COUNT: none that is read */
} pointers[] = {
        {DT_SYMTAB, SYMBOLS},    {DT_STRTAB, STRINGS},          {DT_HASH, HASH},
        {DT_GNU_HASH, GNU_HASH}, {DT_VERSYM, VERSIONS},         {DT_VERNEED, VERSIONS_NEEDED},
        {DT_RELA, READ_COUNT},   {DT_VERDEF, VERSIONS_DEFINED}, {DT_REL, READ_COUNT},
        {DT_JMPREL, READ_COUNT}, {DT_RELR, READ_COUNT},         {DT_INIT, READ_COUNT},
        {DT_FINI, READ_COUNT},   {DT_INIT_ARRAY, READ_COUNT},   {DT_PLTGOT, READ_COUNT}};

#define POINTER_COUNT (sizeof(pointers) / sizeof(*pointers))

/* What was found of them. */
struct places {
	uint64_t offsets[POINTER_COUNT]; /* in the file */
	bool exists[POINTER_COUNT];
	uint64_t strings_size;
};

/* Where the byte is in the file that will be at @address in memory, and its segment's end. */
static bool find_offset(const struct extract *extract, uint64_t address, uint64_t *offset,
                        uint64_t *end)
{
	for (size_t i = 0; i < extract->segment_count; i++) {
		const struct segment *segment = &extract->segments[i];

		if (address < segment->address || address - segment->address >= segment->size)
			continue;
		*offset = segment->offset + (address - segment->address);
		*end = segment->offset + segment->size;
		return true;
	}
	return false;
}

static void note_entry(struct extract *extract, int64_t tag, uint64_t value, struct places *places)
{
	uint64_t end;

	if (tag == DT_STRSZ)
		places->strings_size = value;
	else if (tag == DT_VERNEEDNUM)
		extract->needed_count = value;
	else if (tag == DT_VERDEFNUM)
		extract->defined_count = value;
	for (size_t i = 0; i < POINTER_COUNT; i++)
		if (tag == pointers[i].tag)
			places->exists[i] = find_offset(extract, value, &places->offsets[i], &end);
}

static void read_dynamic(struct extract *extract, struct places *places)
{
	const struct table *dynamic = &extract->tables[DYNAMIC];
	size_t word = extract->word;

	for (size_t at = 0; at + 2 * word <= dynamic->size; at += 2 * word) {
		const char *entry = dynamic->bytes + at;
		uint64_t tag = get(extract, entry, word);

		if (tag == DT_NULL)
			return;
		note_entry(extract, (int64_t)tag, get(extract, entry + word, word), places);
	}
}

/* The end of what begins at @offset: the next place that is known, or that of the segment. */
static uint64_t end_of(const struct extract *extract, const struct places *places, uint64_t offset)
{
	uint64_t end = UINT64_MAX;

	for (size_t i = 0; i < extract->segment_count; i++) {
		const struct segment *segment = &extract->segments[i];

		if (offset >= segment->offset && offset - segment->offset < segment->size)
			end = segment->offset + segment->size;
	}
	for (size_t i = 0; i < POINTER_COUNT; i++)
		if (places->exists[i] && places->offsets[i] > offset && places->offsets[i] < end)
			end = places->offsets[i];
	return end;
}

static void place_tables(struct extract *extract, const struct places *places)
{
	for (size_t i = 0; i < POINTER_COUNT; i++) {
		uint64_t offset = places->offsets[i];
		struct table *table;

		if (!places->exists[i] || pointers[i].table == READ_COUNT)
			continue;
		table = &extract->tables[pointers[i].table];
		table->exists = true;
		table->offset = offset;
		table->size = end_of(extract, places, offset) - offset;
		if (table->size > UNSIZED_MAX)
			table->size = UNSIZED_MAX;
	}
	extract->tables[STRINGS].size = places->strings_size;
}

/* --- how many symbols there are --- */

/* On two machines the words of a hash table have 64 bits. */
static uint64_t count_by_hash(const struct extract *extract)
{
	const struct table *hash = &extract->tables[HASH];
	size_t word =
	        extract->word == 8 && (extract->machine == EM_S390 || extract->machine == EM_ALPHA)
	                ? 8
	                : 4;

	return hash->size < 2 * word ? 0 : get(extract, hash->bytes + word, word);
}

/* The last symbol is at the end of the chain of the last bucket. 0: it does not tell. */
static uint64_t count_by_gnu_hash(const struct extract *extract)
{
	const struct table *hash = &extract->tables[GNU_HASH];
	uint64_t buckets, first, at, last = 0;

	if (hash->size < 16)
		return 0;
	buckets = get(extract, hash->bytes, 4);
	first = get(extract, hash->bytes + 4, 4);
	at = 16 + get(extract, hash->bytes + 8, 4) * extract->word;
	for (uint64_t i = 0; i < buckets && at + 4 <= hash->size; i++, at += 4) {
		uint64_t symbol = get(extract, hash->bytes + at, 4);

		last = symbol > last ? symbol : last;
	}
	if (last < first || last == 0)
		return 0;
	for (at += 4 * (last - first); at + 4 <= hash->size; at += 4, last++)
		if (get(extract, hash->bytes + at, 4) & 1)
			return last + 1;
	return 0;
}

/* What was read of the symbols beyond them is none. ERROR_LIMIT: they are not all there. */
static int cut_symbols(struct extract *extract)
{
	struct table *symbols = &extract->tables[SYMBOLS], *versions = &extract->tables[VERSIONS];
	size_t size = SIZE(extract, Sym);
	uint64_t room = symbols->size / size;
	uint64_t count =
	        extract->tables[HASH].exists ? count_by_hash(extract) : count_by_gnu_hash(extract);

	if (count > room)
		return error_set(extract->error, ERROR_LIMIT,
		                 "a table of %llu symbols, of which %llu were read",
		                 (unsigned long long)count, (unsigned long long)room);
	if (count == 0)
		count = room;
	symbols->size = count * size;
	if (versions->size > 2 * count)
		versions->size = 2 * count;
	return 0;
}

/* --- writing --- */

struct kind {
	uint32_t type;
	int link; /* another table, or -1 */
};

static struct kind kind_of(size_t table)
{
	static const struct kind kinds[] = {
	        [SYMBOLS] = {SHT_DYNSYM, STRINGS},
	        [STRINGS] = {SHT_STRTAB, -1},
	        [VERSIONS] = {SHT_GNU_versym, SYMBOLS},
	        [VERSIONS_NEEDED] = {SHT_GNU_verneed, STRINGS},
	        [VERSIONS_DEFINED] = {SHT_GNU_verdef, STRINGS},
	        [DYNAMIC] = {SHT_DYNAMIC, STRINGS},
	        [NOTES] = {SHT_NOTE, -1},
	};

	return kinds[table < NOTES ? table : NOTES];
}

static uint64_t size_of_items(const struct extract *extract, size_t table)
{
	switch (table) {
	case SYMBOLS:
		return SIZE(extract, Sym);
	case VERSIONS:
		return sizeof(Elf64_Half);
	case DYNAMIC:
		return SIZE(extract, Dyn);
	default:
		return 0;
	}
}

/* The section header of a table, whose bytes are at @offset. */
static void put_section(const struct extract *extract, size_t number, uint64_t offset, char *to)
{
	const struct table *table = &extract->tables[number];
	struct kind kind = kind_of(number);
	uint64_t info = number == VERSIONS_NEEDED    ? extract->needed_count
	                : number == VERSIONS_DEFINED ? extract->defined_count
	                                             : 0;

	put_field(extract, to, FIELD(Shdr, sh_type), kind.type);
	put_field(extract, to, FIELD(Shdr, sh_offset), offset);
	put_field(extract, to, FIELD(Shdr, sh_size), table->size);
	put_field(extract, to, FIELD(Shdr, sh_link), (uint64_t)(kind.link + 1));
	put_field(extract, to, FIELD(Shdr, sh_info), info);
	put_field(extract, to, FIELD(Shdr, sh_addralign),
	          number >= NOTES ? table->align : TABLE_ALIGN);
	put_field(extract, to, FIELD(Shdr, sh_entsize), size_of_items(extract, number));
}

/* No program headers; sections, the first of which is by definition none. */
static void put_header(const struct extract *extract, uint64_t sections, char *to)
{
	memcpy(to, extract->header, SIZE(extract, Ehdr));
	put_field(extract, to, FIELD(Ehdr, e_phoff), 0);
	put_field(extract, to, FIELD(Ehdr, e_phnum), 0);
	put_field(extract, to, FIELD(Ehdr, e_shoff), sections);
	put_field(extract, to, FIELD(Ehdr, e_shentsize), SIZE(extract, Shdr));
	put_field(extract, to, FIELD(Ehdr, e_shnum), TABLE_COUNT + 1);
	put_field(extract, to, FIELD(Ehdr, e_shstrndx), SHN_UNDEF);
}

static size_t aligned(uint64_t size)
{
	return (size_t)(size + TABLE_ALIGN - 1) / TABLE_ALIGN * TABLE_ALIGN;
}

static int write_extract(const struct extract *extract, struct slice *out)
{
	size_t begin = aligned(SIZE(extract, Ehdr)), section = SIZE(extract, Shdr),
	       sections = begin;
	char *image, *at;

	for (size_t i = 0; i < TABLE_COUNT; i++)
		if (extract->tables[i].bytes)
			sections += aligned(extract->tables[i].size);
	image = calloc(1, sections + (TABLE_COUNT + 1) * section);
	if (!image)
		return error_nomem(extract->error);
	put_header(extract, sections, image);
	at = image + begin;
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		const struct table *table = &extract->tables[i];

		if (!table->bytes)
			continue;
		memcpy(at, table->bytes, (size_t)table->size);
		put_section(extract, i, (uint64_t)(at - image),
		            image + sections + (i + 1) * section);
		at += aligned(table->size);
	}
	*out = (struct slice){image, sections + (TABLE_COUNT + 1) * section};
	return 0;
}

/* --- the whole --- */

static int read_all(struct extract *extract)
{
	struct places places = {.strings_size = 0};
	int code = read_segments(extract);

	if (code == 0)
		code = read_tables(extract); /* PT_DYNAMIC, and the notes */
	if (code < 0)
		return code;
	read_dynamic(extract, &places);
	place_tables(extract, &places);
	code = read_tables(extract);
	return code < 0 ? code : cut_symbols(extract);
}

int elf_extract(const struct elf_source *source, struct slice *out, struct error *error)
{
	struct extract extract = {.source = source, .error = error};
	int code = read_header(&extract);

	if (code == 0 && get_field(&extract, extract.header, FIELD(Ehdr, e_type)) == ET_DYN)
		code = read_all(&extract);
	if (code == 0)
		code = write_extract(&extract, out);
	arena_free(&extract.arena);
	return code;
}
