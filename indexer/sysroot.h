/*
 * sysroot.h - the option --root: another file-system root, such as an image.
 */
#ifndef INDEXER_SYSROOT_H
#define INDEXER_SYSROOT_H

#include "indexer/options.h"

/*
 * From now on, links below options->sysroot, which becomes absolute, lead to what they mean in
 * there (db/base/file.h): nothing of the host gets into a database of an image. To be called
 * before there are threads.
 */
enum status sysroot_enter(struct options *options);

#endif
