/*
 * tables.h - the columns of each table and of each selection, and the members of the records
 * (record.h) that they are read into and bound from.
 *
 * A list gives each column its text in SQL, the type of the member, and the member. From it are
 * made the text of the statements and a map: tables.c.
 */
#ifndef DB_TABLES_H
#define DB_TABLES_H

#include "db/record.h"
#include "db/sql.h"

#define ROOT_COLUMNS(FIRST, NEXT)                                                                  \
	FIRST("id", INT64, id)                                                                     \
	NEXT("path", TEXT, path)                                                                   \
	NEXT("kind", ROOT_KIND, kind)                                                              \
	NEXT("mtime", INT64, stamp.mtime)                                                          \
	NEXT("ctime", INT64, stamp.ctime)                                                          \
	NEXT("inode", INT64, stamp.inode)                                                          \
	NEXT("settled", BOOL, settled)                                                             \
	NEXT("distributions", SIZE, distribution_count)                                            \
	NEXT("broken", UINT32, broken)                                                             \
	NEXT("watched", UINT32, watched)                                                           \
	NEXT("size", KNOWN, size)                                                                  \
	NEXT("kinds", INT64, kinds)

#define DISTRIBUTION_COLUMNS(FIRST, NEXT)                                                          \
	FIRST("id", INT64, id)                                                                     \
	NEXT("directory", NEEDED, directory)                                                       \
	NEXT("position", UINT32, position)                                                         \
	NEXT("normalized_name", TEXT, normalized_name)                                             \
	NEXT("name", TEXT, name)                                                                   \
	NEXT("version", TEXT, version)                                                             \
	NEXT("error", TEXT, error)                                                                 \
	NEXT("record_sha256", TEXT, record_sha256)                                                 \
	NEXT("has_metadata", BOOL, has_metadata)                                                   \
	NEXT("watched", WATCHED, id)                                                               \
	NEXT("settled", BOOL, settled)                                                             \
	NEXT("directory_stamp", INT64, directory_stamp)                                            \
	NEXT("files_stamp", INT64, files_stamp)                                                    \
	NEXT("entry_points_size", OUTLINE_SIZE, entry_points_txt)                                  \
	NEXT("entry_points_mtime", OUTLINE_TIME, entry_points_txt)                                 \
	NEXT("metadata_size", OUTLINE_SIZE, metadata)                                              \
	NEXT("metadata_mtime", OUTLINE_TIME, metadata)

/* What changes in a row that holds, as SQL_ANCHOR_DISTRIBUTION spells it. */
#define ANCHORED_COLUMNS(FIRST, NEXT)                                                              \
	FIRST("position", UINT32, position)                                                        \
	NEXT("settled", BOOL, settled)                                                             \
	NEXT("watched", WATCHED, id)                                                               \
	NEXT("directory_stamp", INT64, directory_stamp)                                            \
	NEXT("files_stamp", INT64, files_stamp)                                                    \
	NEXT("entry_points_size", OUTLINE_SIZE, entry_points_txt)                                  \
	NEXT("entry_points_mtime", OUTLINE_TIME, entry_points_txt)                                 \
	NEXT("metadata_size", OUTLINE_SIZE, metadata)                                              \
	NEXT("metadata_mtime", OUTLINE_TIME, metadata)

/* What somebody wants who lists distributions and their entry points. */
#define LISTED_COLUMNS(FIRST, NEXT)                                                                \
	FIRST("id", INT64, id)                                                                     \
	NEXT("directory", NEEDED, directory)                                                       \
	NEXT("position", UINT32, position)                                                         \
	NEXT("name", TEXT, name)                                                                   \
	NEXT("version", TEXT, version)                                                             \
	NEXT("error", TEXT, error)

#define ENTRY_POINT_COLUMNS(FIRST, NEXT)                                                           \
	FIRST("group_name", NEEDED, group)                                                         \
	NEXT("name", NEEDED, name)                                                                 \
	NEXT("value", NEEDED, value)                                                               \
	NEXT("module", TEXT, module)                                                               \
	NEXT("attr", TEXT, attr)                                                                   \
	NEXT("extras", TEXT, extras)

