/*
 * columns.h - the columns of each statement, named once.
 *
 * A list gives each column a name in C and its text in SQL. From it are made the text
 * of the statement (sql_statements.c), the numbers by which a row's columns are read,
 * and those by which the parameters of the statement that writes such a row are bound.
 *
 *     ROOT_COLUMNS(COLUMN_FIRST, COLUMN_NEXT)   "id" ", " "path" ...
 *     enum root_column                          ROOT_ID, ROOT_PATH ...
 *     ROOT_COLUMNS(PARAMETER_FIRST, PARAMETER_NEXT)   "?" ", ?" ...
 */
#ifndef DB_COLUMNS_H
#define DB_COLUMNS_H

#define COLUMN_NUMBER(name, text) name,
#define COLUMN_FIRST(name, text)  text
#define COLUMN_NEXT(name, text)   ", " text

#define PARAMETER_FIRST(name, text) "?"
#define PARAMETER_NEXT(name, text)  ", ?"

/* The parameter that stands for the column in the statement that writes it. */
#define PARAMETER(column) ((int)(column) + 1)

#define ROOT_COLUMNS(FIRST, NEXT)                                                                  \
	FIRST(ROOT_ID, "id")                                                                       \
	NEXT(ROOT_PATH, "path")                                                                    \
	NEXT(ROOT_KIND, "kind")                                                                    \
	NEXT(ROOT_MTIME, "mtime")                                                                  \
	NEXT(ROOT_CTIME, "ctime")                                                                  \
	NEXT(ROOT_INODE, "inode")                                                                  \
	NEXT(ROOT_SETTLED, "settled")                                                              \
	NEXT(ROOT_DISTRIBUTIONS, "distributions")                                                  \
	NEXT(ROOT_BROKEN, "broken")                                                                \
	NEXT(ROOT_WATCHED, "watched")                                                              \
	NEXT(ROOT_SIZE, "size")                                                                    \
	NEXT(ROOT_KINDS, "kinds")

#define DISTRIBUTION_COLUMNS(FIRST, NEXT)                                                          \
	FIRST(DISTRIBUTION_ID, "id")                                                               \
	NEXT(DISTRIBUTION_DIRECTORY, "directory")                                                  \
	NEXT(DISTRIBUTION_POSITION, "position")                                                    \
	NEXT(DISTRIBUTION_NORMALIZED_NAME, "normalized_name")                                      \
	NEXT(DISTRIBUTION_NAME, "name")                                                            \
	NEXT(DISTRIBUTION_VERSION, "version")                                                      \
	NEXT(DISTRIBUTION_ERROR, "error")                                                          \
	NEXT(DISTRIBUTION_RECORD_SHA256, "record_sha256")                                          \
	NEXT(DISTRIBUTION_HAS_METADATA, "has_metadata")                                            \
	NEXT(DISTRIBUTION_WATCHED, "watched")                                                      \
	NEXT(DISTRIBUTION_SETTLED, "settled")                                                      \
	NEXT(DISTRIBUTION_DIRECTORY_STAMP, "directory_stamp")                                      \
	NEXT(DISTRIBUTION_FILES_STAMP, "files_stamp")                                              \
	NEXT(DISTRIBUTION_ENTRY_POINTS_SIZE, "entry_points_size")                                  \
	NEXT(DISTRIBUTION_ENTRY_POINTS_MTIME, "entry_points_mtime")                                \
	NEXT(DISTRIBUTION_METADATA_SIZE, "metadata_size")                                          \
	NEXT(DISTRIBUTION_METADATA_MTIME, "metadata_mtime")

/* What somebody wants who lists distributions and their entry points. */
#define LISTED_COLUMNS(FIRST, NEXT)                                                                \
	FIRST(LISTED_ID, "id")                                                                     \
	NEXT(LISTED_DIRECTORY, "directory")                                                        \
	NEXT(LISTED_POSITION, "position")                                                          \
	NEXT(LISTED_NAME, "name")                                                                  \
	NEXT(LISTED_VERSION, "version")                                                            \
	NEXT(LISTED_ERROR, "error")

#define ENTRY_POINT_COLUMNS(FIRST, NEXT)                                                           \
	FIRST(ENTRY_POINT_ID, "id")                                                                \
	NEXT(ENTRY_POINT_GROUP, "group_name")                                                      \
	NEXT(ENTRY_POINT_NAME, "name")                                                             \
	NEXT(ENTRY_POINT_VALUE, "value")                                                           \
	NEXT(ENTRY_POINT_MODULE, "module")                                                         \
	NEXT(ENTRY_POINT_ATTR, "attr")                                                             \
	NEXT(ENTRY_POINT_EXTRAS, "extras")

#define PLUGIN_COLUMNS(FIRST, NEXT)                                                                \
	FIRST(PLUGIN_ID, "id")                                                                     \
	NEXT(PLUGIN_KIND, "plugin_kind")                                                           \
	NEXT(PLUGIN_NAME, "name")

