/*
 * test_no_memory.c - the library without memory: each allocation in turn fails, alone or with all
 * later ones. A query is answered correctly or fails with ENTRYDB_ENOMEM, and the same handle
 * answers it once there is memory again.
 */
#include <time.h>

#include "db/writer.h"
#include "faults.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/entrydb.h"
#include "scratch.h"

#define SITE     "venv/lib/python3.12/site-packages"
#define OTHER    "other/lib/python3.12/site-packages"
#define DATABASE "venv/var/lib/entrydb/entry_points.db"
#define STRIDE   11 /* step between failures that persist: there are as many as allocations */

struct fixture {
	entrydb *db;
	entrydb_set *set;
	entrydb_target *target;
	entrydb_error error;
	enum entrydb_rules rules;
	struct root_record root;
	struct writer *writer;
	char *expected, *answer;
};

/* --- two path entries with every kind of content --- */

static void distribution(const char *directory, const char *metadata, const char *entry_points)
{
	char path[SCRATCH_PATH];

	snprintf(path, sizeof(path), "%s/entry_points.txt", directory);
	scratch_text(path, entry_points);
	snprintf(path, sizeof(path), "%s/METADATA", directory);
	if (metadata)
		scratch_text(path, metadata);
}

static void make_sites(void)
{
	distribution(SITE "/a-1.dist-info", "Name: A\nVersion: 1\n", "[g]\nn = m:a [x,y]\no = m\n");
	distribution(SITE "/late-1.dist-info", NULL, "[g]\nlate = m\n");
	distribution(SITE "/broken-1.dist-info", "Name: b\n", "[g]\nno value\n");
	distribution(SITE "/UPPER.DIST-INFO", "Name: upper\nVersion: 2\n",
	             "[g]\nu = native:entry\n");
	distribution(SITE "/edit-1.dist-info", "Name: e\n", "[g]\ne = m\n");
	scratch_text(SITE "/edit-1.dist-info/direct_url.json",
	             "{\"dir_info\": {\"editable\": true}}");
	scratch_text(SITE "/a-1.dist-info/RECORD", "m.py,sha256=x,1\na-1.dist-info/RECORD,,\n");
	scratch_text(SITE "/m.py", "");
	distribution(OTHER "/A-0.egg-info", "Name: A\n", "[g]\nn = old\n");
	distribution(OTHER "/late-0.dist-info", "Name: late\n", "[g]\nlate = old\n");
	scratch_text(OTHER "/file.egg-info", "Name: file\n");
}

static int setup(void **state)
{
	scratch_fixture(state, sizeof(struct fixture));
	make_sites();
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	entrydb_target_free(f->target);
	entrydb_set_free(f->set);
	entrydb_close(f->db);
	entrydb_error_clear(&f->error);
	writer_close(f->writer);
	root_record_free(&f->root);
	free(f->expected);
	free(f->answer);
	return scratch_teardown(state);
}

/* Index like `entrydb update` some seconds later: all rows are trusted. */
static void update(struct fixture *f)
{
	struct writer_options how = {.file = DATABASE, .may_replace = true};
	struct scan_options options = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA,
	        .targets = target_records,
	        .now = {time(NULL) + 10, 1},
	};

	assert_int_equal(writer_open(&how, &f->writer, NULL), 0);
	assert_int_equal(scan_path(SITE, &options, &f->root, NULL), 0);
	f->root.path = SLICE("lib/python3.12/site-packages");
	assert_int_equal(writer_put_root(f->writer, &f->root, NULL), 0);
	for (size_t i = 0; i < f->root.distribution_count; i++)
		assert_int_equal(writer_put_distribution(f->writer, &f->root,
		                                         &f->root.distributions[i], NULL),
		                 0);
	assert_int_equal(writer_commit(f->writer, 0644, NULL), 0);
	writer_close(f->writer);
	f->writer = NULL;
}

/* --- the queries --- */

static int open_handle(struct fixture *f)
{
	const char *path[] = {scratch_path(SITE), scratch_path(OTHER), "absent", ""};
	entrydb_options options = ENTRYDB_OPTIONS_INIT;

	options.rules = f->rules;
	return entrydb_open(path, 4, &options, &f->db, &f->error);
}

