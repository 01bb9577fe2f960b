/*
 * path_entry.c - path entries and the current positions of their rows.
 */
#include "libquery/handle.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "db/base/text.h"
#include "libquery/layout.h"

/* str(pathlib.Path(spelled)) with a final slash, or an index's URL, which has one; "" for the
 * current directory. */
static char *display_of(const char *spelled)
{
	CLEANUP(cleanup_free) char *tidy = text_format("/%s", spelled);
	size_t slashes = strspn(spelled, "/");

	if (!tidy)
		return NULL;
	if (layout_is_url(slice_of(spelled)))
		return strdup(spelled);
	path_tidy(tidy, false);
	return text_format("%s%s%s", slashes == 2 ? "/" : "", slashes ? tidy : tidy + 1,
	                   tidy[1] ? "/" : "");
}

int entry_init(struct path_entry *entry, const char *spelled, const char *sysroot,
               struct error *error)
{
	CLEANUP(cleanup_free) char *inside = text_format("%s%s", sysroot ? sysroot : "", spelled);

	*entry = (struct path_entry){
	        .spelled = strdup(spelled), .source = SOURCE_NONE, .state = ENTRY_UNKNOWN};
	entry->relative = spelled[0] != '/';
	entry->display = inside ? display_of(inside) : NULL;
	if (entry->spelled && entry->display)
		return 0;
	entry_free(entry);
	return error_nomem(error);
}

void entry_forget_read(struct path_entry *entry)
{
	root_record_free(&entry->read);
	free(take(entry->places));
	entry->place_count = 0;
	entry->is_proven = entry->nameless = false;
}

void entry_free(struct path_entry *entry)
{
	entry_forget_read(entry);
	root_record_free(&entry->row);
	free(entry->spelled);
	free(entry->path);
	free(entry->display);
}

/* --- places --- */

static size_t number_of(int64_t id)
{
	return (size_t)(id & (DISTRIBUTIONS_MAX - 1));
}

bool entry_make_places(struct path_entry *entry)
{
	size_t count = 1;

	for (size_t i = 0; i < entry->row.distribution_count; i++)
		if (number_of(entry->row.distributions[i].id) >= count)
			count = number_of(entry->row.distributions[i].id) + 1;
	free(entry->places);
	entry->places = calloc(count, sizeof(*entry->places));
	entry->place_count = entry->places ? count : 0;
	/* With gcc -Os, a loop of no iterations becomes memset(NULL, ...): then not NULL. */
	if (!entry->places)
		return false;
	for (size_t i = 0; i < count; i++)
		entry->places[i] = ROW_INVALID;
	return true;
}

void entry_place_row(struct path_entry *entry, int64_t id, uint32_t position)
{
	entry->places[number_of(id)] = position;
}

bool entry_row_is_valid(const struct path_entry *entry, int64_t id, uint32_t *position)
{
	size_t number = number_of(id);

	if (!entry->places)
		return true;
	if (number >= entry->place_count || entry->places[number] == ROW_INVALID)
		return false;
	*position = entry->places[number];
	return true;
}
