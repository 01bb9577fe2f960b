/*
 * projects.h - the projects of an index that are wanted, and reading them: many at a time.
 */
#ifndef INDEXER_PACKAGE_INDEX_PROJECTS_H
#define INDEXER_PACKAGE_INDEX_PROJECTS_H

#include "indexer/command.h"
#include "indexer/output.h"
#include "indexer/package_index/cache.h"
#include "indexer/package_index/choose.h"
#include "indexer/package_index/transfer.h"

/* specifiers: of its versions; null: all. */
struct wanted {
	struct slice name, specifiers;
};

struct catalogue {
	const struct options *options;
	const struct transfer_module *module;
	struct transfers *transfers;
	struct worksheet *sheet;
	struct choice choice;
	const char *index;
	struct slice made_for;
	size_t unsaved; /* projects, since the cache was kept */
	struct wanted *wanted;
	size_t count, room, next, done; /* of wanted */
	struct arena arena;
	struct output output;
	struct progress progress;
	int64_t began; /* milliseconds */
	size_t wheels, unchanged, needing_build, failed, requests;
	uint64_t bytes;
};

/* The columns of --json. */
struct output projects_output(const struct options *options);

/* Ask the index; all requests are counted. */
int projects_ask(struct catalogue *all, const struct transfer_request *request,
                 struct error *error);

/*
 * Ask for the next ones that are wanted, as many as may be under way: each that ends asks for
 * another one, while the transfers run. Each goes to the cache. What cannot be read is
 * reported, and counted.
 */
int projects_start(struct catalogue *all, struct error *error);

#endif