static int resolve_all(struct fixture *f)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < entrydb_set_count(f->set); i++) {
		entrydb_target_free(f->target);
		f->target = NULL;
		code = entrydb_resolve(f->db, entrydb_set_get(f->set, i), &f->target, &f->error);
	}
	return code;
}

static int ask(struct fixture *f)
{
	entrydb_path *path = NULL;
	int code;

	entrydb_set_free(f->set);
	f->set = NULL;
	code = entrydb_describe_path(f->db, &path, &f->error);
	entrydb_path_free(path);
	if (code == 0)
		code = entrydb_explain(f->db, "g", NULL, &f->set, &f->error);
	return code == 0 ? resolve_all(f) : code;
}

static void tell(struct fixture *f)
{
	size_t size;
	FILE *stream;

	free(f->answer);
	stream = open_memstream(&f->answer, &size);
	for (size_t i = 0; i < entrydb_set_count(f->set); i++) {
		for (int field = 0; field <= ENTRYDB_FIELD_SHADOWED_BY; field++) {
			const char *text = entrydb_entry_point_text(
			        entrydb_set_get(f->set, i), (enum entrydb_field)field, NULL);

			fprintf(stream, "%s|", text ? text : "-");
		}
		putc('\n', stream);
	}
	for (size_t i = 0; i < entrydb_set_problem_count(f->set); i++)
		fprintf(stream, "%s\n", entrydb_set_problem(f->set, i));
	fprintf(stream, "%d %d\n", (int)entrydb_target_kind(f->target),
	        (int)entrydb_target_state(f->target));
	fclose(stream);
}

static void forget_handle(struct fixture *f)
{
	entrydb_set_free(f->set);
	entrydb_target_free(f->target);
	entrydb_close(f->db);
	entrydb_error_clear(&f->error);
	f->set = NULL;
	f->target = NULL;
	f->db = NULL;
}

/* --- failures --- */

static void check_answer(struct fixture *f, long at, const char *when)
{
	tell(f);
	if (strcmp(f->answer, f->expected) != 0) {
		fprintf(stderr, "%sinstead of\n%s", f->answer, f->expected);
		fail_msg("wrong %s failure %ld", when, at);
	}
}

static bool fail_at(struct fixture *f, long at, bool stay)
{
	bool struck;
	int code;

	faults_begin(FAULT_MEMORY, at, stay);
	code = open_handle(f);
	if (code == 0)
		code = ask(f);
	struck = faults_end();
	if (code < 0) {
		if (code != ENTRYDB_ENOMEM || f->error.code != code)
			fail_msg("failure %ld gives %d (%d): %s", at, code, f->error.code,
			         entrydb_error_message(&f->error));
	} else {
		check_answer(f, at, "at");
	}
	if (f->db) {
		assert_int_equal(ask(f), 0);
		check_answer(f, at, "after");
	}
	forget_handle(f);
	return struck;
}

static void expect(struct fixture *f)
{
	if (open_handle(f) < 0 || ask(f) < 0)
		fail_msg("%s", entrydb_error_message(&f->error));
	tell(f);
	free(f->expected);
	f->expected = f->answer;
	f->answer = NULL;
	forget_handle(f);
}

static void fail_in_turn(struct fixture *f)
{
	long at = 0;

	expect(f);
	while (fail_at(f, at++, false))
		;
	for (at = 0; fail_at(f, at, true); at += STRIDE)
		;
}

static void test_not_indexed(void **state)
{
	fail_in_turn(*state);
}

static void test_indexed(void **state)
{
	update(*state);
	fail_in_turn(*state);
}

/* Unchanged distributions are taken from the database. */
static void test_changed_since(void **state)
{
	struct fixture *f = *state;

	update(f);
	distribution(SITE "/new-1.dist-info", "Name: new\n", "[g]\nnew = m\n");
	fail_in_turn(f);
	f->rules = ENTRYDB_IM_10_1;
	fail_in_turn(f);
}

static void test_edited_in_place(void **state)
{
	struct fixture *f = *state;

	update(f);
	distribution(SITE "/edit-1.dist-info", "Name: edited\n", "[g]\nedited = m\n");
	fail_in_turn(f);
}

RUN_TESTS_AFTER(faults_install(), TEST(test_not_indexed), TEST(test_indexed),
                TEST(test_changed_since), TEST(test_edited_in_place))
