/*
 * gone.h - the roots of a database that are no longer on the disk.
 *
 * An environment loses a site directory when its Python is upgraded: nobody names
 * that one again, so each update looks for all that its database knows.
 */
#ifndef INDEXER_GONE_H
#define INDEXER_GONE_H

#include "db/record.h"
#include "indexer/command.h"
#include "indexer/databases.h"
#include "libquery/sites.h"

struct gone {
	struct sites paths; /* as the database spells them */
	char *base;         /* what they are relative to */
	bool in_sysroot;    /* --root is given */
};

/* Begin with none of @database's. 0 or ERROR_NOMEM. */
int gone_begin(struct gone *gone, const struct options *options, const struct database *database);

/* A root_each, for a struct gone: take down the root's path if nothing is there. */
int gone_collect(void *gone, const struct root_record *root);

void gone_free(struct gone *gone);

#endif
