/*
 * export.c - writes the manifests of a host's plugins and has updates keep them current.
 */
#include "db/base/cleanup.h"
#include "indexer/manifests.h"
#include "indexer/verb.h"

/* Update first, so that the manifests are current. */
static int update_and_export(const struct options *options, const struct manifests_host *host,
                             struct error *error)
{
	CLEANUP(databases_free) struct databases databases = {0};
	struct options silent = *options;
	int status, code;

	silent.quiet = true;
	status = command_update(&silent, error);
	if (status != STATUS_DONE)
		return status;
	code = databases_of_arguments(options, true, &databases, error);
	if (code < 0)
		return code;
	for (size_t i = 0; i < databases.count; i++) {
		const struct database *database = &databases.items[i];
		struct manifests_result result = {0};

		if (manifests_write(options, database, host, true, &result, error) < 0) {
			status = fail(error);
			continue;
		}
		note(options, "%s: %zu manifests written, %zu removed, %zu unchanged",
		     database->file, result.written, result.removed, result.unchanged);
		if (result.foreign)
			status = STATUS_COULD_NOT;
	}
	return databases.left_alone ? STATUS_COULD_NOT : status;
}

int command_export(const struct options *options, struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	const struct manifests_host *host = manifests_find(options->arguments[0]);
	struct options rest = *options;
	int code = 0;

	if (!host)
		return usage_error("export", "there is no host '%s': expected %s",
		                   options->arguments[0], manifests_hosts);
	rest.arguments++;
	rest.argument_count--;
	if (rest.argument_count == 0) {
		code = default_sites(options, &sites, error);
		rest.arguments = (const char **)sites.paths;
		rest.argument_count = sites.count;
	}
	return code < 0 ? code : update_and_export(&rest, host, error);
}
