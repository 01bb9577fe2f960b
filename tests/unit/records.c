/*
 * records.c - makes and compares records for tests.
 */
#include "records.h"

#include <stdio.h>
#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/reader.h"

/* Like SLICE(), but a constant expression. */
#define TEXT(literal)                                                                              \
	{                                                                                          \
		"" literal, sizeof(literal) - 1                                                    \
	}

static const struct target_record target = {
        .kind = TARGET_NATIVE,
        .state = TARGET_OK,
        .object = TEXT("p/n.so"),
        .symbol = TEXT("entry"),
        .build_id = TEXT("abcd"),
        .sha256 = TEXT("sha256=x"),
        .machine = 62,
        .size = (int64_t)1 << 40,
        .glibc = TEXT("2.34"),
        .glibcxx = TEXT("3.4.30"),
        .missing = TEXT("libnone.so.1 GLIBC_2.99"),
        .undefined = TEXT("host_symbol"),
        .python_by = TEXT("libp.so"),
};

static struct entry_point_record plugins[] = {
        {.group = TEXT("k"), .name = TEXT("plug"), .target = &target},
};

static struct entry_point_record entry_points[] = {
        {.group = TEXT("g"), .name = TEXT("n\0x"), .value = TEXT("not a value")},
        {TEXT("g"), TEXT("native"), TEXT("p.n:entry [x,y]"), TEXT("p.n"), TEXT("entry"),
         TEXT("x,y"), &target},
        {.group = TEXT(""), .name = TEXT(""), .value = TEXT("")},
};

struct root_record records_root(const char *path, size_t count)
{
	static struct distribution_record rows[RECORDS_MAX];
	static char names[RECORDS_MAX][32];

	for (size_t i = 0; i < count; i++) {
		int length = snprintf(names[i], sizeof(names[i]), "d%zu-1.dist-info", i);

		rows[i] = (struct distribution_record){
		        .directory = {names[i], (size_t)length},
		        .position = (uint32_t)(count - i - 1),
		        .normalized_name = {names[i], 2},
		        .name = SLICE("D"),
		        .has_metadata = true,
		        .settled = i % 2 == 0,
		        .directory_stamp = INT64_MIN,
		        .files_stamp = INT64_MAX,
		        .entry_points_txt = {.exists = true, .size = 40, .mtime = -5},
		        .entry_points = i ? entry_points : NULL,
		        .entry_point_count = i ? sizeof(entry_points) / sizeof(*entry_points) : 0,
		        .plugins = i ? plugins : NULL,
		        .plugin_count = i != 0,
		};
	}
	if (count > 2) {
		rows[2].error = SLICE("why it is broken");
		rows[2].normalized_name = SLICE("d1"); /* contested */
		rows[2].version = SLICE("1");
		rows[2].record_sha256 = SLICE("sha256=y");
		rows[2].watched = WATCHED_ALWAYS;
	}
	return (struct root_record){
	        .path = slice_of(path),
	        .kind = ROOT_DIRECTORY,
	        .stamp = {1, 2, 3},
	        .size = 4,
	        .settled = true,
	        .broken = count > 2,
	        .watched = count > 2,
	        .distributions = rows,
	        .distribution_count = count,
	};
}

static int put_root(struct writer *writer, const char *path, size_t count, struct error *error)
{
	struct root_record root = records_root(path, count);
	struct event_record event = {.action = SLICE("index"), .root = slice_of(path)};
	int code = writer_put_root(writer, &root, error);

	for (size_t i = 0; code == 0 && i < count; i++)
		code = writer_put_distribution(writer, &root, &root.distributions[i], error);
	return code < 0 ? code : writer_log(writer, &event, error);
}

int records_store(const char *file, const char *path, size_t count, struct error *error)
{
	struct writer_options options = {.file = file, .command = "test", .may_replace = true};
	CLEANUP(cleanup_writer) struct writer *writer = NULL;
	int code = writer_open(&options, &writer, error);

	if (code == 0)
		code = put_root(writer, path, count, error);
	return code < 0 ? code : writer_commit(writer, 0640, error);
}

