/*
 * collect.h - what an audit reads of environments, into the tables of facts.sql.
 *
 *     environments all of it, one after the other
 *     site         of each site directory: its rows, new from the disk, and its history
 *     places       the other places that Python starts from
 *     record       what installers have written: RECORD, INSTALLER, direct_url.json
 *     files        whose the files are that run, and where they lie
 *     pyc          bytecode that runs in place of these files
 *     commands     what else is on the PATH
 *     names        names that are not what they seem
 *     settings     what is set up here: lists, policy, quarantine
 *
 * Everything is read as data, nothing is run. The first failure sticks, in struct collect or
 * in the worksheet: what is called after it does nothing, so that nobody passes it on. A site
 * that cannot be read is told of on stderr, and left out.
 */
#ifndef INDEXER_AUDIT_COLLECT_H
#define INDEXER_AUDIT_COLLECT_H

#include <sys/stat.h>

#include "db/base/name_map.h"
#include "db/base/trust.h"
#include "db/reader.h"
#include "db/worksheet.h"
#include "indexer/databases.h"
#include "libquery/disk/tree/path_index.h"

/* The texts of facts.sql, lists.sql and rules.sql. */
extern const char audit_script[], audit_page[];

struct collect {
	const struct options *options;
	const struct databases *databases;
	struct worksheet *sheet;
	mode_t readers;     /* as below */
	struct error error; /* the first failure */
	bool no_memory;     /* another, where it is told so */
	bool incomplete;    /* something could not be read, which was said */
};

/*
 * Read what @databases have and describe into @sheet, which was made from audit_script. @readers:
 * of what is to be published, who may read it, as permissions; what they may not read is left out;
 * 0: nothing is published. What
 * could not be read of one of them is told on stderr, and *@incomplete is set; an error is one
 * of the whole.
 */
int collect(struct worksheet *sheet, const struct options *options,
            const struct databases *databases, mode_t readers, bool *incomplete,
            struct error *error);

/* --- what all of them stand on --- */

/* False after a failure, an interruption by a signal included. */
bool collect_goes_on(struct collect *collect);

/* After a failure of one thing, tell it: the others are read all the same. */
void collect_tell(struct collect *collect);

/* A slice, for "%.*s". */
#define SLICE_ARGS(slice) (int)(slice).len, (slice).ptr

/* The formatted path, malloc'd; NULL after a failure, which the next two accept. */
char *collect_path(struct collect *collect, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Is anything there, links followed? */
bool collect_status(struct collect *collect, const char *path, struct stat *status);

/*
 * The first @limit bytes of a regular file that the readers may read: *@text is malloc'd, @out is
 * all of it. Is there one?
 */
bool collect_text(struct collect *collect, const char *path, size_t limit, char **text,
                  struct slice *out);

/* --- site by site --- */

/* See the identifiers in schema.sql, which these follow: a site takes the place of a root. */
static inline int64_t distribution_id(int64_t site, size_t number)
{
	return site << DISTRIBUTION_ID_SHIFT | (int64_t)number;
}

static inline int64_t entry_point_id(int64_t distribution, size_t number)
{
	return distribution << ENTRY_POINT_ID_SHIFT | (int64_t)number;
}

/* The site directory that is being read. */
struct site {
	struct collect *collect;
	int64_t id;
	const char *path;
	char *prefix;             /* of its environment; "" where there is none */
	char *commands;           /* malloc'd; NULL: it has none */
	bool managed;             /* by the system's package manager */
	bool is_conda;            /* its environment is */
	uid_t owner;              /* of the directory */
	struct root_record known; /* what the database has of it */
	struct root_record disk;  /* what there is */
	struct path_index places; /* files of start-up code that a scan does not see */
	struct arena texts;
};

/* The root @wanted as site number @id. @reader: of its database, or NULL where there is none. */
void site_read(struct collect *collect, int64_t id, const struct database_root *wanted,
               struct reader *reader);

/* The same of an archive, or a package index, by what the database has: nothing of it is on the
 * disk. */
void site_read_catalogued(struct collect *collect, int64_t id, const struct root_record *root,
                          struct reader *reader);

/* Is the entry point's group one whose names become commands? */
static inline bool is_command(const struct entry_point_record *entry_point)
{
	return slice_equal(entry_point->group, SLICE("console_scripts")) ||
	       slice_equal(entry_point->group, SLICE("gui_scripts"));
}

/* What is wrong with a file, by the name of the rule; @distribution: 0, the site's own. */
void site_complain(const struct site *site, const char *rule, int64_t distribution,
                   struct slice file, const char *what);

/* @inside: the site directory as it is below the sysroot. */
void places_read(struct site *site, const char *inside);
void record_read(struct site *site);
void record_catalogued(struct site *site);
void files_read(struct site *site);
void names_read(struct site *site);

/* Who may write it? @file: relative to the site, or absolute; @distribution: as above. */
void files_look(const struct site *site, int64_t distribution, struct slice file);

/* What is wrong where it should be @owner's: malloc'd, NULL where nothing is. */
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