#define TARGET_COLUMNS(FIRST, NEXT)                                                                \
	FIRST(TARGET_ENTRY_POINT, "entry_point")                                                   \
	NEXT(TARGET_KIND, "kind")                                                                  \
	NEXT(TARGET_STATE, "state")                                                                \
	NEXT(TARGET_OBJECT, "object")                                                              \
	NEXT(TARGET_SYMBOL, "symbol")                                                              \
	NEXT(TARGET_MACHINE, "machine")                                                            \
	NEXT(TARGET_BUILD_ID, "build_id")                                                          \
	NEXT(TARGET_SHA256, "sha256")                                                              \
	NEXT(TARGET_SIZE, "size")                                                                  \
	NEXT(TARGET_GLIBC, "glibc")                                                                \
	NEXT(TARGET_GLIBCXX, "glibcxx")                                                            \
	NEXT(TARGET_MISSING_LIST, "missing")                                                       \
	NEXT(TARGET_UNDEFINED, "undefined")                                                        \
	NEXT(TARGET_PYTHON_BY, "python_by")

#define PUBLICATION_COLUMNS(FIRST, NEXT)                                                           \
	FIRST(PUBLICATION_ID, "id")                                                                \
	NEXT(PUBLICATION_INODE, "inode")                                                           \
	NEXT(PUBLICATION_TIME, "time")                                                             \
	NEXT(PUBLICATION_SEALED, "sealed")

#define STARTUP_COLUMNS(FIRST, NEXT)                                                               \
	FIRST(STARTUP_ID, "id")                                                                    \
	NEXT(STARTUP_FILE, "file")                                                                 \
	NEXT(STARTUP_LINE, "line")                                                                 \
	NEXT(STARTUP_KIND, "kind")                                                                 \
	NEXT(STARTUP_CODE, "code")

#define EVENT_COLUMNS(FIRST, NEXT)                                                                 \
	FIRST(EVENT_TIME, "time")                                                                  \
	NEXT(EVENT_ACTION, "action")                                                               \
	NEXT(EVENT_ROOT, "root")                                                                   \
	NEXT(EVENT_DISTRIBUTION, "distribution")                                                   \
	NEXT(EVENT_OLD_VERSION, "old_version")                                                     \
	NEXT(EVENT_VERSION, "version")                                                             \
	NEXT(EVENT_DETAIL, "detail")                                                               \
	NEXT(EVENT_COMMAND, "command")                                                             \
	NEXT(EVENT_UID, "uid")

/* An entry point, and what is needed to judge it. */
#define SELECTED_COLUMNS(FIRST, NEXT)                                                              \
	FIRST(SELECTED_ID, "e.id")                                                                 \
	NEXT(SELECTED_GROUP, "e.group_name")                                                       \
	NEXT(SELECTED_NAME, "e.name")                                                              \
	NEXT(SELECTED_VALUE, "e.value")                                                            \
	NEXT(SELECTED_MODULE, "e.module")                                                          \
	NEXT(SELECTED_ATTR, "e.attr")                                                              \
	NEXT(SELECTED_EXTRAS, "e.extras")                                                          \
	NEXT(SELECTED_POSITION, "d.position")                                                      \
	NEXT(SELECTED_CONTESTED, "d.contested")                                                    \
	NEXT(SELECTED_HAS_METADATA, "d.has_metadata")                                              \
	NEXT(SELECTED_NORMALIZED_NAME, "d.normalized_name")                                        \
	NEXT(SELECTED_DISTRIBUTION, "d.name")                                                      \
	NEXT(SELECTED_VERSION, "d.version")                                                        \
	NEXT(SELECTED_DIRECTORY, "d.directory")

#define HOLDER_COLUMNS(FIRST, NEXT)                                                                \
	FIRST(HOLDER_ID, "id")                                                                     \
	NEXT(HOLDER_POSITION, "position")                                                          \
	NEXT(HOLDER_HAS_METADATA, "has_metadata")                                                  \
	NEXT(HOLDER_DIRECTORY, "directory")

#define BROKEN_COLUMNS(FIRST, NEXT)                                                                \
	FIRST(BROKEN_ID, "id")                                                                     \
	NEXT(BROKEN_POSITION, "position")                                                          \
	NEXT(BROKEN_HAS_METADATA, "has_metadata")                                                  \
	NEXT(BROKEN_NORMALIZED_NAME, "normalized_name")                                            \
	NEXT(BROKEN_DIRECTORY, "directory")                                                        \
	NEXT(BROKEN_ERROR, "error")

#define SCHEMA_COLUMNS(FIRST, NEXT)                                                                \
	FIRST(SCHEMA_TYPE, "type")                                                                 \
	NEXT(SCHEMA_NAME, "name")                                                                  \
	NEXT(SCHEMA_TABLE, "tbl_name")                                                             \
	NEXT(SCHEMA_SQL, "sql")

enum root_column { ROOT_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };
enum distribution_column { DISTRIBUTION_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };
enum listed_column { LISTED_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };
enum entry_point_column { ENTRY_POINT_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) ENTRY_POINT_END };
enum plugin_column { PLUGIN_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) PLUGIN_END };
enum target_column { TARGET_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };
enum publication_column { PUBLICATION_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };
enum startup_column { STARTUP_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };
enum event_column { EVENT_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };
enum selected_column { SELECTED_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };
enum holder_column { HOLDER_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };
enum broken_column { BROKEN_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };
enum schema_column { SCHEMA_COLUMNS(COLUMN_NUMBER, COLUMN_NUMBER) };

#endif
