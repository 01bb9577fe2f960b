/*
 * fuzz_database.c - no bytes, taken for a database, may do more than give rows or
 * an error: neither to the reader nor to the library on top of it. A root that is
 * not there keeps the disk out of it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "entrydb.h"
#include "reader.h"

#define ROWS_MAX 1000 /* that are looked at */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t touched; /* so that every byte given out is read */

static void touch(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		touched += (unsigned char)text.ptr[i];
}

/* --- the reader --- */

static int each_problem(void *payload, const struct reader_problem *problem)
{
	(void)payload;
	touch(problem->directory);
	touch(problem->error);
	touch(problem->normalized_name);
	return 0;
}

static void each_holder(void *payload, const struct reader_holder *holder)
{
	(void)payload;
	touch(holder->directory);
}

static int each_event(void *payload, const struct reader_event *event)
{
	(void)payload;
	touch(event->action);
	touch(event->detail);
	return 0;
}

static void read_all(const struct root_record *root)
{
	for (size_t i = 0; i < root->distribution_count; i++) {
		const struct distribution_record *row = &root->distributions[i];

		touch(row->directory);
		touch(row->error);
		for (size_t j = 0; j < row->entry_point_count; j++) {
			touch(row->entry_points[j].value);
			if (row->entry_points[j].target)
				touch(row->entry_points[j].target->kind);
		}
	}
}

static int each_root(void *payload, const struct root_record *root)
{
	struct root_record copy = *root, again;
	struct reader *reader = payload;

	touch(root->path);
	if (reader_distributions(reader, &copy, true, NULL) == 0)
		read_all(&copy);
	root_record_free(&copy);
	reader_broken(reader, root->id, each_problem, NULL, NULL);
	reader_root(reader, SLICE("lib/python3.12/site-packages"), &again, NULL);
	return 0;
}

static void select_all(struct reader *reader)
{
	struct target_record target;
	struct reader_row row;
	int count = 0;

	if (reader_select(reader, (struct slice){0}, (struct slice){0}, NULL) < 0)
		return;
	while (count++ < ROWS_MAX && reader_next(reader, &row, NULL) > 0) {
		touch(row.group);
		touch(row.value);
		touch(row.directory);
		if (reader_target(reader, row.id, &target, NULL) > 0)
			touch(target.object);
	}
}

static void read_database(const char *file)
{
	struct error error = {0};
	struct reader *reader = NULL;

	if (reader_open(file, (uid_t)-1, &reader, &error) == 0) {
		reader_roots(reader, each_root, reader, &error);
		select_all(reader);
		reader_holders(reader, SLICE("d1"), each_holder, NULL, &error);
		reader_events(reader, each_event, NULL, &error);
	}
	if (error.code < 0)
		touch(slice_of(error_text(&error)));
	reader_close(reader);
	error_clear(&error);
}

/* --- the library --- */

static void tell(entrydb *db, const entrydb_set *set)
{
	for (size_t i = 0; i < entrydb_set_count(set); i++) {
		const entrydb_entry *entry = entrydb_set_get(set, i);
		entrydb_target *target;

		for (int field = 0; field <= ENTRYDB_SHADOWED_BY; field++)
			touch(slice_of(entrydb_entry_text(entry, (enum entrydb_field)field, NULL)));
		if (i < ROWS_MAX && entrydb_resolve(db, entry, &target, NULL) == 0) {
			touch(slice_of(target->kind));
			touch(slice_of(target->state));
			entrydb_target_free(target);
		}
	}
	for (size_t i = 0; i < entrydb_set_problem_count(set); i++)
		touch(slice_of(entrydb_set_problem(set, i)));
}

static void ask(entrydb *db)
{
	entrydb_set *set;
	void *symbol;

	if (entrydb_explain(db, NULL, NULL, &set, NULL) == 0) {
		tell(db, set);
		if (entrydb_set_count(set) > 0)
			entrydb_load(db, entrydb_set_get(set, 0), &symbol, NULL);
		entrydb_set_free(set);
	}
	if (entrydb_select(db, "g", "native", &set, NULL) == 0)
		entrydb_set_free(set);
}

static void query_database(const char *file)
{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	entrydb *db;

	options.root = "/nowhere";
	for (int fresh = ENTRYDB_FRESH_TRUST; fresh <= ENTRYDB_FRESH_ROOTS; fresh++) {
		options.fresh = (enum entrydb_fresh)fresh;
		options.rules =
		        fresh == ENTRYDB_FRESH_TRUST ? ENTRYDB_IM_10_1 : ENTRYDB_PYTHON_3_10;
		if (entrydb_open_file(file, &options, &db, NULL) == 0) {
			ask(db);
			entrydb_close(db);
		}
	}
}

/* A file with a name, since SQLite asks where a link leads; gone at the end. */
static char file_name[] = "/tmp/fuzz_database_XXXXXX";

static void remove_file(void)
{
	unlink(file_name);
}

static int open_file(void)
{
	int fd = mkstemp(file_name);

	if (fd >= 0)
		atexit(remove_file);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = open_file();
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	read_database(file_name);
	query_database(file_name);
	return 0;
}
