/*
 * extensions.h - would the extensions be loaded that are imported on the way to a module? By
 * reading what they need, as linkage.h does; no code of them runs.
 */
#ifndef INDEXER_VERBS_EXTENSIONS_H
#define INDEXER_VERBS_EXTENSIONS_H

#include "libquery/disk/tree/tree.h"
#include "libquery/disk/tree/wheel_record.h"

/*
 * Why one of @record, in a package that is imported for @module, would not be: a sentence,
 * malloc'd, or NULL. @tree: the path entry, which lies at @site, absolute and without @sysroot.
 * Libraries of other packages of the site count as found, as torch's libc10.so is once a program
 * has imported torch. Each error is a failure.
 */
int extensions_find_cause(const struct tree *tree, struct slice site, const char *sysroot,
                          const struct wheel_record *record, struct slice module, char **out,
                          struct error *error);

#endif
