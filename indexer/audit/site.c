/*
 * site.c - reads the current state of a site directory.
 *
 * Findings must be true now, but the database describes the past. So each site is scanned, reusing
 * rows of the database for everything unchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "indexer/audit/collect.h"
#include "indexer/update/needed.h"
#include "libquery/layout.h"

static void find_environment(struct site *site, const char *inside)
{
	long len = layout_prefix(site->path);
	CLEANUP(cleanup_free) char *conda = NULL;
	struct stat status;

	site->managed = layout_prefix(inside) == 4 && strncmp(inside, "/usr", 4) == 0;
	site->prefix = collect_path(site->collect, "%.*s", len > 0 ? (int)len : 0, site->path);
	if (len >= 0 && site->prefix)
		site->commands = collect_path(site->collect, "%s/bin", site->prefix);
	conda = collect_path(site->collect, "%s/conda-meta", site->prefix ? site->prefix : "");
	site->is_conda = collect_status(site->collect, conda, &status);
	site->owner =
	        collect_status(site->collect, site->path, &status) ? status.st_uid : geteuid();
	worksheet_put(site->collect->sheet, "site",
	              FACTS(fact(site->id), fact(site->path), fact(site->prefix),
	                    fact(site->commands), fact(site->managed), fact(site->is_conda)));
}

/* --- history --- */

struct history {
	struct site *site;
	struct slice root; /* as stored in the database */
};

static int put_event(void *payload, const struct event_record *event)
{
	const struct history *history = payload;

	if (slice_equal(event->root, history->root))
		worksheet_put(history->site->collect->sheet, "event",
		              FACTS(fact_null(), fact(history->site->id), fact(event->time),
		                    fact(event->action), fact(event->distribution),
		                    fact(event->old_version), fact(event->version),
		                    fact(event->detail), fact(event->command), fact(event->uid)));
	return 0;
}

/* Load the rows of the database for comparison; none if they are unavailable. */
static void read_known(struct site *site, const struct database_root *wanted, struct reader *reader)
{
	struct history history = {site, slice_of(wanted->root_path)};
	struct error *error = &site->collect->error;

	if (reader && collect_goes_on(site->collect) &&
	    (reader_root(reader, history.root, &site->known, error) <= 0 ||
	     reader_distributions(reader, &site->known, true, error) == 0) &&
	    error->code == 0)
		reader_events(reader, put_event, &history, error);
}

/* --- the disk --- */

static void scan(struct site *site, const struct database_root *wanted)
{
	struct scan_options how = root_scan(wanted, site->collect->readers, NULL, NULL);

	if (!collect_goes_on(site->collect))
		return;
	if (site->known.kind == ROOT_DIRECTORY)
		how.known = &site->known;
	scan_path(site->path, &how, &site->disk, &site->collect->error);
	for (size_t i = 0; i < site->disk.startup_count; i++) {
		const struct startup_record *row = &site->disk.startups[i];

		worksheet_put(site->collect->sheet, "startup",
		              FACTS(fact(site->id), fact(row->file), fact(row->line),
		                    fact(startup_kinds.all[row->kind]), fact(row->code)));
	}
}

/* A directory without read permission looks empty to this user, but not to others. */
static void check_withheld(const struct site *site)
{
	if (!file_can_list(site->path) && errno == EACCES)
		site_complain(site, "unread", 0, slice_of(site->path),
		              "the directory cannot be read");
}

static void cleanup_site(struct site *site)
{
	free(site->prefix);
	free(site->commands);
	root_record_free(&site->disk);
	root_record_free(&site->known);
	path_index_free(&site->places);
	arena_free(&site->texts);
}

void site_read(struct collect *collect, int64_t id, const struct database_root *wanted,
               struct reader *reader)
{
	CLEANUP(cleanup_site)
	struct site site = {.collect = collect, .id = id, .path = wanted->path};

	find_environment(&site, wanted->inside);
	read_known(&site, wanted, reader);
	scan(&site, wanted);
	if (!collect_goes_on(collect))
		return;
	check_withheld(&site);
	if (site.disk.kind == ROOT_DIRECTORY)
		places_read(&site, wanted->inside);
	record_read(&site);
	if (site.disk.kind == ROOT_DIRECTORY)
		files_read(&site);
	names_read(&site);
}

/* --- archives and package indexes --- */

/* Keep the first of several versions, and drop broken distributions. */
static void drop_others(struct site *site)
{
	CLEANUP(name_map_free) struct name_map names = {0};
	struct root_record *disk = &site->disk;
	size_t kept = 0;

	for (size_t i = 0; i < disk->distribution_count; i++) {
		const struct distribution_record *row = &disk->distributions[i];
		size_t before = names.count;

		if (!slice_is_null(row->error))
			continue;
		name_map_put(&names, row->normalized_name, 0, &site->collect->no_memory);
		if (names.count > before)
			disk->distributions[kept++] = *row;
	}
	disk->distribution_count = kept;
}

/*
 * All packages of an index could be installed together; its URL stands for the directory of
 * commands.
 */
void site_read_catalogued(struct collect *collect, int64_t id, const struct root_record *root,
                          struct reader *reader)
{
	struct slice place = root->path;
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_site) struct site site = {.collect = collect, .id = id};

	place.len -= slice_ends(place, SLICE("/"));
	site.path = path = collect_path(collect, "%.*s", SLICE_ARGS(place));
	site.disk = *root;
	site.disk.arena = ARENA_INIT;
	if (!path || reader_distributions(reader, &site.disk, true, &collect->error) < 0)
		return;
	drop_others(&site);
	worksheet_put(collect->sheet, "site",
	              FACTS(fact(id), fact(path), fact(""), fact(path), fact(0), fact(0)));
	record_catalogued(&site);
	names_read(&site);
}
