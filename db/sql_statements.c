/*
 * sql_statements.c - every SQL statement that the project runs, in one table,
 * so that the schema and all that depends on it can be read side by side.
 * (The schema itself, and the views for people, are in schema.sql.)
 */
#include "sql.h"

#define ROOT_COLUMNS "id, path, kind, mtime, ctime, dev, settled, distributions, broken, watched"

#define DISTRIBUTION_COLUMNS                                                                       \
	"d.id, d.directory, d.position, d.normalized_name, d.name, d.version, d.error, "           \
	"d.record_sha256, d.has_metadata, d.watched, d.settled, d.directory_stamp, d.files_stamp"

/* The rows of root ?1, by the range of their identifiers. */
#define DISTRIBUTIONS_OF_ROOT        "BETWEEN (?1 << 20) AND (?1 << 20) + 1048575"
#define ENTRY_POINTS_OF_ROOT         "BETWEEN (?1 << 44) AND (?1 << 44) + (1 << 44) - 1"
#define ENTRY_POINTS_OF_DISTRIBUTION "BETWEEN (?1 << 24) AND (?1 << 24) + 16777215"

#define SELECT                                                                                     \
	"SELECT e.id, e.group_name, e.name, e.value, e.module, e.attr, e.extras, d.position, "     \
	"d.contested, d.has_metadata, d.normalized_name, d.name, d.version, d.directory "          \
	"FROM entry_point e CROSS JOIN distribution d ON d.id = e.distribution "

const char *const sql_statements[SQL_COUNT] = {
        [SQL_ROOT_BY_PATH] = "SELECT " ROOT_COLUMNS " FROM root WHERE path = ?1",
        [SQL_ROOTS] = "SELECT " ROOT_COLUMNS " FROM root ORDER BY id",
        [SQL_DISTRIBUTIONS] = "SELECT " DISTRIBUTION_COLUMNS " FROM distribution d "
                              "WHERE d.id " DISTRIBUTIONS_OF_ROOT,
        [SQL_ENTRY_POINTS] =
                "SELECT e.id, e.group_name, e.name, e.value, e.module, e.attr, e.extras, "
                "t.kind, t.state, t.object, t.symbol, t.machine, t.build_id, t.sha256 "
                "FROM entry_point e LEFT JOIN target t ON t.entry_point = e.id "
                "WHERE e.id " ENTRY_POINTS_OF_ROOT " ORDER BY e.id",
        [SQL_SELECT_GROUP_NAME] = SELECT "WHERE e.group_name = ?1 AND e.name = ?2",
        [SQL_SELECT_GROUP] = SELECT "WHERE e.group_name = ?1",
        [SQL_SELECT_NAME] = SELECT "WHERE e.name = ?2",
        [SQL_SELECT_ALL] = SELECT,
        [SQL_HOLDERS] = "SELECT root, position, has_metadata, directory FROM distribution "
                        "WHERE normalized_name = ?1",
        [SQL_BROKEN] = "SELECT position, has_metadata, normalized_name, directory, error "
                       "FROM distribution WHERE error IS NOT NULL AND id " DISTRIBUTIONS_OF_ROOT
                       " ORDER BY position",
        [SQL_TARGET] = "SELECT kind, state, object, symbol, machine, build_id, sha256 FROM target "
                       "WHERE entry_point = ?1",
        [SQL_EVENTS] = "SELECT time, action, root, distribution, old_version, version, detail, "
                       "command, uid FROM event ORDER BY id",

        [SQL_PUT_ROOT] = "INSERT OR REPLACE INTO root (" ROOT_COLUMNS ") "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        [SQL_DROP_ROOT] = "DELETE FROM root WHERE id = ?1",
        [SQL_DROP_ROOT_DISTRIBUTIONS] = "DELETE FROM distribution WHERE id " DISTRIBUTIONS_OF_ROOT,
        [SQL_DROP_ROOT_ENTRY_POINTS] = "DELETE FROM entry_point WHERE id " ENTRY_POINTS_OF_ROOT,
        [SQL_DROP_ROOT_TARGETS] = "DELETE FROM target WHERE entry_point " ENTRY_POINTS_OF_ROOT,
        [SQL_LAST_ROOT] = "SELECT coalesce(max(id), 0) FROM root",
        [SQL_LAST_DISTRIBUTION] =
                "SELECT max(id) FROM distribution WHERE id " DISTRIBUTIONS_OF_ROOT,
        [SQL_PUT_DISTRIBUTION] =
                "INSERT OR REPLACE INTO distribution (id, directory, position, "
                "normalized_name, name, version, error, record_sha256, has_metadata, watched, "
                "settled, directory_stamp, files_stamp) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        [SQL_MOVE_DISTRIBUTION] =
                "UPDATE distribution SET position = ?2, settled = ?3 WHERE id = ?1",
        [SQL_DROP_DISTRIBUTION] = "DELETE FROM distribution WHERE id = ?1",
        [SQL_PUT_ENTRY_POINT] =
                "INSERT INTO entry_point (id, group_name, name, value, module, attr, extras) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        [SQL_DROP_ENTRY_POINTS] = "DELETE FROM entry_point WHERE id " ENTRY_POINTS_OF_DISTRIBUTION,
        [SQL_PUT_TARGET] = "INSERT INTO target (entry_point, kind, state, object, symbol, machine, "
                           "build_id, sha256) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        [SQL_DROP_TARGETS] = "DELETE FROM target WHERE entry_point " ENTRY_POINTS_OF_DISTRIBUTION,
        [SQL_PUT_EVENT] = "INSERT INTO event (time, action, root, distribution, old_version, "
                          "version, detail, command, uid) "
                          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        [SQL_CONTEST] =
                "UPDATE distribution SET contested = NOT contested WHERE normalized_name IS NOT "
                "NULL "
                "AND contested <> (normalized_name IN (SELECT normalized_name FROM distribution "
                "GROUP BY normalized_name HAVING count(*) > 1))",
        [SQL_CONTEST_NAME] = /* after a distribution of that name was added */
        "UPDATE distribution SET contested = 1 WHERE normalized_name = ?1 AND contested = 0 AND "
        "(SELECT count(*) FROM distribution WHERE normalized_name = ?1) > 1",
        [SQL_CONTEST_NAME_OF] = /* before distribution ?1 is dropped, if one other is left */
        "UPDATE distribution SET contested = 0 WHERE contested = 1 AND normalized_name = "
        "(SELECT normalized_name FROM distribution WHERE id = ?1) AND 2 = (SELECT count(*) FROM "
        "distribution WHERE normalized_name = "
        "(SELECT normalized_name FROM distribution WHERE id = ?1))",
};
