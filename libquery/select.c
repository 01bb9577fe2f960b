/*
 * select.c - from a question to an answer: ask the providers, put in order; see offer.h.
 */
#include "libquery/offer.h"

#define PROVIDER_COUNT 2

static const struct provider *const providers[PROVIDER_COUNT] = {&rows_provider, &scans_provider};

static int enter_all(struct contest *contest, struct error *error)
{
	int code = 0;

	for (size_t p = 0; code == 0 && p < PROVIDER_COUNT; p++)
		code = providers[p]->enter(contest, error);
	return code;
}

/* The problems are told path entry by path entry. */
static int ask_providers(struct selection *selection, struct error *error)
{
	int code = 0;

	for (size_t p = 0; code == 0 && p < PROVIDER_COUNT; p++)
		code = providers[p]->offer(selection, error);
	for (size_t i = 0; code == 0 && i < selection->db->entry_count; i++)
		for (size_t p = 0; code == 0 && p < PROVIDER_COUNT; p++)
			code = providers[p]->complain(selection, i, error);
	return code;
}

static int answer(struct entrydb *db, void *payload, struct error *error)
{
	struct request *request = payload;
	struct selection selection = {
	        .db = db,
	        .group = request->group,
	        .name = request->name,
	        .explain = request->explain,
	        .plugins = request->plugins,
	        .set = set_create(),
	        .told = PLACE_NONE,
	};
	int code = selection.set ? refresh(db, error) : error_nomem(error);

	if (selection.set)
		selection.set->nameless = handle_omits_names(db);
	if (code == 0) {
		shadowing_init(&selection.shadowing, db, enter_all);
		code = request->ask_providers(&selection, error);
		shadowing_free(&selection.shadowing);
	}
	if (code == 0 && selection.set->failed)
		code = error_nomem(error);
	if (code < 0) {
		entrydb_set_free(selection.set);
		return code;
	}
	set_sort(selection.set, request->plugins || db->rules == ENTRYDB_PYTHON_3_10);
	request->set = selection.set;
	return 0;
}

int offer_ask(struct entrydb *db, struct request request, struct entrydb_set **out,
              entrydb_error *error)
{
	int code = handle_ask(db, answer, &request, error);

	if (code == 0)
		*out = request.set;
	return code;
}

int entrydb_select(entrydb *db, const char *group, const char *name, entrydb_set **out,
                   entrydb_error *error)
{
	return offer_ask(db,
	                 (struct request){.group = slice_of(group),
	                                  .name = slice_of(name),
	                                  .ask_providers = ask_providers},
	                 out, error);
}

int entrydb_explain(entrydb *db, const char *group, const char *name, entrydb_set **out,
                    entrydb_error *error)
{
	return offer_ask(db,
	                 (struct request){.group = slice_of(group),
	                                  .name = slice_of(name),
	                                  .explain = true,
	                                  .ask_providers = ask_providers},
	                 out, error);
}
