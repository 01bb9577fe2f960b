/*
 * needed.h - the libraries that come with an object, and are loaded with it. Private to libquery/.
 */
#ifndef LIBQUERY_NEEDED_H
#define LIBQUERY_NEEDED_H

#include "libquery/native/loader.h"

/*
 * Whoever can write a library that the dynamic linker loads with an object decides what runs: may
 * those be loaded that @object needs, and finds by its own RPATH or RUNPATH, and those that they
 * need? The system's own are not asked about. 0, or an error of loader_check().
 */
int needed_check(const struct loadable *object, struct error *error);

#endif
