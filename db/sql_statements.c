/*
 * sql_statements.c - every SQL statement that the project runs, in one table, so that the schema
 * and all that depends on it can be read side by side. (The schema itself, and the views for
 * people, are in schema.sql.)
 */
#include "db/tables.h"

#define COLUMN_FIRST(of, text, type, member)    text
#define COLUMN_NEXT(of, text, type, member)     ", " text
#define PARAMETER_FIRST(of, text, type, member) "?"
#define PARAMETER_NEXT(of, text, type, member)  ", ?"
#define COLUMNS(list)                           list(COLUMN_FIRST, COLUMN_NEXT, )
#define PARAMETERS(list)                        list(PARAMETER_FIRST, PARAMETER_NEXT, )

/* A row of all the columns of @list, after an identifier that is bound first, or "". */
#define PUT(verb, table, id, parameter, list)                                                      \
	verb " INTO " table " (" id COLUMNS(list) ") VALUES (" parameter PARAMETERS(list) ")"

/* The rows of root ?1, by the range of their identifiers. */
#define DISTRIBUTIONS_OF_ROOT        "BETWEEN (?1 << 20) AND (?1 << 20) + 1048575"
#define ENTRY_POINTS_OF_ROOT         "BETWEEN (?1 << 44) AND (?1 << 44) + (1 << 44) - 1"
#define ENTRY_POINTS_OF_DISTRIBUTION "BETWEEN (?1 << 24) AND (?1 << 24) + 16777215"

#define SELECT                                                                                     \
	"SELECT " COLUMNS(SELECTED_COLUMNS) " FROM entry_point e CROSS JOIN distribution d ON "    \
	                                    "d.id = e.distribution "

/* Plugins, as if they were entry points in a group called as their kind. */
#define SELECT_PLUGINS                                                                             \
	"SELECT " COLUMNS(                                                                         \
	        SELECTED_COLUMNS) " FROM (SELECT p.id, p.distribution, p.plugin_kind AS "          \
	                          "group_name, "                                                   \
	                          "p.name, t.object || ':' || t.symbol AS value, "                 \
	                          "t.object AS module, t.symbol AS attr, NULL AS extras "          \
	                          "FROM plugin p CROSS JOIN target t ON t.entry_point = p.id) e "  \
	                          "CROSS JOIN distribution d ON d.id = e.distribution "

/*
 * A key is what a fleet's server has an index on, which takes 2,704 bytes: the first few. More
 * of it can be read here; a name of a thousand letters must not keep all else away.
 */
#define KEY(column) "shown(" column ", 300)"
#define TITLE       KEY("coalesce(d.name, d.directory)")