/* --- as text --- */

struct dump {
	FILE *stream;
	struct reader *reader;
	struct error *error;
};

static void put(struct dump *dump, struct slice text)
{
	if (slice_is_null(text)) {
		fputs("-|", dump->stream);
		return;
	}
	for (size_t i = 0; i < text.len; i++)
		putc(text.ptr[i] ? text.ptr[i] : '0', dump->stream);
	putc('|', dump->stream);
}

static void put_numbers(struct dump *dump, const int64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fprintf(dump->stream, "%lld|", (long long)numbers[i]);
}

static void put_target(struct dump *dump, const struct target_record *to)
{
	struct target_record copy = *to;
	struct slice *texts[TARGET_TEXTS];

	put(dump, slice_of(target_kinds.all[to->kind]));
	put(dump, slice_of(target_states.all[to->state]));
	target_texts(&copy, texts);
	for (size_t i = 0; i < TARGET_TEXTS; i++)
		put(dump, *texts[i]);
	put_numbers(dump, (int64_t[]){to->machine, to->size}, 2);
}

static void put_entry_point(struct dump *dump, const struct entry_point_record *row)
{
	fputs("    ", dump->stream);
	put(dump, row->group);
	put(dump, row->name);
	put(dump, row->value);
	put(dump, row->module);
	put(dump, row->attr);
	put(dump, row->extras);
	if (row->target)
		put_target(dump, row->target);
	putc('\n', dump->stream);
}

static void put_distribution(struct dump *dump, const struct distribution_record *row)
{
	fputs("  ", dump->stream);
	put(dump, row->directory);
	put(dump, row->normalized_name);
	put(dump, row->name);
	put(dump, row->version);
	put(dump, row->error);
	put(dump, row->record_sha256);
	put_numbers(dump,
	            (int64_t[]){row->id, row->position, row->has_metadata, row->watched,
	                        row->settled, row->directory_stamp, row->files_stamp,
	                        row->entry_points_txt.exists, row->entry_points_txt.size,
	                        row->entry_points_txt.mtime, row->metadata.exists,
	                        row->metadata.size, row->metadata.mtime},
	            13);
	putc('\n', dump->stream);
	for (size_t i = 0; i < row->entry_point_count; i++)
		put_entry_point(dump, &row->entry_points[i]);
	for (size_t i = 0; i < row->plugin_count; i++)
		put_entry_point(dump, &row->plugins[i]);
}

static int put_one_root(void *payload, const struct root_record *root)
{
	struct dump *dump = payload;
	struct root_record copy = *root;
	int code;

	put(dump, root->path);
	put_numbers(dump,
	            (int64_t[]){root->id, root->kind, root->stamp.mtime, root->stamp.ctime,
	                        root->stamp.inode, root->settled, root->broken, root->watched,
	                        (int64_t)root->distribution_count, root->kinds, root->size},
	            11);
	putc('\n', dump->stream);
	code = reader_distributions(dump->reader, &copy, true, dump->error);
	for (size_t i = 0; code == 0 && i < copy.distribution_count; i++)
		put_distribution(dump, &copy.distributions[i]);
	root_record_free(&copy);
	return code;
}

static int put_event(void *payload, const struct event_record *event)
{
	struct dump *dump = payload;

	put(dump, event->action);
	put(dump, event->root);
	put(dump, event->detail);
	put(dump, event->command);
	putc('\n', dump->stream);
	return 0;
}

char *records_dump(const char *file, struct error *error)
{
	struct dump dump = {.error = error};
	char *text = NULL;
	size_t size;
	int code = reader_open(file, (uid_t)-1, &dump.reader, error);

	if (code < 0)
		return NULL;
	dump.stream = open_memstream(&text, &size);
	if (dump.stream) {
		code = reader_roots(dump.reader, put_one_root, &dump, error);
		if (code == 0)
			code = reader_events(dump.reader, put_event, &dump, error);
		fclose(dump.stream);
	}
	reader_close(dump.reader);
	if (code == 0)
		return text;
	free(text);
	return NULL;
}
