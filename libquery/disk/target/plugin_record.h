/*
 * plugin_record.h - the native plugins of a distribution that announce themselves by
 * nothing but their symbols.
 */
#ifndef LIBQUERY_DISK_TARGET_PLUGIN_RECORD_H
#define LIBQUERY_DISK_TARGET_PLUGIN_RECORD_H

#include "libquery/disk/target/object.h"
#include "libquery/disk/target/plugin_kinds.h"

#define PLUGIN_OBJECTS_MAX ((size_t)4096) /* shared objects of one distribution looked at */
#define PLUGIN_UP_MAX      3 /* "../" before a path: PREFIX/lib/pythonX.Y/site-packages */

/*
 * Look at the shared objects that @record lists and that may be plugins of @kinds. Those
 * found are added to @distribution, in the order of RECORD; memory comes from @arena. What
 * only Python can open is none. Each error is a failure (error.h).
 */
int plugin_records(const struct object_site *site, const struct wheel_record *record,
                   const struct plugin_kinds *kinds, struct distribution_record *distribution,
                   struct arena *arena, struct error *error);

/* Is @object a path that plugin_records() would have looked at? */
bool plugin_path_is_sound(struct slice object);

/*
 * The same for one object, of which only the plugin with @symbol is wanted: 1: it is as
 * @target now says; 0: there is none any more; or a failure.
 */
int plugin_resolve(const struct object_site *site, const struct wheel_file *file,
                   struct slice symbol, struct arena *arena, struct target_record *target,
                   struct error *error);

#endif
