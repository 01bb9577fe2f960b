/*
 * fuzz_store.c - one state of a root is stored, then another over it: what is read back is
 * the second, in its order, and the database is sound.
 *
 * The input is a byte that says how many distributions the first has, and both of them, eight
 * bytes for a distribution:
 *
 *     which directory | which name | how many entry points | flags | a number (4)
 */
#include "indexer/update/store.h"

#include <stdio.h>

#include "db/base/cleanup.h"
#include "db/reader.h"
#include "tests/fuzz/answers.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scratch.h"

#define ROWS_MAX  48
#define NAMES     16 /* so few that they collide */
#define POINTS    4
#define FILE_NAME "x.db"
#define ROOT_PATH "lib/python3.12/site-packages"

enum {
	FLAG_REUSED = 1,
	FLAG_BROKEN = 2,
	FLAG_WATCHED = 4,
	FLAG_SETTLED = 8,
	FLAG_METADATA = 16,
	FLAG_NAMELESS = 32,
	FLAG_KEEPS_ROW = 64,
	FLAG_TARGET = 128,
};

static char directories[256][24], names[NAMES][8];

static void make_names(void)
{
	for (int i = 0; i < 256; i++)
		snprintf(directories[i], sizeof(directories[i]), "d%d-1.dist-info", i);
	for (int i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "n%d", i);
}

/* --- rows of the input --- */

static const struct target_record target = {
        .kind = TARGET_UNRESOLVED, .state = TARGET_MISSING, .symbol = {"s", 1}, .machine = 62};

static void make_points(struct distribution_record *row, struct arena *arena, unsigned flags,
                        uint32_t number)
{
	row->entry_points = arena_calloc(arena, POINTS, sizeof(*row->entry_points));
	require(row->entry_points != NULL);
	for (size_t i = 0; i < row->entry_point_count; i++)
		row->entry_points[i] = (struct entry_point_record){
		        .group = slice_of(names[number % NAMES]),
		        .name = slice_of(names[(number / NAMES + i) % NAMES]),
		        .value = slice_of(directories[number >> 24]),
		        .target = flags & FLAG_TARGET ? &target : NULL,
		};
}

static struct distribution_record make_row(struct slice *input, struct arena *arena)
{
	unsigned directory = input_byte(input), name = input_byte(input) % NAMES;
	unsigned points = input_byte(input) % (POINTS + 1), flags = input_byte(input);
	uint32_t number = (uint32_t)input_number(input, 4);
	struct distribution_record row = {
	        .directory = slice_of(directories[directory]),
	        .entry_point_count = flags & FLAG_BROKEN ? 0 : points,
	        .error = flags & FLAG_BROKEN ? SLICE("why") : (struct slice){0},
	        .watched = flags & FLAG_WATCHED,
	        .settled = flags & FLAG_SETTLED,
	        .has_metadata = flags & FLAG_METADATA,
	        .directory_stamp = number,
	        .files_stamp = (int64_t)number << 31,
	        .version = number % 3 ? slice_of(names[number % 3]) : (struct slice){0},
	};

	if (!(flags & FLAG_NAMELESS))
		row.normalized_name = row.name = slice_of(names[name]);
	make_points(&row, arena, flags, number);
	return row;
}

static struct distribution_record *find(const struct root_record *root, struct slice directory)
{
	for (size_t i = 0; i < root->distribution_count; i++)
		if (slice_equal(root->distributions[i].directory, directory))
			return &root->distributions[i];
	return NULL;
}

/* As a scan that knows the rows of @known leaves it: some are reused, some keep their place. */
static void make_root(struct slice *input, const struct root_record *known,
                      struct root_record *root)
{
	root->path = SLICE(ROOT_PATH);
	root->kind = ROOT_DIRECTORY;
	root->distributions = arena_calloc(&root->arena, ROWS_MAX, sizeof(*root->distributions));
	require(root->distributions != NULL);
	while (input->len > 0 && root->distribution_count < ROWS_MAX) {
		unsigned flags = input->len > 3 ? (unsigned char)input->ptr[3] : 0;
		struct distribution_record row = make_row(input, &root->arena), *old;

		if (find(root, row.directory))
			break;
		old = find(known, row.directory);
		if (old && flags & FLAG_REUSED) {
			row = *old;
			row.reused = true;
			row.settled = flags & FLAG_SETTLED;
		} else if (old && flags & FLAG_KEEPS_ROW) {
			row.id = old->id;
		}
		root->broken += !slice_is_null(row.error);
		root->watched += row.watched;
		root->distributions[root->distribution_count++] = row;
	}
}

/* --- storing and reading back --- */

static void check_row(const struct distribution_record *row, const struct distribution_record *want)
{
	require(slice_equal(row->directory, want->directory) &&
	        slice_equal(row->normalized_name, want->normalized_name) &&
	        slice_equal(row->version, want->version) && slice_equal(row->error, want->error));
	require(row->directory_stamp == want->directory_stamp && row->settled == want->settled &&
	        row->watched == want->watched);
	if (want->reused) /* its entry points stay as they are, and are not in @want */
		return;
	require(row->entry_point_count == want->entry_point_count);
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct entry_point_record *a = &row->entry_points[i];
		const struct entry_point_record *b = &want->entry_points[i];

		require(slice_equal(a->group, b->group) && slice_equal(a->name, b->name) &&
		        slice_equal(a->value, b->value) && !a->target == !b->target);
	}
}

static void check_stored(const char *file, const struct root_record *want)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	CLEANUP(root_record_free) struct root_record root = {0};

	require(reader_open(file, (uid_t)-1, &reader, NULL) == 0);
	require(reader_root(reader, SLICE(ROOT_PATH), &root, NULL) == 1);
	require(root.distribution_count == want->distribution_count &&
	        root.broken == want->broken && root.watched == want->watched);
	require(reader_distributions(reader, &root, true, NULL) == 0);
	root_record_sort(&root);
	for (size_t i = 0; i < root.distribution_count; i++)
		check_row(&root.distributions[i], &want->distributions[i]);
	answers_check_sound(file);
	require(answers_count(file, "SELECT count(*) FROM distribution a WHERE contested <> EXISTS"
	                            " (SELECT 1 FROM distribution b WHERE a.id <> b.id AND"
	                            " a.normalized_name = b.normalized_name)") == 0);
}

static void store(struct slice *input, const char *file)
{
	struct writer_options how = {.file = file, .command = "fuzz", .may_replace = true};
	CLEANUP(root_record_free) struct root_record known = {0};
	CLEANUP(root_record_free) struct root_record root = {0};
	CLEANUP(cleanup_writer) struct writer *writer = NULL;
	struct store_counts counts = {0};
	int found;

	require(writer_open(&how, &writer, NULL) == 0);
	found = writer_find_root(writer, SLICE(ROOT_PATH), &known, NULL);
	require(found >= 0);
	make_root(input, &known, &root);
	require(store_root(writer, &root, found ? &known : NULL, &counts, NULL) == 0);
	require(counts.broken == root.broken);
	require(writer_commit(writer, 0644, NULL) == 0);
	check_stored(file, &root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = input_of(data, size), first;
	size_t len = 8 * (size_t)input_byte(&rest);

	first = slice_first(rest, len < rest.len ? len : rest.len);
	rest = slice_from(rest, first.len);
	if (!names[0][0])
		make_names();
	scratch_clear();
	store(&first, scratch_path(FILE_NAME));
	store(&rest, scratch_path(FILE_NAME));
	return 0;
}
