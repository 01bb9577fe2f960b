/*
 * target_record.h - resolves the entry points and native plugins of a distribution to records.
 */
#ifndef LIBQUERY_DISK_TARGET_TARGET_RECORD_H
#define LIBQUERY_DISK_TARGET_TARGET_RECORD_H

#include "db/base/error.h"
#include "db/record.h"
#include "libquery/disk/target/import_path.h"
#include "libquery/disk/target/plugin_kinds.h"
#include "libquery/disk/tree/tree.h"

#define RECORD_MAX         ((size_t)32 << 20) /* bytes of a RECORD */
#define PLUGIN_OBJECTS_MAX ((size_t)4096)     /* shared objects examined in one distribution */
#define PLUGIN_UP_MAX      3 /* "../" before a path: PREFIX/lib/pythonX.Y/site-packages */

/* Data shared by the distributions of a path entry; all may be NULL or null. */
struct target_context {
	struct import_cache *cache;       /* if several are read; see import_path.h */
	struct linkage *linkage;          /* to examine shared objects; see linkage.h */
	struct slice place;               /* absolute path of the path entry, without the sysroot */
	const struct plugin_kinds *kinds; /* of plugins to search for */
};

/*
 * Resolve every entry point of @distribution in @tree; if @context has kinds of plugins and the
 * distribution a RECORD, also find its native plugins, in the order of RECORD, without Python
 * extensions. Existing Python modules keep a NULL target. Also reads the hash of entry_points.txt
 * from RECORD. Memory comes from @arena. Each error is transient (error.h).
 */
typedef int target_finder(struct tree *tree, const struct target_context *context,
                          struct distribution_record *distribution, struct arena *arena,
                          struct error *error);
target_finder target_records;

/*
 * Resolve the plugin @symbol in the @object of the distribution @child; if it no longer exists,
 * TARGET_MISSING. Each error is transient.
 */
int target_plugin(struct tree *tree, const struct target_context *context, struct slice child,
                  struct slice object, struct slice symbol, struct arena *arena,
                  struct target_record *target, struct error *error);

/* Is @object, relative to the path entry, a path where plugins may be? */
bool target_plugin_is_sound(struct slice object);

#endif
