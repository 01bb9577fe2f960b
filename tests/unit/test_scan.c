/*
 * test_scan.c - a scan: which children are distributions, what is read of each, which rows are
 * reused, and the order, which is that of importlib.metadata. (The differential tests compare with
 * importlib.metadata itself.)
 */
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "scratch.h"

#define ALL (SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA)

#define MANY 20000 /* distributions in one archive */

struct fixture {
	struct scan_options options;
	struct root_record root, again;
	struct tree *tree;
	struct error error;
};

static int setup(void **state)
{
	struct fixture *f = scratch_fixture(state, sizeof(*f));

	f->options.depth = ALL;
	f->options.targets = target_records;
	f->options.now = (struct timespec){time(NULL) + 10, 1}; /* every file is old by then */
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tree_close(f->tree);
	root_record_free(&f->root);
	root_record_free(&f->again);
	error_clear(&f->error);
	return scratch_teardown(state);
}

static void scan(struct fixture *f, const char *path)
{
	root_record_free(&f->root);
	if (scan_path(path, &f->options, &f->root, &f->error) < 0)
		fail_msg("%s", error_text(&f->error));
}

static const struct distribution_record *find(const struct fixture *f, const char *directory)
{
	for (size_t i = 0; i < f->root.distribution_count; i++)
		if (slice_equal(f->root.distributions[i].directory, slice_of(directory)))
			return &f->root.distributions[i];
	fail_msg("%s was not found", directory);
	return NULL;
}

static void assert_slice(struct slice slice, const char *expected)
{
	assert_int_equal(slice_is_null(slice), expected == NULL);
	if (!slice_equal(slice, slice_of(expected)))
		fail_msg("%.*s instead of %s", (int)slice.len, slice.ptr, expected);
}

static void test_children(void **state)
{
	static const char *const names[] = {"a-1.dist-info", "b.egg-info", "C-1.DIST-INFO",
	                                    ".dist-info",    "f.egg-info", "link.dist-info"};
	struct fixture *f = *state;

	for (size_t i = 0; i < 4; i++)
		scratch_directory(names[i]);
	scratch_text("f.egg-info", "Name: f\nVersion: 2\n");
	assert_int_equal(symlink("nowhere", "link.dist-info"), 0);
	scratch_directory("EGG-INFO");
	scratch_directory("a.dist-info.bak");
	scratch_directory("package");
	scratch_directory("x.egg");
	scan(f, ".");
	assert_int_equal(f->root.kind, ROOT_DIRECTORY);
	assert_int_equal(f->root.distribution_count, 6);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		find(f, names[i]);
	assert_slice(find(f, "f.egg-info")->version, "2");
	assert_true(find(f, "f.egg-info")->has_metadata);
	assert_false(find(f, "link.dist-info")->has_metadata);
	assert_false(slice_is_null(find(f, ".dist-info")->error)); /* it has no name */
	assert_int_equal(f->root.broken, 2);                       /* and C has no METADATA */
	f->options.egg_base = SLICE("/somewhere/x.egg");
	scan(f, ".");
	assert_int_equal(f->root.distribution_count, 7);
	assert_int_equal(find(f, "EGG-INFO")->position, 6);
}

static void test_one_distribution(void **state)
{
	struct fixture *f = *state;
	const struct distribution_record *d;

	scratch_text("My.Pkg-1.0.dist-info/METADATA", "Name: My.Pkg\nVersion: 1.0\n\nName: body\n");
	scratch_text("My.Pkg-1.0.dist-info/entry_points.txt",
	             "x = before any section\n[g]\nn = m.o:a.b [e-1, f]\nbad = a b\n");
	scratch_text("My.Pkg-1.0.dist-info/RECORD",
	             "My.Pkg-1.0.dist-info/entry_points.txt,sha256=abc,10\n");
	scan(f, ".");
	d = find(f, "My.Pkg-1.0.dist-info");
	assert_slice(d->normalized_name, "my_pkg");
	assert_slice(d->name, "My.Pkg");
	assert_slice(d->version, "1.0");
	assert_slice(d->error, NULL);
	assert_slice(d->record_sha256, "sha256=abc");
	assert_true(d->has_metadata && d->settled && !d->watched && !d->reused);
	assert_int_equal(d->entry_point_count, 2);
	assert_slice(d->entry_points[0].group, "g");
	assert_slice(d->entry_points[0].name, "n");
	assert_slice(d->entry_points[0].module, "m.o");
	assert_slice(d->entry_points[0].attr, "a.b");
	assert_slice(d->entry_points[0].extras, "e,1,f");
	assert_int_equal(d->entry_points[0].target->state, TARGET_MISSING);
	assert_slice(d->entry_points[1].value, "a b");
	assert_slice(d->entry_points[1].module, NULL);
	assert_true(f->root.settled);
}

