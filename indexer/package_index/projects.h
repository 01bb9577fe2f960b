/*
 * projects.h - reads the wanted projects of an index into a database, many at a time.
 */
#ifndef INDEXER_PACKAGE_INDEX_PROJECTS_H
#define INDEXER_PACKAGE_INDEX_PROJECTS_H

#include "db/writer.h"
#include "indexer/command.h"
#include "indexer/output.h"
#include "indexer/package_index/choose.h"
#include "indexer/package_index/transfer.h"

struct wanted {
	struct slice name, normalized_name; /* joined by '-', as in URLs; by '_', as in rows */
	struct slice specifiers;            /* of versions; null: all */
};

struct catalogue {
	const struct options *options;
	const struct transfer_module *module;
	struct transfers *transfers;
	struct worksheet *sheet; /* reads JSON */
	struct choice choice;
	const char *index;       /* its URL */
	struct slice made_for;   /* @choice, as rows have it in their source */
	struct reader *reader;   /* of what is published; NULL: nothing is */
	struct root_record root; /* the index's row */
	int64_t run;             /* when this run, or the one that it resumes, began */
	int64_t until;           /* milliseconds: when to publish next, */
	uint64_t limit;          /* or after how many @bytes: so much is kept in memory */
	bool is_complete;        /* all that is wanted has been read */
	struct job *jobs;
	struct wanted *wanted;
	size_t count, room, next, done; /* of wanted */
	struct arena arena;
	struct output output;
	struct progress progress;
	size_t wheels, unchanged, needing_build, failed, requests;
	uint64_t bytes;
};

/* The columns of --json. */
struct output projects_output(const struct options *options);

/* Send a request, and count it. */
int projects_ask(struct catalogue *all, const struct transfer_request *request,
                 struct error *error);

/*
 * Start with the next wanted projects, as many as may be under way; each that ends starts another
 * one, while the transfers run. An unreadable project or file is reported and counted, and stops no
 * other.
 */
int projects_start(struct catalogue *all, struct error *error);

/* Put the rows of the projects that have been read into the database. */
int projects_store(struct catalogue *all, struct writer *writer, struct error *error);

/* Forget the projects that have been read, or, with @running, all of them. */
void projects_free(struct catalogue *all, bool running);

#endif