const char *const sql_statements[SQL_COUNT] = {
        [SQL_ROOT_BY_PATH] = "SELECT " COLUMNS(ROOT_COLUMNS) " FROM root WHERE path = ?1",
        [SQL_ROOTS] = "SELECT " COLUMNS(ROOT_COLUMNS) " FROM root ORDER BY id",
        [SQL_DISTRIBUTIONS] =
                "SELECT " COLUMNS(DISTRIBUTION_COLUMNS) " FROM distribution "
                                                        "WHERE id " DISTRIBUTIONS_OF_ROOT
                                                        " ORDER BY id",
        [SQL_LISTED] =
                "SELECT " COLUMNS(LISTED_COLUMNS) " FROM distribution "
                                                  "WHERE id " DISTRIBUTIONS_OF_ROOT " ORDER BY id",
        [SQL_LISTED_ENTRY_POINTS] =
                "SELECT id, " COLUMNS(ENTRY_POINT_COLUMNS) " FROM entry_point "
                                                           "WHERE id " ENTRY_POINTS_OF_ROOT
                                                           " ORDER BY id",
        [SQL_ENTRY_POINTS] = "SELECT id, " COLUMNS(ENTRY_POINT_COLUMNS) ", " COLUMNS(
                TARGET_COLUMNS) " FROM entry_point LEFT JOIN target ON target.entry_point = "
                                "entry_point.id "
                                "WHERE id " ENTRY_POINTS_OF_ROOT " ORDER BY id",
        [SQL_ENTRY_POINTS_OF] = "SELECT id, " COLUMNS(ENTRY_POINT_COLUMNS) ", " COLUMNS(
                TARGET_COLUMNS) " FROM entry_point LEFT JOIN target ON target.entry_point = "
                                "entry_point.id "
                                "WHERE id " ENTRY_POINTS_OF_DISTRIBUTION " ORDER BY id",
        [SQL_PLUGINS] = "SELECT id, " COLUMNS(PLUGIN_COLUMNS) ", " COLUMNS(
                TARGET_COLUMNS) " FROM plugin CROSS JOIN target ON entry_point = id "
                                "WHERE id " ENTRY_POINTS_OF_ROOT " ORDER BY id",
        [SQL_STARTUPS] = "SELECT " COLUMNS(
                STARTUP_COLUMNS) " FROM startup WHERE id " DISTRIBUTIONS_OF_ROOT " ORDER BY id",
        [SQL_SELECT_GROUP_NAME] = SELECT "WHERE e.group_name = ?1 AND e.name = ?2",
        [SQL_SELECT_GROUP] = SELECT "WHERE e.group_name = ?1",
        [SQL_SELECT_NAME] = SELECT "WHERE e.name = ?2",
        [SQL_SELECT_ALL] = SELECT,
        [SQL_SELECT_PLUGIN_KIND_NAME] = SELECT_PLUGINS "WHERE e.group_name = ?1 AND e.name = ?2",
        [SQL_SELECT_PLUGIN_KIND] = SELECT_PLUGINS "WHERE e.group_name = ?1",
        [SQL_SELECT_PLUGIN_NAME] = SELECT_PLUGINS "WHERE e.name = ?2",
        [SQL_SELECT_PLUGINS] = SELECT_PLUGINS,
        [SQL_HOLDERS] = "SELECT " COLUMNS(HOLDER_COLUMNS) " FROM distribution "
                                                          "WHERE normalized_name = ?1",
        /* A child with another end than these may be called otherwise than its METADATA says. */
        [SQL_CALLED] = "SELECT " COLUMNS(
                HOLDER_COLUMNS) " FROM distribution WHERE id " DISTRIBUTIONS_OF_ROOT
                                " AND (normalized_name = ?2 OR ?2 IS NULL OR "
                                "directory NOT GLOB '*.dist-info' AND "
                                "directory NOT GLOB '*.egg-info')",
        [SQL_BROKEN] = "SELECT " COLUMNS(
                PROBLEM_COLUMNS) " FROM distribution "
                                 "WHERE error IS NOT NULL AND id " DISTRIBUTIONS_OF_ROOT
                                 " ORDER BY position",
        [SQL_TARGET] = "SELECT " COLUMNS(TARGET_COLUMNS) " FROM target WHERE entry_point = ?1",
        [SQL_PUBLICATION] = "SELECT " COLUMNS(PUBLICATION_COLUMNS) " FROM publication",
        [SQL_EVENTS] = "SELECT " COLUMNS(EVENT_COLUMNS) " FROM event ORDER BY id",
        [SQL_DOCUMENT] = "SELECT 0, json_array(shown(r.path), shown(d.directory), " TITLE ", " KEY(
                "d.version") ", shown(d.error)) "
                             "FROM distribution d CROSS JOIN root r ON r.id = d.root "
                             "UNION ALL SELECT 1, json_array(shown(r.path), " TITLE
                             ", " KEY("e.group_name") ", " KEY(
                                     "e.name") ", shown(e.value), "
                                               "shown(coalesce(t.kind, 'python')), "
                                               "shown(coalesce(t.state, 'ok')), "
                                               "shown(t.object)) FROM entry_point e CROSS JOIN "
                                               "distribution d "
                                               "ON d.id = e.distribution CROSS JOIN root r ON r.id "
                                               "= d.root "
                                               "LEFT JOIN target t ON t.entry_point = e.id "
                                               "UNION ALL SELECT 2, "
                                               "json_array(shown(r.path), " TITLE
                                               ", shown(p.plugin_kind), shown(p.name), "
                                               "shown(t.object), shown(t.symbol), "
                                               "shown(t.state)) FROM plugin p CROSS JOIN target t "
                                               "ON t.entry_point = p.id "
                                               "CROSS JOIN distribution d ON d.id = p.distribution "
                                               "CROSS JOIN root r ON r.id = d.root "
                                               "UNION ALL SELECT 3, json_array(shown(r.path), "
                                               "shown(s.file), s.line, "
                                               "shown(s.kind), shown(s.code)) FROM startup s "
                                               "CROSS JOIN root r ON r.id = s.root "
                                               "UNION ALL SELECT 4, json_array(time, "
                                               "shown(action), shown(root), "
                                               "shown(distribution), shown(old_version), "
                                               "shown(version), shown(detail), "
                                               "shown(command), uid) FROM event",
        [SQL_SCHEMA] = "SELECT name, sql FROM sqlite_schema",
        [SQL_CHECK] = "PRAGMA integrity_check(1)",
        [SQL_IS_COHERENT] = "SELECT NOT EXISTS (SELECT 1 FROM distribution "
                            "WHERE id >> 20 NOT IN (SELECT id FROM root)) "
                            "AND NOT EXISTS (SELECT 1 FROM startup "
                            "WHERE id >> 20 NOT IN (SELECT id FROM root)) "
                            "AND NOT EXISTS (SELECT 1 FROM entry_point "
                            "WHERE id >> 24 NOT IN (SELECT id FROM distribution)) "
                            "AND NOT EXISTS (SELECT 1 FROM target "
                            "WHERE entry_point NOT IN (SELECT id FROM entry_point) "
                            "AND entry_point NOT IN (SELECT id FROM plugin)) "
                            "AND NOT EXISTS (SELECT 1 FROM plugin "
                            "WHERE id >> 24 NOT IN (SELECT id FROM distribution)) "
                            "AND NOT EXISTS (SELECT 1 FROM root r "
                            "WHERE (distributions, broken, watched) <> "
                            "(SELECT count(*), count(error), total(watched <> 0) FROM distribution "
                            "WHERE id BETWEEN r.id << 20 AND (r.id + 1 << 20) - 1))",

        [SQL_PUT_ROOT] = PUT("INSERT OR REPLACE", "root", "", "", ROOT_COLUMNS),
        [SQL_DROP_ROOT] = "DELETE FROM root WHERE id = ?1",
        [SQL_DROP_ROOT_DISTRIBUTIONS] = "DELETE FROM distribution WHERE id " DISTRIBUTIONS_OF_ROOT,
        [SQL_DROP_ROOT_ENTRY_POINTS] = "DELETE FROM entry_point WHERE id " ENTRY_POINTS_OF_ROOT,
        [SQL_DROP_ROOT_PLUGINS] = "DELETE FROM plugin WHERE id " ENTRY_POINTS_OF_ROOT,
        [SQL_DROP_ROOT_TARGETS] = "DELETE FROM target WHERE entry_point " ENTRY_POINTS_OF_ROOT,
        [SQL_LAST_ROOT] = "SELECT coalesce(max(id), 0) FROM root",
        [SQL_LAST_DISTRIBUTION] =
                "SELECT max(id) FROM distribution WHERE id " DISTRIBUTIONS_OF_ROOT,
        [SQL_PUT_DISTRIBUTION] =
                PUT("INSERT OR REPLACE", "distribution", "", "", DISTRIBUTION_COLUMNS),
        [SQL_ANCHOR_DISTRIBUTION] =
                "UPDATE distribution SET position = ?2, settled = ?3, watched = ?4, "
                "directory_stamp = ?5, files_stamp = ?6, entry_points_size = ?7, "
                "entry_points_mtime = ?8, metadata_size = ?9, metadata_mtime = ?10 WHERE id = ?1",
        [SQL_DROP_DISTRIBUTION] = "DELETE FROM distribution WHERE id = ?1",
        [SQL_PUT_ENTRY_POINT] = PUT("INSERT", "entry_point", "id, ", "?, ", ENTRY_POINT_COLUMNS),
        [SQL_DROP_ENTRY_POINTS] = "DELETE FROM entry_point WHERE id " ENTRY_POINTS_OF_DISTRIBUTION,
        [SQL_PUT_PLUGIN] = PUT("INSERT", "plugin", "id, ", "?, ", PLUGIN_COLUMNS),
        [SQL_DROP_PLUGINS] = "DELETE FROM plugin WHERE id " ENTRY_POINTS_OF_DISTRIBUTION,
        [SQL_PUT_TARGET] = PUT("INSERT", "target", "entry_point, ", "?, ", TARGET_COLUMNS),
        [SQL_DROP_TARGETS] = "DELETE FROM target WHERE entry_point " ENTRY_POINTS_OF_DISTRIBUTION,
        [SQL_PUT_PUBLICATION] =
                PUT("INSERT OR REPLACE", "publication", "id, ", "?, ", PUBLICATION_COLUMNS),
        [SQL_PUT_STARTUP] = PUT("INSERT", "startup", "id, ", "?, ", STARTUP_COLUMNS),
        [SQL_DROP_ROOT_STARTUPS] = "DELETE FROM startup WHERE id " DISTRIBUTIONS_OF_ROOT,
        [SQL_PUT_EVENT] = PUT("INSERT", "event", "", "", EVENT_COLUMNS),
        [SQL_CONTEST] =
                "UPDATE distribution SET contested = NOT contested WHERE normalized_name IS NOT "
                "NULL "
                "AND contested <> (normalized_name IN (SELECT normalized_name FROM distribution "
                "WHERE normalized_name IS NOT NULL GROUP BY normalized_name HAVING count(*) > 1))",
        [SQL_CONTEST_NAME] = /* after a distribution of that name was added */
        "UPDATE distribution SET contested = 1 WHERE normalized_name = ?1 AND contested = 0 AND "
        "(SELECT count(*) FROM distribution WHERE normalized_name = ?1) > 1",
        [SQL_CONTEST_NAME_OF] = /* before distribution ?1 is dropped, if one other is left */
        "UPDATE distribution SET contested = 0 WHERE contested = 1 AND normalized_name = "
        "(SELECT normalized_name FROM distribution WHERE id = ?1) AND 2 = (SELECT count(*) FROM "
        "distribution WHERE normalized_name = "
        "(SELECT normalized_name FROM distribution WHERE id = ?1))",
};
