/*
 * path_entry.c - see path_entry.h.
 */
#include "libquery/path_entry.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "libquery/source.h"

/* str(pathlib.Path(spelled)) followed by a slash, or "" for the current directory. */
static char *display_of(const char *spelled)
{
	size_t slashes = strspn(spelled, "/");
	char *display = malloc(strlen(spelled) + 3), *to = display;

	if (!display)
		return NULL;
	if (slashes)
		to = stpcpy(to, slashes == 2 ? "//" : "/");
	for (const char *from = spelled; *from;) {
		size_t len = strcspn(from, "/");

		if (len > 0 && !(len == 1 && from[0] == '.')) {
			memcpy(to, from, len);
			to += len;
			*to++ = '/';
		}
		from += len + (from[len] == '/');
	}
	*to = '\0';
	return display;
}

int entry_init(struct path_entry *entry, const char *spelled, const char *sysroot,
               struct error *error)
{
	CLEANUP(cleanup_free) char *inside = text_format("%s%s", sysroot ? sysroot : "", spelled);

	*entry = (struct path_entry){.spelled = strdup(spelled), .source = SOURCE_NONE};
	entry->relative = spelled[0] != '/';
	entry->display = inside ? display_of(inside) : NULL;
	if (entry->spelled && entry->display)
		return 0;
	entry_free(entry);
	return error_nomem(error);
}

void entry_forget_scan(struct path_entry *entry)
{
	root_record_free(&entry->scanned);
	root_record_free(&entry->reused);
}

/* --- where distributions stand --- */

static size_t number_of(int64_t id)
{
	return (size_t)(id & (DISTRIBUTIONS_MAX - 1));
}

bool entry_keep_standings(struct path_entry *entry, const struct root_record *scanned)
{
	size_t count = 0;

	entry_forget_standings(entry);
	for (size_t i = 0; i < scanned->distribution_count; i++)
		if (number_of(scanned->distributions[i].id) >= count)
			count = number_of(scanned->distributions[i].id) + 1;
	entry->standings = calloc(count + 1, sizeof(*entry->standings));
	if (!entry->standings)
		return false;
	entry->standing_count = count;
	entry->still_watched = scanned->watched;
	for (size_t i = 0; i < scanned->distribution_count; i++)
		entry->standings[number_of(scanned->distributions[i].id)] = (struct standing){
		        .position = scanned->distributions[i].position,
		        .watched = scanned->distributions[i].watched,
		};
	return true;
}

void entry_forget_standings(struct path_entry *entry)
{
	free(entry->standings);
	entry->standings = NULL;
	entry->standing_count = 0;
}

uint32_t entry_position(const struct path_entry *entry, int64_t id, uint32_t position)
{
	size_t number = number_of(id);

	return number < entry->standing_count ? entry->standings[number].position : position;
}

bool entry_watches(const struct path_entry *entry, const struct distribution_record *row)
{
	size_t number = number_of(row->id);

	return number < entry->standing_count ? entry->standings[number].watched : row->watched;
}

void entry_free(struct path_entry *entry)
{
	entry_forget_standings(entry);
	entry_forget_scan(entry);
	root_record_free(&entry->row);
	free(entry->spelled);
	free(entry->path);
	free(entry->display);
}