static void test_broken(void **state)
{
	static const struct {
		const char *directory, *text, *part;
	} rows[] = {
	        {"a.dist-info", "[g]\nno value\n", "line 2"},
	        {"b.dist-info", "[g]\nn = \xff\n", "UTF-8"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < 2; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/entry_points.txt", rows[i].directory);
		scratch_text(path, rows[i].text);
	}
	scratch_directory("c.dist-info/entry_points.txt"); /* absent to importlib.metadata */
	scratch_directory("d.dist-info");
	assert_int_equal(symlink("entry_points.txt", "d.dist-info/entry_points.txt"), 0);
	assert_int_equal(mkdir("e.dist-info", 0755), 0);
	assert_int_equal(mkfifo("e.dist-info/entry_points.txt", 0644), 0); /* must not block */
	scan(f, ".");
	for (size_t i = 0; i < 2; i++)
		assert_non_null(strstr(find(f, rows[i].directory)->error.ptr, rows[i].part));
	assert_slice(find(f, "c.dist-info")->error, NULL);
	assert_non_null(strstr(find(f, "d.dist-info")->error.ptr, strerror(ELOOP)));
	assert_false(slice_is_null(find(f, "e.dist-info")->error));
	assert_int_equal(f->root.broken, 4);
}

static void test_too_large(void **state)
{
	struct fixture *f = *state;
	int fd;

	scratch_directory("a.dist-info");
	fd = open("a.dist-info/entry_points.txt", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 100 << 20), 0);
	close(fd);
	scan(f, ".");
	assert_non_null(strstr(find(f, "a.dist-info")->error.ptr, "the limit is"));
}

static void test_absent(void **state)
{
	struct fixture *f = *state;

	scratch_text("text", "no zip");
	assert_int_equal(mkfifo("fifo", 0644), 0);
	scan(f, "absent");
	assert_int_equal(f->root.kind, ROOT_ABSENT);
	scan(f, "text");
	assert_int_equal(f->root.kind, ROOT_ABSENT);
	scan(f, "fifo");
	assert_int_equal(f->root.kind, ROOT_ABSENT);
	assert_int_equal(f->root.distribution_count, 0);
}

/* --- order --- */

static void test_positions(void **state)
{
	static struct tree_file files[] = {
	        {{"Foo-1.dist-info/x", 17}, {"", 0}}, {{"mm-1.dist-info/x", 16}, {"", 0}},
	        {{"FOO-3.egg-info/x", 16}, {"", 0}},  {{"zz-1.dist-info/x", 16}, {"", 0}},
	        {{"f.o-1.dist-info/x", 17}, {"", 0}}, {{"f_o-2.dist-info/x", 17}, {"", 0}},
	        {{"f-o.dist-info/x", 15}, {"", 0}},
	};
	/* Distributions of one name are consecutive, at the position of the first; "f-o" belongs to
	 * "f". */
	static const char *const order[] = {"Foo-1.dist-info", "FOO-3.egg-info",  "mm-1.dist-info",
	                                    "zz-1.dist-info",  "f.o-1.dist-info", "f_o-2.dist-info",
	                                    "f-o.dist-info"};
	struct fixture *f = *state;

	assert_int_equal(tree_open_memory(files, 7, &f->tree, &f->error), 0);
	assert_int_equal(scan_tree(f->tree, &f->options, &f->root, &f->error), 0);
	assert_int_equal(f->root.distribution_count, 7);
	assert_int_equal(f->root.kind, ROOT_ARCHIVE);
	for (size_t i = 0; i < 7; i++) {
		assert_slice(f->root.distributions[i].directory, order[i]);
		assert_true(i == 0 || f->root.distributions[i - 1].position <
		                              f->root.distributions[i].position);
	}
}

