/*
 * export.c - write the manifests in which a host looks for its plugins, and keep them.
 */
#include "db/base/cleanup.h"
#include "indexer/command.h"
#include "indexer/manifests.h"
#include "indexer/options.h"
#include "indexer/verb.h"

/* What is exported is what is installed now. */
static enum status update_and_export(const struct options *options,
                                     const struct manifests_host *host)
{
	CLEANUP(databases_free) struct databases databases = {0};
	struct options silent = *options;
	enum status status;
	struct error error = {0};

	silent.quiet = true;
	status = command_update(&silent);
	if (status != STATUS_DONE)
		return status;
	if (databases_of_arguments(options, true, &databases, &error) < 0)
		return fail(&error);
	for (size_t i = 0; i < databases.count; i++) {
		const struct database *database = &databases.items[i];
		struct manifests_result result = {0};

		if (manifests_write(options, database, host, true, &result, &error) < 0) {
			status = fail(&error);
			continue;
		}
		note(options, "%s: %zu manifests written, %zu removed, %zu unchanged",
		     database->file, result.written, result.removed, result.unchanged);
		if (result.foreign)
			status = STATUS_COULD_NOT;
	}
	return databases.left_alone ? STATUS_COULD_NOT : status;
}

enum status command_export(const struct options *options)
{
	CLEANUP(sites_free) struct sites sites = {0};
	const struct manifests_host *host = manifests_find(options->arguments[0]);
	struct options rest = *options;
	struct error error = {0};

	if (!host)
		return usage_error("export", "there is no host '%s': expected %s",
		                   options->arguments[0], manifests_hosts);
	rest.arguments++;
	rest.argument_count--;
	if (rest.argument_count == 0) {
		if (default_sites(options, &sites, &error) < 0)
			return fail(&error);
		rest.arguments = (const char **)sites.paths;
		rest.argument_count = sites.count;
	}
	return update_and_export(&rest, host);
}
