/*
 * sysroot.h - the file-system root that a command is about.
 */
#ifndef INDEXER_SYSROOT_H
#define INDEXER_SYSROOT_H

#include "db/base/error.h"

/*
 * From now on, links below *@path, which becomes absolute, lead to what they mean in there
 * (db/base/file.h): nothing of the host gets into a database of an image. It stays until another
 * is entered, or the process ends. To be called before there are threads.
 */
int sysroot_enter(const char **path, struct error *error);

#endif
