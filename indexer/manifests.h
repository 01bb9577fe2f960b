/*
 * manifests.h - writes the manifests in which other programs look for plugins.
 *
 *     adbc     PREFIX/etc/adbc/drivers/NAME.toml        ADBC's driver manager
 *     opencl   PREFIX/etc/OpenCL/vendors/NAME.icd       OpenCL's loaders
 *
 * Each directory also contains .entrydb, a list of the files that were written, each with its hash.
 * It means that updates keep them current, and which files are ours: files that are not listed, or
 * have another hash now, belong to others and are neither replaced nor removed. Without the list
 * nothing is written.
 */
#ifndef INDEXER_MANIFESTS_H
#define INDEXER_MANIFESTS_H

#include "indexer/command.h"
#include "indexer/databases.h"

#define MANIFESTS_LIST     ".entrydb"
#define MANIFESTS_LIST_MAX ((size_t)1 << 20) /* bytes */
#define MANIFEST_MAX       ((size_t)1 << 16) /* bytes; larger files are not ours */
#define MANIFEST_NAME_MAX  64                /* bytes of a plugin's name */

struct manifests_result {
	size_t written, removed, unchanged;
	size_t foreign; /* files of others, left alone; reported */
};

/* Find a host by name; NULL if there is none. */
struct manifests_host;
const struct manifests_host *manifests_find(const char *name);

/* The names of the hosts, for messages. */
extern const char manifests_hosts[];

/*
 * Update the manifests of @host in the prefix of @database. @begin: create the list if there is
 * none; otherwise nothing is done without it. ERROR_INVALID: the database has no prefix;
 * ERROR_PERMISSION: see database_check_owner().
 */
int manifests_write(const struct options *options, const struct database *database,
                    const struct manifests_host *host, bool begin, struct manifests_result *result,
                    struct error *error);

/*
 * After an update, update the manifests of all hosts that have a list; failures are only printed.
 */
void manifests_follow(const struct options *options, const struct database *database);

#endif
