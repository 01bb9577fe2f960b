/*
 * ask.c - makes every possible query of a handle.
 */
#include "tests/fuzz/ask.h"

#include <stdint.h>
#include <stdlib.h>

#include "db/document.h"
#include "db/reader.h"
#include "db/writer.h"
#include "libquery/entrydb.h"

#define ROWS_MAX 1000 /* that are read */

static volatile size_t touched; /* so that every returned byte is read */

static void touch(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		touched += (unsigned char)text.ptr[i];
}

/* --- the reader --- */

static int each_problem(void *payload, struct distribution_record *problem)
{
	(void)payload;
	touch(problem->directory);
	touch(problem->error);
	touch(problem->normalized_name);
	return 0;
}

static int each_holder(void *payload, struct distribution_record *holder)
{
	(void)payload;
	touch(holder->directory);
	return 0;
}

static int each_event(void *payload, const struct event_record *event)
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
				touch(slice_of(
				        target_kinds.all[row->entry_points[j].target->kind]));
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

	if (reader_select(reader, false, (struct slice){0}, (struct slice){0}, NULL) < 0)
		return;
	while (count++ < ROWS_MAX && reader_next(reader, &row, NULL) > 0) {
		touch(row.entry_point.group);
		touch(row.entry_point.value);
		touch(row.distribution.directory);
		if (reader_target(reader, row.id, &target, NULL) > 0)
			touch(target.object);
	}
}

void ask_reader(const char *file)
{
	struct error error = {0};
	struct reader *reader = NULL;
	FILE *nowhere = fopen("/dev/null", "w");
	size_t rows;

	if (nowhere && reader_open(file, (uid_t)-1, &reader, &error) == 0) {
		reader_roots(reader, each_root, reader, &error);
		select_all(reader);
		reader_named(reader, SLICE("d1"), each_holder, NULL, &error);
		reader_events(reader, each_event, NULL, &error);
		document_write(reader, nowhere, &rows, &error);
	}
	if (nowhere)
		fclose(nowhere);
	if (error.code < 0)
		touch(slice_of(error_text(&error)));
	reader_close(reader);
	error_clear(&error);
}

/* --- the writer, without publishing --- */

static int touch_root(void *payload, const struct root_record *root)
{
	(void)payload;
	touch(root->path);
	return 0;
}

void ask_writer(const char *file)
{
	struct writer_options options = {.file = file, .command = "fuzz", .may_replace = true};
	struct root_record root = {0};
	struct writer *writer = NULL;

	if (writer_open(&options, &writer, NULL) == 0) {
		reader_roots(writer_reader(writer), touch_root, NULL, NULL);
		writer_find_root(writer, SLICE("lib/python3.12/site-packages"), &root, NULL);
		writer_drop_root(writer, 1, NULL);
	}
	root_record_free(&root);
	writer_close(writer);
}

/* --- the library --- */

static void tell(entrydb *db, const entrydb_set *set)
{
	for (size_t i = 0; i < entrydb_set_count(set); i++) {
		const entrydb_entry_point *entry = entrydb_set_get(set, i);
		entrydb_target *target;

		for (int field = 0; field <= ENTRYDB_FIELD_SHADOWED_BY; field++)
			touch(slice_of(
			        entrydb_entry_point_text(entry, (enum entrydb_field)field, NULL)));
		if (i < ROWS_MAX && entrydb_resolve(db, entry, &target, NULL) == 0) {
			touch(slice_of(entrydb_kind_name(entrydb_target_kind(target))));
			touch(slice_of(entrydb_state_name(entrydb_target_state(target))));
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

void ask_library(const char *file)
{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	entrydb *db;

	options.sysroot = "/nowhere";
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
