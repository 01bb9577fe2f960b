/*
 * collect.h - collects facts about environments in the tables of facts.sql.
 *
 *     environments all environments, one after the other
 *     site         each site directory: its rows, refreshed from the disk, and its history
 *     places       other places from which Python starts code
 *     record       files written by installers: RECORD, INSTALLER, direct_url.json
 *     files        owner and location of files that run
 *     pyc          bytecode that runs in place of these files
 *     commands     other commands on the PATH
 *     names        misleading names
 *     settings     configuration: lists, policy, quarantine
 *
 * Everything is read as data, nothing is run. The first failure is kept in struct collect or in the
 * worksheet, and later calls do nothing, so functions need not return errors. A site that cannot be
 * read is reported on stderr and skipped.
 */
#ifndef INDEXER_AUDIT_COLLECT_H
#define INDEXER_AUDIT_COLLECT_H

#include <sys/stat.h>

#include "db/base/file.h"
#include "db/base/name_map.h"
#include "db/base/trust.h"
#include "db/reader.h"
#include "db/worksheet.h"
#include "indexer/databases.h"
#include "libquery/disk/tree/path_index.h"

/* The SQL script, and page.html. */
extern const char audit_script[], audit_page[];

struct collect {
	const struct options *options;
	const struct databases *databases;
	struct worksheet *sheet;
	struct readers readers; /* as below */
	struct error error;     /* the first failure */
	bool no_memory;         /* out of memory, in code that has no error */
	bool incomplete;        /* something could not be read, and was reported */
};

/*
 * Collect the content of @databases and of their roots in @sheet, created from audit_script.
 * @readers: the permissions of the published result: anything that these readers may not read is
 * left out; 0: not published. Roots that could not be read are reported on stderr, and *incomplete
 * is set; an error concerns the whole.
 */
int collect(struct worksheet *sheet, const struct options *options,
            const struct databases *databases, struct readers readers, bool *incomplete,
            struct error *error);

/* --- shared functions --- */

/* False after a failure or an interruption. */
bool collect_goes_on(struct collect *collect);

/* Report a failure, and continue with the next item. */
void collect_tell(struct collect *collect);

/* A slice, for "%.*s". */
#define SLICE_ARGS(slice) (int)(slice).len, (slice).ptr

/* The formatted path, malloc'd; NULL on failure, which the next two functions accept. */
char *collect_path(struct collect *collect, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Does the file exist, as far as it may be told to the readers? Follows links. */
bool collect_status(struct collect *collect, const char *path, struct stat *status);

/* Does everybody have these read permissions, also by the directories above it? */
bool collect_is_readable(const struct collect *collect, const char *path, mode_t needed);

/*
 * Read the first @limit bytes of a regular file that the readers may read: *text is malloc'd, @out
 * spans it. False if there is none.
 */
bool collect_text(struct collect *collect, const char *path, size_t limit, char **text,
                  struct slice *out);

/* --- site by site --- */

/* Identifiers as in schema.sql, with a site in place of a root. */
static inline int64_t distribution_id(int64_t site, size_t number)
{
	return site << DISTRIBUTION_ID_SHIFT | (int64_t)number;
}

static inline int64_t entry_point_id(int64_t distribution, size_t number)
{
	return distribution << ENTRY_POINT_ID_SHIFT | (int64_t)number;
}

/* The site directory being read. */
struct site {
	struct collect *collect;
	int64_t id;
	const char *path;
	char *prefix;             /* of its environment; "" for none */
	char *commands;           /* its directory of commands, malloc'd; NULL for none */
	bool managed;             /* by the system's package manager */
	bool is_conda;            /* the environment is conda's */
	uid_t owner;              /* of the directory */
	struct root_record known; /* its rows in the database */
	struct root_record disk;  /* its current state */
	struct path_index places; /* start-up files outside the site directory */
	struct arena texts;
};

/* Read the root @wanted as site number @id. @reader: its database, or NULL. */
void site_read(struct collect *collect, int64_t id, const struct database_root *wanted,
               struct reader *reader);

/* The same for an archive or a package index, from the database only. */
void site_read_catalogued(struct collect *collect, int64_t id, const struct root_record *root,
                          struct reader *reader);

/* Does the entry point's group install commands? */
static inline bool is_command(const struct entry_point_record *entry_point)
{
	return slice_equal(entry_point->group, SLICE("console_scripts")) ||
	       slice_equal(entry_point->group, SLICE("gui_scripts"));
}

/* Record a problem with a file under the name of a rule; @distribution: 0 for the site itself. */
void site_complain(const struct site *site, const char *rule, int64_t distribution,
                   struct slice file, const char *what);

/* @inside: the site directory's path inside the sysroot. */
void places_read(struct site *site, const char *inside);
void record_read(struct site *site);
void record_catalogued(struct site *site);
void files_read(struct site *site);
void names_read(struct site *site);

/* Check who may write a file. @file: relative to the site, or absolute; @distribution: as above. */
void files_look(const struct site *site, int64_t distribution, struct slice file);

/* Describe the problem with a file's owner or permissions: malloc'd, NULL for none. */
char *files_complaint(struct collect *collect, enum trust trust, const struct stat *status);

/* --- all sites together --- */

void files_locate(struct collect *collect);
void pyc_read(struct collect *collect);
void commands_read(struct collect *collect);
void record_requirements(struct collect *collect);
void settings_read_lists(struct collect *collect);
void settings_read_quarantine(struct collect *collect);
void settings_read_policy(struct collect *collect);

#endif
