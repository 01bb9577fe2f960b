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
	return code == 0 && selection->set->failed ? error_nomem(error) : code;
}

/* Those of databases first; what cannot be read says so where entry points are asked for. */
static int ask_for_plugins(struct selection *selection, struct error *error)
{
	struct plugin_kinds *kinds;
	int code = kinds_of_handle(selection->db, &kinds, error);

	if (code == 0)
		code = rows_provider.offer(selection, error);
	if (code == 0)
		code = offer_plugins_on_disk(selection, error);
	return code == 0 && selection->set->failed ? error_nomem(error) : code;
}

struct request {
	struct slice group, name;
	bool explain, plugins;
	struct entrydb_set *set; /* the answer */
};

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
		code = request->plugins ? ask_for_plugins(&selection, error)
		                        : ask_providers(&selection, error);
		shadowing_free(&selection.shadowing);
	}
	if (code < 0) {
		entrydb_set_free(selection.set);
		return code;
	}
	set_sort(selection.set, request->plugins || db->rules == ENTRYDB_PYTHON_3_10);
	request->set = selection.set;
	return 0;
}

static int ask(entrydb *db, struct request request, entrydb_set **out, entrydb_error *error)
{
	int code = handle_ask(db, answer, &request, error);

	if (code == 0)
		*out = request.set;
	return code;
}

int entrydb_select(entrydb *db, const char *group, const char *name, entrydb_set **out,
                   entrydb_error *error)
{
	return ask(db, (struct request){.group = slice_of(group), .name = slice_of(name)}, out,
	           error);
}

int entrydb_explain(entrydb *db, const char *group, const char *name, entrydb_set **out,
                    entrydb_error *error)
{
	return ask(
	        db,
	        (struct request){.group = slice_of(group), .name = slice_of(name), .explain = true},
	        out, error);
}

int entrydb_plugins(entrydb *db, const char *kind, const char *name, entrydb_set **out,
                    entrydb_error *error)
{
	return ask(
	        db,
	        (struct request){.group = slice_of(kind), .name = slice_of(name), .plugins = true},
	        out, error);
}

/* @payload: the text. */
static int add_kinds(struct entrydb *db, void *payload, struct error *error)
{
	struct plugin_kinds *kinds;
	int code = kinds_of_handle(db, &kinds, error);

	return code < 0 ? code : plugin_kinds_add(kinds, slice_of(payload), error);
}

int entrydb_add_plugin_kinds(entrydb *db, const char *text, entrydb_error *error)
{
	return handle_ask(db, add_kinds, (void *)text, error);
}
