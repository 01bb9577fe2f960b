/*
 * tables.h - the columns of each table and of each selection, and the members of the records
 * (record.h) that they are read into and bound from.
 *
 * A list gives each column its text in SQL, the type of the member, and the member of the struct
 * OF. From it are made the text of the statements and a map: tables.c.
 */
#ifndef DB_TABLES_H
#define DB_TABLES_H

#include "db/record.h"
#include "db/sql.h"

#define ROOT_COLUMNS(FIRST, NEXT, OF)                                                              \
	FIRST(OF, "id", INT64, id)                                                                 \
	NEXT(OF, "path", TEXT, path)                                                               \
	NEXT(OF, "kind", ROOT_KIND, kind)                                                          \
	NEXT(OF, "mtime", INT64, stamp.mtime)                                                      \
	NEXT(OF, "ctime", INT64, stamp.ctime)                                                      \
	NEXT(OF, "inode", INT64, stamp.inode)                                                      \
	NEXT(OF, "settled", BOOL, settled)                                                         \
	NEXT(OF, "distributions", SIZE, distribution_count)                                        \
	NEXT(OF, "broken", UINT32, broken)                                                         \
	NEXT(OF, "watched", UINT32, watched)                                                       \
	NEXT(OF, "size", KNOWN, size)                                                              \
	NEXT(OF, "kinds", INT64, kinds)

#define DISTRIBUTION_COLUMNS(FIRST, NEXT, OF)                                                      \
	FIRST(OF, "id", INT64, id)                                                                 \
	NEXT(OF, "directory", NEEDED, directory)                                                   \
	NEXT(OF, "position", UINT32, position)                                                     \
	NEXT(OF, "normalized_name", TEXT, normalized_name)                                         \
	NEXT(OF, "name", TEXT, name)                                                               \
	NEXT(OF, "version", TEXT, version)                                                         \
	NEXT(OF, "error", TEXT, error)                                                             \
	NEXT(OF, "record_sha256", TEXT, record_sha256)                                             \
	NEXT(OF, "has_metadata", BOOL, has_metadata)                                               \
	NEXT(OF, "watched", WATCHED, id)                                                           \
	NEXT(OF, "settled", BOOL, settled)                                                         \
	NEXT(OF, "directory_stamp", INT64, directory_stamp)                                        \
	NEXT(OF, "files_stamp", INT64, files_stamp)                                                \
	NEXT(OF, "entry_points_size", OUTLINE_SIZE, entry_points_txt)                              \
	NEXT(OF, "entry_points_mtime", OUTLINE_TIME, entry_points_txt)                             \
	NEXT(OF, "metadata_size", OUTLINE_SIZE, metadata)                                          \
	NEXT(OF, "metadata_mtime", OUTLINE_TIME, metadata)

/* What changes in a row that holds, as SQL_ANCHOR_DISTRIBUTION spells it. */
#define ANCHORED_COLUMNS(FIRST, NEXT, OF)                                                          \
	FIRST(OF, "position", UINT32, position)                                                    \
	NEXT(OF, "settled", BOOL, settled)                                                         \
	NEXT(OF, "watched", WATCHED, id)                                                           \
	NEXT(OF, "directory_stamp", INT64, directory_stamp)                                        \
	NEXT(OF, "files_stamp", INT64, files_stamp)                                                \
	NEXT(OF, "entry_points_size", OUTLINE_SIZE, entry_points_txt)                              \
	NEXT(OF, "entry_points_mtime", OUTLINE_TIME, entry_points_txt)                             \
	NEXT(OF, "metadata_size", OUTLINE_SIZE, metadata)                                          \
	NEXT(OF, "metadata_mtime", OUTLINE_TIME, metadata)

/* What somebody wants who lists distributions and their entry points. */
#define LISTED_COLUMNS(FIRST, NEXT, OF)                                                            \
	FIRST(OF, "id", INT64, id)                                                                 \
	NEXT(OF, "directory", NEEDED, directory)                                                   \
	NEXT(OF, "position", UINT32, position)                                                     \
	NEXT(OF, "name", TEXT, name)                                                               \
	NEXT(OF, "version", TEXT, version)                                                         \
	NEXT(OF, "error", TEXT, error)

#define ENTRY_POINT_COLUMNS(FIRST, NEXT, OF)                                                       \
	FIRST(OF, "group_name", NEEDED, group)                                                     \
	NEXT(OF, "name", NEEDED, name)                                                             \
	NEXT(OF, "value", NEEDED, value)                                                           \
	NEXT(OF, "module", TEXT, module)                                                           \
	NEXT(OF, "attr", TEXT, attr)                                                               \
	NEXT(OF, "extras", TEXT, extras)

#define PLUGIN_COLUMNS(FIRST, NEXT, OF)                                                            \
	FIRST(OF, "plugin_kind", NEEDED, kind)                                                     \
	NEXT(OF, "name", NEEDED, name)

#define TARGET_COLUMNS(FIRST, NEXT, OF)                                                            \
	FIRST(OF, "kind", TARGET_KIND, kind)                                                       \
	NEXT(OF, "state", TARGET_STATE, state)                                                     \
	NEXT(OF, "object", TEXT, object)                                                           \
	NEXT(OF, "symbol", TEXT, symbol)                                                           \
	NEXT(OF, "machine", KNOWN32, machine)                                                      \
	NEXT(OF, "build_id", TEXT, build_id)                                                       \
	NEXT(OF, "sha256", TEXT, sha256)                                                           \
	NEXT(OF, "size", KNOWN, size)                                                              \
	NEXT(OF, "glibc", TEXT, glibc)                                                             \
	NEXT(OF, "glibcxx", TEXT, glibcxx)                                                         \
	NEXT(OF, "missing", TEXT, missing)                                                         \
	NEXT(OF, "undefined", TEXT, undefined)                                                     \
	NEXT(OF, "python_by", TEXT, python_by)