/* --- thousands of distributions in one archive --- */

/* A zip under construction, without compression. */
struct zip_file {
	FILE *stream, *directory;
	char *records;
	size_t size;
};

static void put_number(FILE *stream, unsigned long value, int size)
{
	for (; size > 0; size--, value >>= 8)
		putc((int)(value & 0xff), stream);
}

/* The fields common to both headers, from the flags to the length of the name. */
static void put_header(FILE *stream, const char *name, const char *text)
{
	put_number(stream, 0, 8);
	put_number(stream, crc32(0, (const Bytef *)text, (uInt)strlen(text)), 4);
	put_number(stream, strlen(text), 4);
	put_number(stream, strlen(text), 4);
	put_number(stream, strlen(name), 2);
	put_number(stream, 0, 2);
}

static void add_to_zip(struct zip_file *zip, const char *name, const char *text)
{
	long offset = ftell(zip->stream);

	fwrite("PK\3\4\24\0", 1, 6, zip->stream);
	put_header(zip->stream, name, text);
	fprintf(zip->stream, "%s%s", name, text);
	fwrite("PK\1\2\24\3\24\0", 1, 8, zip->directory);
	put_header(zip->directory, name, text);
	put_number(zip->directory, 0, 10);
	put_number(zip->directory, (unsigned long)offset, 4);
	fprintf(zip->directory, "%s", name);
}

static void finish_zip(struct zip_file *zip)
{
	long offset = ftell(zip->stream);

	fclose(zip->directory);
	fwrite(zip->records, 1, zip->size, zip->stream);
	fwrite("PK\5\6\0\0\0\0\0\0\0\0", 1, 12, zip->stream);
	put_number(zip->stream, zip->size, 4);
	put_number(zip->stream, (unsigned long)offset, 4);
	put_number(zip->stream, 0, 2);
	assert_int_equal(fclose(zip->stream), 0);
	free(zip->records);
}

static void add_distribution(struct zip_file *zip, const char *stem, const char *value)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "%s.dist-info/METADATA", stem);
	snprintf(text, sizeof(text), "Name: %s\n", stem);
	add_to_zip(zip, path, text);
	snprintf(path, sizeof(path), "%s.dist-info/entry_points.txt", stem);
	snprintf(text, sizeof(text), "[g]\nn = %s\n", value);
	add_to_zip(zip, path, text);
}

/* Two members of the same name, and a directory without a member of its own. */
static void add_odd_ones(struct zip_file *zip, const char *twice, const char *deep)
{
	char path[64];

	add_distribution(zip, twice, "first");
	add_distribution(zip, twice, "last");
	snprintf(path, sizeof(path), "%s.egg-info/PKG-INFO/x", deep);
	add_to_zip(zip, path, "");
}

static void make_large_zip(const char *path)
{
	struct zip_file zip = {.stream = fopen(path, "wb")};
	char stem[32];

	zip.directory = open_memstream(&zip.records, &zip.size);
	assert_true(zip.stream && zip.directory);
	add_odd_ones(&zip, "early", "early");
	for (int i = 0; i < MANY; i++) {
		snprintf(stem, sizeof(stem), "d%d", i);
		add_distribution(&zip, stem, stem);
	}
	add_odd_ones(&zip, "late", "late");
	finish_zip(&zip);
}

static void assert_only_entry_point(const struct distribution_record *d, const char *value)
{
	assert_int_equal(d->entry_point_count, 1);
	assert_slice(d->entry_points[0].value, value);
	assert_int_equal(d->entry_points[0].target->state, TARGET_MISSING);
}

/* The result is the same when the zip is traversed, as at first, and when an index is used. */
static void test_large_zip(void **state)
{
	struct fixture *f = *state;

	make_large_zip("large.zip");
	scan(f, "large.zip");
	assert_int_equal(f->root.kind, ROOT_ZIP);
	assert_int_equal(f->root.distribution_count, MANY + 4);
	assert_only_entry_point(find(f, "early.dist-info"), "last");
	assert_only_entry_point(find(f, "late.dist-info"), "last");
	assert_only_entry_point(find(f, "d12345.dist-info"), "d12345");
	assert_slice(find(f, "d12345.dist-info")->name, "d12345");
	assert_true(find(f, "early.egg-info")->has_metadata);
	assert_true(find(f, "late.egg-info")->has_metadata);
}

