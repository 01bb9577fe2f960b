/*
 * tables.h - maps the columns of tables and selections to the members of records (record.h).
 *
 * Each list gives for every column its SQL text, the type and the name of the member, and its
 * struct OF. The SQL statements and the maps in tables.c are generated from these lists.
 * Identifiers always come first and are not in the lists.
 */
#ifndef DB_TABLES_H
#define DB_TABLES_H

#include "db/record.h"
#include "db/sql.h"

/* "id, a, b": the identifier and the columns of a list. */
#define COLUMN_TEXT_OF(of, text, type, member) ", " text
#define COLUMN_MARK_OF(of, text, type, member) ", ?"
#define COLUMNS(id, list)                      id list(COLUMN_TEXT_OF, )

/* Followed by the name of the table. */
#define SELECT_FROM(list) "SELECT " COLUMNS("id", list) " FROM "
#define SELECT_EVENTS     SELECT_FROM(EVENT_COLUMNS) "event ORDER BY id"

/* Parameters: the identifier, or NULL for a new one, then the columns. */
#define PUT(verb, table, id, list)                                                                 \
	verb " INTO " table " (" COLUMNS(id, list) ") VALUES (?" list(COLUMN_MARK_OF, ) ")"

/* Ranges of the identifiers in root ?1, or in distribution ?1. */
#define DISTRIBUTIONS_OF_ROOT        "BETWEEN (?1 << 20) AND (?1 << 20) + 1048575"
#define ENTRY_POINTS_OF_ROOT         "BETWEEN (?1 << 44) AND (?1 << 44) + (1 << 44) - 1"
#define ENTRY_POINTS_OF_DISTRIBUTION "BETWEEN (?1 << 24) AND (?1 << 24) + 16777215"

#define ROOT_COLUMNS(COLUMN, OF)                                                                   \
	COLUMN(OF, "path", TEXT, path)                                                             \
	COLUMN(OF, "kind", ROOT_KIND, kind)                                                        \
	COLUMN(OF, "mtime", NUMBER, stamp.mtime)                                                   \
	COLUMN(OF, "ctime", NUMBER, stamp.ctime)                                                   \
	COLUMN(OF, "inode", NUMBER, stamp.inode)                                                   \
	COLUMN(OF, "settled", NUMBER, settled)                                                     \
	COLUMN(OF, "distributions", NUMBER, distribution_count)                                    \
	COLUMN(OF, "broken", NUMBER, broken)                                                       \
	COLUMN(OF, "watched", NUMBER, watched)                                                     \
	COLUMN(OF, "size", KNOWN, size)                                                            \
	COLUMN(OF, "kinds", NUMBER, kinds)

/*
 * The columns that may change in a row that is otherwise still valid; in the order of the UPDATE in
 * writer.c.
 */
#define ANCHORED_COLUMNS(COLUMN, OF)                                                               \
	COLUMN(OF, "position", NUMBER, position)                                                   \
	COLUMN(OF, "settled", NUMBER, settled)                                                     \
	COLUMN(OF, "watched", NUMBER, watched)                                                     \
	COLUMN(OF, "directory_stamp", NUMBER, directory_stamp)                                     \
	COLUMN(OF, "files_stamp", NUMBER, files_stamp)                                             \
	COLUMN(OF, "entry_points_size", OUTLINE_SIZE, entry_points_txt)                            \
	COLUMN(OF, "entry_points_mtime", OUTLINE_TIME, entry_points_txt)                           \
	COLUMN(OF, "metadata_size", OUTLINE_SIZE, metadata)                                        \
	COLUMN(OF, "metadata_mtime", OUTLINE_TIME, metadata)                                       \
	COLUMN(OF, "source", TEXT, source)

#define DISTRIBUTION_COLUMNS(COLUMN, OF)                                                           \
	COLUMN(OF, "directory", NEEDED, directory)                                                 \
	COLUMN(OF, "normalized_name", TEXT, normalized_name)                                       \
	COLUMN(OF, "name", TEXT, name)                                                             \
	COLUMN(OF, "version", TEXT, version)                                                       \
	COLUMN(OF, "error", TEXT, error)                                                           \
	COLUMN(OF, "record_sha256", TEXT, record_sha256)                                           \
	COLUMN(OF, "has_metadata", NUMBER, has_metadata)                                           \
	ANCHORED_COLUMNS(COLUMN, OF)

/* The columns for listing distributions with their entry points. */
#define LISTED_COLUMNS(COLUMN, OF)                                                                 \
	COLUMN(OF, "directory", NEEDED, directory)                                                 \
	COLUMN(OF, "position", NUMBER, position)                                                   \
	COLUMN(OF, "name", TEXT, name)                                                             \
	COLUMN(OF, "version", TEXT, version)                                                       \
	COLUMN(OF, "error", TEXT, error)

#define ENTRY_POINT_COLUMNS(COLUMN, OF)                                                            \
	COLUMN(OF, "group_name", NEEDED, group)                                                    \
	COLUMN(OF, "name", NEEDED, name)                                                           \
	COLUMN(OF, "value", NEEDED, value)                                                         \
	COLUMN(OF, "module", TEXT, module)                                                         \
	COLUMN(OF, "attr", TEXT, attr)                                                             \
	COLUMN(OF, "extras", TEXT, extras)

#define PLUGIN_COLUMNS(COLUMN, OF)                                                                 \
	COLUMN(OF, "plugin_kind", NEEDED, group)                                                   \
	COLUMN(OF, "name", NEEDED, name)

