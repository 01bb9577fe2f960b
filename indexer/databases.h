/*
 * databases.h - which databases a command is about, and which roots in each.
 */
#ifndef INDEXER_DATABASES_H
#define INDEXER_DATABASES_H

#include "command.h"
#include "sites.h"

/* A root that a command is to work on. */
struct database_root {
	char *path;      /* as the caller's machine has it, below --root if there is one */
	char *inside;    /* as it is below --root; equal to path without one */
	char *root_path; /* as the database spells it */
};

struct database {
	char *file;
	struct database_root *roots;
	size_t root_count;
	bool may_replace; /* the file's name is ours alone, not one from --db */
};

struct databases {
	struct database *items;
	size_t count;
};

void databases_free(struct databases *databases);

/*
 * Sort what the command's arguments name (without any: this machine's site
 * directories) by the databases that describe it. An argument is a site directory,
 * a zip or egg, or a prefix. @to_write: where the prefix's database cannot be
 * written, the user's own takes its place.
 */
int databases_of_arguments(const struct options *options, bool to_write, struct databases *out,
                           struct error *error);

/* The one database of one absolute path. */
int databases_add_path(const struct options *options, bool to_write, const char *path,
                       struct databases *out, struct error *error);

#endif
