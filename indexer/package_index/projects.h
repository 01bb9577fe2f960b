/*
 * projects.h - reads the requested projects of an index into a database, many concurrently.
 */
#ifndef INDEXER_PACKAGE_INDEX_PROJECTS_H
#define INDEXER_PACKAGE_INDEX_PROJECTS_H

#include "db/writer.h"
#include "indexer/command.h"
#include "indexer/output.h"
#include "indexer/package_index/page.h"
#include "indexer/package_index/transfer.h"

struct wanted {
	struct slice name, normalized_name; /* with '-', as in URLs; with '_', as in rows */
	struct slice specifiers;            /* version specifiers; null: all */
	bool is_listed; /* by the index, not by the user: it may have no files */
};

struct catalogue {
	const struct options *options;
	const struct transfer_module *module;
	struct transfers *transfers;
	struct worksheet *sheet; /* parses JSON */
	struct choice choice;
	const char *index;               /* its URL */
	const struct database *database; /* to write */
	struct reader *reader;           /* of the database before this run, or NULL */
	int64_t known_root;              /* the index there, or 0 */
	struct root_record root;         /* the row of the index, as it is written */
	int64_t run;                     /* start of this run, or of the resumed one */
	int64_t until;                   /* milliseconds: time of the next publication */
	uint64_t limit;                  /* bytes read, as totals.decoded, at which it is due */
	size_t published;                /* projects, as done */
	bool is_complete;                /* all requested projects have been read */
	struct job *jobs;                /* being read, or not yet published */
	struct item *items;              /* their files to start */
	struct wanted *wanted;
	size_t count, room, next, done; /* in wanted */
	struct arena arena;
	struct output output;
	struct progress progress;
	struct transfer_totals totals;
	size_t wheels, unchanged, needing_build, empty, failed;
};

/* The columns of --json. */
struct output projects_output(const struct options *options);

/*
 * Start reading the next file of a page, or the next project. 1; 0: there is none at present. An
 * unreadable project or file is reported and counted; the others continue.
 */
int projects_start_next(struct catalogue *all, struct error *error);

/* Write the rows of all projects read so far to the database. */
int projects_store(struct catalogue *all, struct writer *writer, struct error *error);

/* Free the projects read so far; with @running, all projects. */
void projects_free(struct catalogue *all, bool running);

#endif