#define PUBLICATION_COLUMNS(FIRST, NEXT, OF)                                                       \
	FIRST(OF, "inode", INT64, inode)                                                           \
	NEXT(OF, "time", INT64, time)                                                              \
	NEXT(OF, "sealed", BOOL, sealed)

#define STARTUP_COLUMNS(FIRST, NEXT, OF)                                                           \
	FIRST(OF, "file", NEEDED, file)                                                            \
	NEXT(OF, "line", INT64, line)                                                              \
	NEXT(OF, "kind", STARTUP_KIND, kind)                                                       \
	NEXT(OF, "code", NEEDED, code)

#define EVENT_COLUMNS(FIRST, NEXT, OF)                                                             \
	FIRST(OF, "time", INT64, time)                                                             \
	NEXT(OF, "action", NEEDED, action)                                                         \
	NEXT(OF, "root", NEEDED, root)                                                             \
	NEXT(OF, "distribution", TEXT, distribution)                                               \
	NEXT(OF, "old_version", TEXT, old_version)                                                 \
	NEXT(OF, "version", TEXT, version)                                                         \
	NEXT(OF, "detail", TEXT, detail)                                                           \
	NEXT(OF, "command", TEXT, command)                                                         \
	NEXT(OF, "uid", INT64, uid)

/* An entry point, and what is needed to judge it. */
#define SELECTED_COLUMNS(FIRST, NEXT, OF)                                                          \
	FIRST(OF, "e.id", INT64, id)                                                               \
	NEXT(OF, "e.group_name", NEEDED, entry_point.group)                                        \
	NEXT(OF, "e.name", NEEDED, entry_point.name)                                               \
	NEXT(OF, "e.value", NEEDED, entry_point.value)                                             \
	NEXT(OF, "e.module", TEXT, entry_point.module)                                             \
	NEXT(OF, "e.attr", TEXT, entry_point.attr)                                                 \
	NEXT(OF, "e.extras", TEXT, entry_point.extras)                                             \
	NEXT(OF, "d.position", UINT32, distribution.position)                                      \
	NEXT(OF, "d.contested", BOOL, contested)                                                   \
	NEXT(OF, "d.has_metadata", BOOL, distribution.has_metadata)                                \
	NEXT(OF, "d.normalized_name", TEXT, distribution.normalized_name)                          \
	NEXT(OF, "d.name", TEXT, distribution.name)                                                \
	NEXT(OF, "d.version", TEXT, distribution.version)                                          \
	NEXT(OF, "d.directory", NEEDED, distribution.directory)

#define HOLDER_COLUMNS(FIRST, NEXT, OF)                                                            \
	FIRST(OF, "id", INT64, id)                                                                 \
	NEXT(OF, "position", UINT32, position)                                                     \
	NEXT(OF, "has_metadata", BOOL, has_metadata)                                               \
	NEXT(OF, "directory", NEEDED, directory)

#define PROBLEM_COLUMNS(FIRST, NEXT, OF)                                                           \
	FIRST(OF, "id", INT64, id)                                                                 \
	NEXT(OF, "position", UINT32, position)                                                     \
	NEXT(OF, "has_metadata", BOOL, has_metadata)                                               \
	NEXT(OF, "normalized_name", TEXT, normalized_name)                                         \
	NEXT(OF, "directory", NEEDED, directory)                                                   \
	NEXT(OF, "error", TEXT, error)

/* The columns of one of these lists, in their order, and where they go in its struct. */
struct table {
	const struct column *columns;
	int count;
};

extern const struct table root_table, distribution_table, anchored_table, listed_table,
        entry_point_table, plugin_table, target_table, publication_table, startup_table,
        event_table, selected_table, holder_table, problem_table;

/*
 * Read the columns from number @first on into @record; texts stay until the next step. False for
 * a row that lacks what it must have, or has a word that record.h does not know. What there was
 * no memory for, sql_check_row() tells.
 */
bool row_read(sqlite3_stmt *row, int first, const struct table *table, void *record);

/*
 * Step to the next row and read it: 1; 0 at the end, or a negative code. A row that is not whole
 * is ERROR_FORMAT.
 */
static inline int row_next(struct sql *sql, sqlite3_stmt *row, const struct table *table,
                           void *record, struct error *error)
{
	int code = sql_step(sql, row, error);

	if (code > 0) {
		bool whole = row_read(row, 0, table, record);

		code = sql_check_row(sql, error);
		if (code == 0)
			code = whole ? 1 : sql_damaged(sql, error);
	}
	if (code < 0)
		sqlite3_reset(row);
	return code;
}

/* Copy the texts of a record that was read into @arena; *failed is set without memory. */
void row_keep(const struct table *table, void *record, struct arena *arena, bool *failed);

/* Bind a record to the parameters from number @first on; texts must stay until the step. */
void row_bind(struct sql *sql, sqlite3_stmt *statement, int first, const struct table *table,
              const void *record);

#endif
