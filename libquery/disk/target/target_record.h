/*
 * target_record.h - the targets of a distribution's entry points, as records.
 */
#ifndef LIBQUERY_DISK_TARGET_TARGET_RECORD_H
#define LIBQUERY_DISK_TARGET_TARGET_RECORD_H

#include "db/base/error.h"
#include "db/record.h"
#include "libquery/disk/target/import_path.h"
#include "libquery/disk/target/plugin_kinds.h"
#include "libquery/disk/tree/tree.h"

#define RECORD_MAX         ((size_t)32 << 20) /* bytes of a RECORD */
#define PLUGIN_OBJECTS_MAX ((size_t)4096)     /* shared objects of one distribution looked at */
#define PLUGIN_UP_MAX      3 /* "../" before a path: PREFIX/lib/pythonX.Y/site-packages */

/* What the distributions of one path entry have in common; all may be NULL, or null. */
struct target_context {
	struct import_cache *cache;       /* where more of them are read; see import_path.h */
	struct linkage *linkage;          /* to judge shared objects by; see linkage.h */
	struct slice place;               /* absolute path of the path entry, without the sysroot */
	const struct plugin_kinds *kinds; /* of plugins to look for */
};

/*
 * Resolve every entry point of @distribution in @tree, and find its native plugins that
 * announce themselves by nothing but their symbols, if @context has kinds of them and the
 * distribution a RECORD: in the order of that; what only Python can open is none. What leads to a
 * Python module at hand keeps a NULL target. Also takes the hash of entry_points.txt out of
 * RECORD. Memory comes from @arena. Each error is a failure (error.h).
 */
typedef int target_finder(struct tree *tree, const struct target_context *context,
                          struct distribution_record *distribution, struct arena *arena,
                          struct error *error);
target_finder target_records;

/*
 * What the plugin with @symbol in the @object of the distribution @child is; it may be gone,
 * which is TARGET_MISSING. Each error is a failure.
 */
int target_plugin(struct tree *tree, const struct target_context *context, struct slice child,
                  struct slice object, struct slice symbol, struct arena *arena,
                  struct target_record *target, struct error *error);

/* Is @object, relative to the path entry, a path at which plugins are looked for? */
bool target_plugin_is_sound(struct slice object);

#endif
