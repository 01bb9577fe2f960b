/*
 * site_kinds.h - the kinds of plugins that this machine knows: those that are compiled in,
 * and the site's own in /etc/entrydb/plugin-kinds.conf.
 */
#ifndef LIBQUERY_DISK_TARGET_SITE_KINDS_H
#define LIBQUERY_DISK_TARGET_SITE_KINDS_H

#include "libquery/disk/target/plugin_kinds.h"

#define SITE_KINDS_FILE "/etc/entrydb/plugin-kinds.conf"

/*
 * Load both; the caller frees *@out. @sysroot: where the file is looked for, or NULL. A
 * file that is wrong, or that others than root and the caller could have written, is left
 * out, and @problem (which may be NULL) says why. Each error that is returned is a failure.
 */
int site_kinds_load(const char *sysroot, struct plugin_kinds **out, struct error *problem,
                    struct error *error);

static inline void cleanup_plugin_kinds(struct plugin_kinds **kinds) /* for CLEANUP() */
{
	plugin_kinds_free(*kinds);
}

#endif
