/*
 * facts.h - what an audit knows of an environment: the tables of rules.sql, filled.
 *
 *     site         of each site directory: its rows, new from the disk, and its history
 *     start        start-up code elsewhere, that it makes run
 *     installed    what installers have written beside them: RECORD, INSTALLER, direct_url.json
 *     files        whether the files that run are the ones installed, and whose they are
 *     bytecode     whether bytecode that runs in place of these files is theirs
 *     commands     what else is on the PATH
 *     names        names that are not what they seem
 *     set_aside    shared objects that crashed or hung when they were loaded
 *
 * Everything is read as data, nothing is run. What fails in the worksheet sticks there
 * (worksheet.h); what cannot be read on the disk is told on stderr, and left out.
 */
#ifndef INDEXER_AUDIT_FACTS_H
#define INDEXER_AUDIT_FACTS_H

#include <sys/stat.h>

#include "db/base/name_map.h"
#include "db/reader.h"
#include "db/worksheet.h"
#include "indexer/databases.h"
#include "libquery/disk/metadata/startup.h"

/* The text of rules.sql. */
extern const char audit_rules[];

/* See the identifiers in schema.sql, which these follow: a site takes the place of a root. */
static inline int64_t facts_distribution(int64_t site, size_t number)
{
	return site << DISTRIBUTION_ID_SHIFT | (int64_t)number;
}

static inline int64_t facts_entry_point(int64_t distribution, size_t number)
{
	return distribution << ENTRY_POINT_ID_SHIFT | (int64_t)number;
}

/* The site directory that is being read. */
struct facts_site {
	struct worksheet *sheet;
	int64_t id;
	const char *path;
	char *prefix;   /* of its environment; "" where there is none */
	char *commands; /* malloc'd; NULL: it has none */
	bool managed;   /* by the system's package manager */
	uid_t owner;    /* of the directory */
	const struct root_record *root;
	struct root_record rows, disk;
	struct startup_files starts; /* of start-up code that a scan does not see; see start.c */
	struct arena texts;
};

/*
 * Read the root @wanted of @database into the sheet as site number @id. @reader: of the
 * database, or NULL where there is none. Failures only (error.h).
 */
int site_read(struct worksheet *sheet, int64_t id, const struct database_root *wanted,
              struct reader *reader, struct error *error);

/* Is the entry point's group one whose names become commands? */
static inline bool facts_is_command(const struct entry_point_record *entry_point)
{
	return slice_equal(entry_point->group, SLICE("console_scripts")) ||
	       slice_equal(entry_point->group, SLICE("gui_scripts"));
}

/* --- what site_read() asks of the others --- */

/* @inside: the site directory as it is below the sysroot. */
int start_read(struct facts_site *site, const char *inside, struct error *error);
int installed_read(struct facts_site *site, struct error *error);
void names_read(struct facts_site *site);
/* Who may write it? @file: relative to the site, or absolute; @distribution: 0 for the site itself.
 */
int writable_look(struct facts_site *site, int64_t distribution, const char *file,
                  struct error *error);

/* What is wrong with a file, as a row of one of these tables; @distribution: 0, the site's own. */
#define FACTS_REPLACED "INSERT INTO replaced VALUES (?, nullif(?, 0), ?, ?)"
#define FACTS_UNREAD   "INSERT INTO unread_file VALUES (?, nullif(?, 0), ?, ?)"
#define FACTS_WRITABLE "INSERT INTO writable VALUES (?, nullif(?, 0), ?, ?)"

void facts_put(const struct facts_site *site, const char *insert, int64_t distribution,
               struct slice file, const char *what);
int writable_read(struct facts_site *site, struct error *error);

/* --- what is asked once, of all sites together --- */

int installed_requirements(struct worksheet *sheet, struct error *error);
int files_locate(struct worksheet *sheet, struct error *error);
int bytecode_read(struct worksheet *sheet, struct error *error);
int commands_read(struct worksheet *sheet, const char *sysroot, struct error *error);
int set_aside_read(struct worksheet *sheet, struct error *error);
int lists_read(struct worksheet *sheet, struct error *error);

#endif
