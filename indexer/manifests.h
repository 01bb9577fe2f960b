/*
 * manifests.h - the files in which other hosts look for their plugins.
 *
 *     adbc     PREFIX/etc/adbc/drivers/NAME.toml        ADBC's driver manager
 *     opencl   PREFIX/etc/OpenCL/vendors/NAME.icd       the loaders of OpenCL's drivers
 *
 * In the directory stands also .entrydb, a list of the files that were written, each with
 * its hash. It says that they are to be kept current, and which files are ours: what is
 * not in it, or has another hash by now, belongs to others, and is neither replaced nor
 * removed. Without the list, nothing is written any more.
 */
#ifndef INDEXER_MANIFESTS_H
#define INDEXER_MANIFESTS_H

#include "indexer/command.h"
#include "indexer/databases.h"

#define MANIFESTS_LIST     ".entrydb"
#define MANIFESTS_LIST_MAX ((size_t)1 << 20) /* bytes */
#define MANIFEST_MAX       ((size_t)1 << 16) /* bytes; a larger file is not ours */
#define MANIFEST_NAME_MAX  64                /* bytes of a plugin's name */

struct manifests_result {
	size_t written, removed, unchanged;
	size_t foreign; /* left alone, since others have written them; reported */
};

/* One of those above; NULL: there is none of that name. */
struct manifests_host;
const struct manifests_host *manifests_find(const char *name);

/* Those hosts' names, for a message. */
extern const char manifests_hosts[];

/*
 * Bring the manifests of @host in the prefix that @database belongs to up to date.
 * @begin: make the list if there is none; else nothing is done without it. ERROR_INVALID:
 * the database belongs to no prefix; ERROR_PERMISSION: see database_check_owner().
 */
int manifests_write(const struct options *options, const struct database *database,
                    const struct manifests_host *host, bool begin, struct manifests_result *result,
                    struct error *error);

/* All hosts whose manifests are kept, after an update; failures are only reported. */
void manifests_follow(const struct options *options, const struct database *database);

#endif