static struct slice format_path(struct arena *arena, int number, const char *file)
{
	char text[64];
	bool failed = false;

	snprintf(text, sizeof(text), "top/d%d.dist-info/%s", number, file);
	return arena_copy(arena, slice_of(text), &failed);
}

/* One file of each was not kept; of two with the same name the last counts, as in a zip. */
static void test_large_archive(void **state)
{
	struct tree_file *files = calloc(MANY, 4 * sizeof(*files));
	struct fixture *f = *state;
	struct arena arena = ARENA_INIT;

	for (int i = 0; i < MANY; i++) {
		struct slice path = format_path(&arena, i, "entry_points.txt");

		files[4 * i] = (struct tree_file){path, {0}};
		files[4 * i + 1] = (struct tree_file){path, SLICE("[g]\nn = first\n")};
		files[4 * i + 2] = (struct tree_file){path, SLICE("[g]\nn = last\n")};
		files[4 * i + 3] = (struct tree_file){format_path(&arena, i, "PKG-INFO"),
		                                      SLICE("Version: 1\n")};
	}
	assert_int_equal(tree_open_memory(files, 4 * MANY, &f->tree, &f->error), 0);
	assert_int_equal(scan_tree(f->tree, &f->options, &f->root, &f->error), 0);
	assert_int_equal(f->root.distribution_count, MANY);
	for (size_t i = 0; i < MANY; i++) {
		assert_only_entry_point(&f->root.distributions[i], "last");
		assert_slice(f->root.distributions[i].version, "1");
		assert_true(f->root.distributions[i].has_metadata);
	}
	arena_free(&arena);
	free(files);
}

/* --- known rows --- */

static void test_reuse(void **state)
{
	struct fixture *f = *state;

	scratch_text("a-1.dist-info/METADATA", "Name: a\n");
	scratch_text("a-1.dist-info/entry_points.txt", "[g]\nn = m\n");
	scratch_text("b-1.dist-info/entry_points.txt", "[g]\nn = m\n");
	scratch_text("c-1.dist-info/entry_points.txt", "[g]\nn = m\n");
	assert_int_equal(scan_path(".", &f->options, &f->again, &f->error), 0);
	for (size_t i = 0; i < 3; i++)
		f->again.distributions[i].id = (int64_t)i + 100;
	f->options.known = &f->again;
	scratch_text("b-1.dist-info/entry_points.txt", "[g]\nn = changed\n");
	assert_int_equal(rename("c-1.dist-info", "c-2.dist-info"), 0);
	f->options.now.tv_sec += 10;
	scan(f, ".");
	assert_true(find(f, "a-1.dist-info")->reused);
	assert_true(find(f, "a-1.dist-info")->id >= 100);
	assert_false(find(f, "b-1.dist-info")->reused);
	assert_true(find(f, "b-1.dist-info")->id >= 100); /* same row, to be written again */
	assert_slice(find(f, "b-1.dist-info")->entry_points[0].value, "changed");
	assert_false(find(f, "c-2.dist-info")->reused);
	assert_int_equal(find(f, "c-2.dist-info")->id, 0);
}

static void test_not_settled(void **state)
{
	struct fixture *f = *state;

	scratch_text("a-1.dist-info/entry_points.txt", "[g]\nn = m\n");
	f->options.now = (struct timespec){0};
	assert_int_equal(scan_path(".", &f->options, &f->again, &f->error), 0);
	assert_false(f->again.settled);
	assert_false(f->again.distributions[0].settled);
	f->options.known = &f->again;
	scan(f, ".");
	assert_false(find(f, "a-1.dist-info")->reused);
}

static void test_no_times(void **state)
{
	struct fixture *f = *state;
	struct tree *tree;
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(tree_open_directory(fd, (struct stamp){.inode = 1}, &tree, NULL), 0);
	assert_int_equal(scan_tree(tree, &f->options, &f->root, &f->error), 0);
	tree_close(tree);
	assert_false(f->root.settled);
}

/* A clock that advances only when it is waited for. */
struct clock {
	int64_t now; /* nanoseconds since 1970 */
	unsigned waits;
	bool broken; /* it never advances */
};

