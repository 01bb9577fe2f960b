/*
 * add_report.h - what is said of each archive that is added, and of all of them.
 */
#ifndef INDEXER_VERBS_ADD_REPORT_H
#define INDEXER_VERBS_ADD_REPORT_H

#include "db/record.h"
#include "indexer/archive/package.h"
#include "indexer/command.h"
#include "indexer/output.h"
#include "indexer/progress.h"
#include "indexer/update/edit.h"

struct add_report {
	const struct options *options;
	struct edit_result *result; /* where archives are counted */
	struct progress progress;
	struct output output;
};

enum add_state { ADD_ADDED, ADD_UNCHANGED, ADD_FAILED };

void add_report_open(struct add_report *report, const struct options *options,
                     struct edit_result *result);

/*
 * An archive could not be read: print "entrydb: FILE: reason", and clear @why. Returns
 * 0, for the others are added all the same; ERROR_IO if the user has interrupted.
 */
int add_report_failed(struct add_report *report, const char *path, struct error *why);

/*
 * What was read from the archive at @path: its broken distributions are reported, the
 * others counted.
 */
void add_report_archive(struct add_report *report, const char *path, const struct root_record *root,
                        enum add_state state);

/* Members of the archive that were left out for their paths. */
void add_report_ignored(struct add_report *report, const struct package *package);

/* The last line, of @archives archives. */
void add_report_summary(const struct add_report *report, size_t archives);

#endif
