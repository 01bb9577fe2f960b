/*
 * sysroot.h - the file-system root of --root.
 */
#ifndef INDEXER_SYSROOT_H
#define INDEXER_SYSROOT_H

#include "db/base/error.h"

/*
 * Resolve links below *path, which is made absolute, inside it from now on (db/base/file.h), so
 * that no file of the host is recorded for an image. Applies until another sysroot is entered or
 * the process ends. Call it before starting threads.
 */
int sysroot_enter(const char **path, struct error *error);

#endif
