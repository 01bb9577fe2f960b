/*
 * archive_list.h - which archives the arguments of a command name.
 */
#ifndef INDEXER_VERBS_ARCHIVE_LIST_H
#define INDEXER_VERBS_ARCHIVE_LIST_H

#include "indexer/command.h"
#include "indexer/verbs/add_report.h"

struct archive_list {
	char **paths; /* as the user spells them, each once */
	size_t count, room;
};

/*
 * An argument is an archive, whatever its name, or a directory that is searched for
 * those whose name says so, in the order of names. What cannot be searched is
 * reported; fails for want of memory alone.
 */
int archive_list_find(struct archive_list *list, struct add_report *report, struct error *error);

void archive_list_free(struct archive_list *list);

#endif