#define PLUGIN_COLUMNS(FIRST, NEXT)                                                                \
	FIRST("plugin_kind", NEEDED, kind)                                                         \
	NEXT("name", NEEDED, name)

#define TARGET_COLUMNS(FIRST, NEXT)                                                                \
	FIRST("kind", TARGET_KIND, kind)                                                           \
	NEXT("state", TARGET_STATE, state)                                                         \
	NEXT("object", TEXT, object)                                                               \
	NEXT("symbol", TEXT, symbol)                                                               \
	NEXT("machine", KNOWN32, machine)                                                          \
	NEXT("build_id", TEXT, build_id)                                                           \
	NEXT("sha256", TEXT, sha256)                                                               \
	NEXT("size", KNOWN, size)                                                                  \
	NEXT("glibc", TEXT, glibc)                                                                 \
	NEXT("glibcxx", TEXT, glibcxx)                                                             \
	NEXT("missing", TEXT, missing)                                                             \
	NEXT("undefined", TEXT, undefined)                                                         \
	NEXT("python_by", TEXT, python_by)

#define PUBLICATION_COLUMNS(FIRST, NEXT)                                                           \
	FIRST("inode", INT64, inode)                                                               \
	NEXT("time", INT64, time)                                                                  \
	NEXT("sealed", BOOL, sealed)

#define STARTUP_COLUMNS(FIRST, NEXT)                                                               \
	FIRST("file", NEEDED, file)                                                                \
	NEXT("line", INT64, line)                                                                  \
	NEXT("kind", STARTUP_KIND, kind)                                                           \
	NEXT("code", NEEDED, code)

#define EVENT_COLUMNS(FIRST, NEXT)                                                                 \
	FIRST("time", INT64, time)                                                                 \
	NEXT("action", NEEDED, action)                                                             \
	NEXT("root", NEEDED, root)                                                                 \
	NEXT("distribution", TEXT, distribution)                                                   \
	NEXT("old_version", TEXT, old_version)                                                     \
	NEXT("version", TEXT, version)                                                             \
	NEXT("detail", TEXT, detail)                                                               \
	NEXT("command", TEXT, command)                                                             \
	NEXT("uid", INT64, uid)

/* An entry point, and what is needed to judge it. */
#define SELECTED_COLUMNS(FIRST, NEXT)                                                              \
	FIRST("e.id", INT64, id)                                                                   \
	NEXT("e.group_name", NEEDED, group)                                                        \
	NEXT("e.name", NEEDED, name)                                                               \
	NEXT("e.value", NEEDED, value)                                                             \
	NEXT("e.module", TEXT, module)                                                             \
	NEXT("e.attr", TEXT, attr)                                                                 \
	NEXT("e.extras", TEXT, extras)                                                             \
	NEXT("d.position", UINT32, position)                                                       \
	NEXT("d.contested", BOOL, contested)                                                       \
	NEXT("d.has_metadata", BOOL, has_metadata)                                                 \
	NEXT("d.normalized_name", TEXT, normalized_name)                                           \
	NEXT("d.name", TEXT, distribution)                                                         \
	NEXT("d.version", TEXT, version)                                                           \
	NEXT("d.directory", NEEDED, directory)

#define HOLDER_COLUMNS(FIRST, NEXT)                                                                \
	FIRST("id", INT64, id)                                                                     \
	NEXT("position", UINT32, position)                                                         \
	NEXT("has_metadata", BOOL, has_metadata)                                                   \
	NEXT("directory", NEEDED, directory)

#define PROBLEM_COLUMNS(FIRST, NEXT)                                                               \
	FIRST("id", INT64, id)                                                                     \
	NEXT("position", UINT32, position)                                                         \
	NEXT("has_metadata", BOOL, has_metadata)                                                   \
	NEXT("normalized_name", TEXT, normalized_name)                                             \
	NEXT("directory", NEEDED, directory)                                                       \
	NEXT("error", TEXT, error)

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

/* Copy the texts of a record that was read into @arena; *failed is set without memory. */
void row_keep(const struct table *table, void *record, struct arena *arena, bool *failed);

/* Bind a record to the parameters from number @first on; texts must stay until the step. */
void row_bind(struct sql *sql, sqlite3_stmt *statement, int first, const struct table *table,
              const void *record);

#endif