static struct timespec clock_past(void *payload, int64_t time)
{
	struct clock *clock = payload;

	clock->waits += time > 0;
	if (!clock->broken && clock->now <= time)
		clock->now = time + 1;
	return (struct timespec){clock->now / NANOSECONDS, clock->now % NANOSECONDS};
}

/* @times: the times of the distributions' entry points; the clock of the scan begins at 0. */
static void scan_at(struct fixture *f, struct clock *clock, const int times[3])
{
	const char *const files[] = {"a-1.dist-info/entry_points.txt",
	                             "b-1.dist-info/entry_points.txt",
	                             "c-1.dist-info/entry_points.txt"};
	int64_t future = (time(NULL) + 1000) * NANOSECONDS + 500;

	for (size_t i = 0; i < 3; i++) {
		struct timespec when = {future / NANOSECONDS, 500 + times[i]};

		scratch_text(files[i], "[g]\nn = m\n");
		assert_int_equal(utimensat(AT_FDCWD, files[i], (struct timespec[]){when, when}, 0),
		                 0);
	}
	clock->now = future;
	f->options.now_after = clock_past;
	f->options.payload = clock;
	scan(f, ".");
}

/* Changes within the current tick are trusted once the tick is over. */
static void test_tick_is_waited_for(void **state)
{
	struct fixture *f = *state;
	struct clock clock = {0};

	scan_at(f, &clock, (int[]){-1, -1, -1});
	assert_int_equal(clock.waits, 0);
	assert_true(f->root.settled);
	scan_at(f, &clock, (int[]){0, 0, -1});
	assert_int_equal(clock.waits, 1);
	assert_true(f->root.settled);
	scan_at(f, &clock, (int[]){0, 100, 200});
	assert_in_range(clock.waits, 2, 4); /* depends on the order of the names */
	assert_true(f->root.settled);
	clock.waits = 0;
	clock.broken = true;
	scan_at(f, &clock, (int[]){0, 100, -1});
	assert_int_equal(clock.waits, 2);
	assert_false(f->root.settled);
	assert_true(find(f, "c-1.dist-info")->settled);
	assert_false(find(f, "a-1.dist-info")->settled);
}

static void test_watched(void **state)
{
	struct fixture *f = *state;

	scratch_directory("plain.dist-info");
	scratch_text("a.dist-info/METADATA", "Name: a\n");
	scratch_text("a.dist-info/direct_url.json", "{\"dir_info\": {\"editable\": true}}");
	scratch_text("b.dist-info/METADATA", "Name: b\n");
	scratch_text("b.dist-info/direct_url.json", "{\"archive_info\": {}}");
	scratch_text("c.egg-info/PKG-INFO", "Name: c\n");
	scan(f, ".");
	assert_true(find(f, "a.dist-info")->watched);
	assert_false(find(f, "b.dist-info")->watched);
	assert_false(find(f, "c.egg-info")->watched);
	assert_true(find(f, "plain.dist-info")->watched); /* METADATA may still follow */
	assert_int_equal(f->root.watched, 2);
	f->options.in_place = true;
	scan(f, ".");
	assert_true(find(f, "c.egg-info")->watched);
}

/* --- interruption --- */

static int interrupt(void *payload, size_t done, size_t total)
{
	size_t *calls = payload;

	assert_true(done < total);
	return ++*calls == 2;
}

static void test_interrupted(void **state)
{
	struct fixture *f = *state;
	size_t calls = 0;
	char name[32];

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "d%d.dist-info", i);
		assert_int_equal(mkdir(name, 0755), 0);
	}
	f->options.on_progress = interrupt;
	f->options.payload = &calls;
	assert_int_equal(scan_path(".", &f->options, &f->root, &f->error), ERROR_IO);
	assert_int_equal(calls, 2);
	assert_non_null(strstr(error_text(&f->error), "interrupted"));
}

RUN_TESTS(TEST(test_children), TEST(test_one_distribution), TEST(test_broken), TEST(test_too_large),
          TEST(test_absent), TEST(test_positions), TEST(test_large_zip), TEST(test_large_archive),
          TEST(test_reuse), TEST(test_not_settled), TEST(test_no_times),
          TEST(test_tick_is_waited_for), TEST(test_watched), TEST(test_interrupted))