#define TARGET_COLUMNS(COLUMN, OF)                                                                 \
	COLUMN(OF, "kind", TARGET_KIND, kind)                                                      \
	COLUMN(OF, "state", TARGET_STATE, state)                                                   \
	COLUMN(OF, "object", TEXT, object)                                                         \
	COLUMN(OF, "symbol", TEXT, symbol)                                                         \
	COLUMN(OF, "machine", KNOWN, machine)                                                      \
	COLUMN(OF, "build_id", TEXT, build_id)                                                     \
	COLUMN(OF, "sha256", TEXT, sha256)                                                         \
	COLUMN(OF, "size", KNOWN, size)                                                            \
	COLUMN(OF, "glibc", TEXT, glibc)                                                           \
	COLUMN(OF, "glibcxx", TEXT, glibcxx)                                                       \
	COLUMN(OF, "missing", TEXT, missing)                                                       \
	COLUMN(OF, "undefined", TEXT, undefined)                                                   \
	COLUMN(OF, "python_by", TEXT, python_by)

#define PUBLICATION_COLUMNS(COLUMN, OF)                                                            \
	COLUMN(OF, "inode", NUMBER, inode)                                                         \
	COLUMN(OF, "time", NUMBER, time)                                                           \
	COLUMN(OF, "sealed", NUMBER, sealed)

#define STARTUP_COLUMNS(COLUMN, OF)                                                                \
	COLUMN(OF, "file", NEEDED, file)                                                           \
	COLUMN(OF, "line", NUMBER, line)                                                           \
	COLUMN(OF, "kind", STARTUP_KIND, kind)                                                     \
	COLUMN(OF, "code", NEEDED, code)

#define EVENT_COLUMNS(COLUMN, OF)                                                                  \
	COLUMN(OF, "time", NUMBER, time)                                                           \
	COLUMN(OF, "action", NEEDED, action)                                                       \
	COLUMN(OF, "root", NEEDED, root)                                                           \
	COLUMN(OF, "distribution", TEXT, distribution)                                             \
	COLUMN(OF, "old_version", TEXT, old_version)                                               \
	COLUMN(OF, "version", TEXT, version)                                                       \
	COLUMN(OF, "detail", TEXT, detail)                                                         \
	COLUMN(OF, "command", TEXT, command)                                                       \
	COLUMN(OF, "uid", NUMBER, uid)

/* An entry point, and the distribution's columns that shadowing needs. */
#define SELECTED_COLUMNS(COLUMN, OF)                                                               \
	COLUMN(OF, "e.group_name", NEEDED, entry_point.group)                                      \
	COLUMN(OF, "e.name", NEEDED, entry_point.name)                                             \
	COLUMN(OF, "e.value", NEEDED, entry_point.value)                                           \
	COLUMN(OF, "e.module", TEXT, entry_point.module)                                           \
	COLUMN(OF, "e.attr", TEXT, entry_point.attr)                                               \
	COLUMN(OF, "e.extras", TEXT, entry_point.extras)                                           \
	COLUMN(OF, "d.position", NUMBER, distribution.position)                                    \
	COLUMN(OF, "d.contested", NUMBER, contested)                                               \
	COLUMN(OF, "d.has_metadata", NUMBER, distribution.has_metadata)                            \
	COLUMN(OF, "d.normalized_name", TEXT, distribution.normalized_name)                        \
	COLUMN(OF, "d.name", TEXT, distribution.name)                                              \
	COLUMN(OF, "d.version", TEXT, distribution.version)                                        \
	COLUMN(OF, "d.directory", NEEDED, distribution.directory)

#define HOLDER_COLUMNS(COLUMN, OF)                                                                 \
	COLUMN(OF, "position", NUMBER, position)                                                   \
	COLUMN(OF, "has_metadata", NUMBER, has_metadata)                                           \
	COLUMN(OF, "directory", NEEDED, directory)

#define PROBLEM_COLUMNS(COLUMN, OF)                                                                \
	HOLDER_COLUMNS(COLUMN, OF)                                                                 \
	COLUMN(OF, "normalized_name", TEXT, normalized_name)                                       \
	COLUMN(OF, "error", TEXT, error)

#define SOURCE_COLUMNS(COLUMN, OF)                                                                 \
	HOLDER_COLUMNS(COLUMN, OF)                                                                 \
	COLUMN(OF, "error", TEXT, error)                                                           \
	COLUMN(OF, "source", TEXT, source)

/* A column list as a map. */
struct table {
	const struct column *columns;
	int count;
	bool has_id; /* the struct starts with the identifier */
};

extern const struct table root_table, distribution_table, anchored_table, listed_table,
        entry_point_table, plugin_table, target_table, publication_table, startup_table,
        event_table, selected_table, holder_table, problem_table, source_table;

/*
 * Read the columns from @first on, the identifier and then those of @table, into @record; texts are
 * valid until the next step. False if a required column is NULL or an enum's name is unknown. Check
 * sql_check_row() for a lack of memory.
 */
bool row_read(sqlite3_stmt *row, int first, const struct table *table, void *record);

/*
 * Step to the next row and read it: 1; 0 at the end; or a negative code: ERROR_FORMAT if row_read()
 * returns false.
 */
int row_next(struct sql *sql, sqlite3_stmt *row, const struct table *table, void *record,
             struct error *error);

/* About the bytes that a record takes in memory: its texts, and a constant. */
size_t row_size(const struct table *table, const void *record);

/* Copy the texts of a record into @arena; sets *failed if out of memory. */
void row_keep(const struct table *table, void *record, struct arena *arena, bool *failed);

/* Bind the columns of a record to the parameters from ?2 on; texts must be valid until the step. */
void row_bind(struct sql *sql, sqlite3_stmt *statement, const struct table *table,
              const void *record);

#endif
