/*
 * facts.c - see facts.h.
 */
#include "indexer/audit/facts.h"

void facts_put(const struct facts_site *site, const char *insert, int64_t distribution,
               struct slice file, const char *what)
{
	struct worksheet_query *put = worksheet_ask(site->sheet, insert);

	worksheet_number(put, site->id);
	worksheet_number(put, distribution);
	worksheet_text(put, file);
	worksheet_text(put, slice_of(what));
	worksheet_run(put);
}
