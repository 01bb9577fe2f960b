/*
 * settings.c - collects local configuration: additions to lists.sql, entry points forbidden by
 * policy, quarantined shared objects.
 *
 *     # /etc/entrydb/audit.conf, $XDG_CONFIG_HOME/entrydb/audit.conf
 *     group my_company.hooks* when the deployment tool starts
 *     command deploy my-company-deploy
 *
 * A file that other users could have written is rejected: naming a provider of a command exempts it
 * from a rule.
 */
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "indexer/audit/collect.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/layout.h"
#include "libquery/load.h"
#include "libquery/native/quarantine.h"
#include "libquery/policy.h"

#define LIST_MAX ((size_t)1 << 20) /* bytes */

/* --- lists --- */

static void read_line(struct collect *collect, struct slice line, const char *file, size_t number)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	struct slice rest = unicode_strip(line), verb, name;

	if (rest.len == 0 || rest.ptr[0] == '#')
		return;
	verb = unicode_take_word(&rest);
	name = unicode_take_word(&rest);
	if (name.len > 0 && slice_equal(verb, SLICE("group"))) {
		worksheet_put(collect->sheet, "unasked_group",
		              FACTS(fact(name), fact(rest.len ? rest : SLICE("unasked"))));
	} else if (name.len > 0 && slice_equal(verb, SLICE("command"))) {
		worksheet_put(collect->sheet, "known_command", FACTS(fact(name)));
		while (rest.len > 0) {
			struct slice provider = distname_normalize_in(
			        &arena, unicode_take_word(&rest), &collect->no_memory);

			worksheet_put(collect->sheet, "provider",
			              FACTS(fact(name), fact(provider)));
		}
	} else {
		error_set(&collect->error, ERROR_FORMAT,
		          "%s, line %zu: expected 'group PATTERN WHEN' or 'command NAME "
		          "DISTRIBUTION...'",
		          file, number);
	}
}

static void read_list(struct collect *collect, const char *file)
{
	const struct readers *readers = &collect->readers; /* messages quote the list */
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct slice text = {0};

	if (file && collect->error.code == 0 &&
	    safe_is_readable(file, readers->beside, NULL, readers->mode))
		small_file_read_trusted(file, LIST_MAX, TRUST_NO_OTHER, &bytes, &text.len,
		                        &collect->error);
	text.ptr = bytes;
	for (size_t number = 1; text.len > 0 && collect_goes_on(collect); number++)
		read_line(collect, slice_take_line(&text), file, number);
}

void settings_read_lists(struct collect *collect)
{
	CLEANUP(cleanup_free) char *own = NULL;

	collect->no_memory |= layout_user_config(LAYOUT_USER_AUDIT, &own) < 0;
	read_list(collect, "/etc/entrydb/audit.conf");
	read_list(collect, own && safe_is_of_another(own) ? NULL : own);
}

/* --- quarantine --- */

static int keep(void *payload, const char *id, const char *object, const char *reason)
{
	struct collect *collect = payload;

	(void)object; /* a build is identified by its id; copies may exist elsewhere */
	worksheet_put(collect->sheet, "quarantine", FACTS(fact(id), fact(reason)));
	return 0;
}

/*
 * Read the caller's quarantine (libquery/native/quarantine.h). It is keyed by build ID, which takes
 * reading each object: done only if the quarantine is not empty. Missing files are skipped. The
 * directory is private, so nothing of it is published.
 */
void settings_read_quarantine(struct collect *collect)
{
	CLEANUP(cleanup_free) char *directory = NULL;
	struct worksheet_rows *row;

	if (collect->readers.mode)
		return;
	collect->no_memory |= layout_user_state(LAYOUT_QUARANTINE, &directory) < 0;
	if (directory)
		quarantine_walk(directory, keep, collect, &collect->error);
	row = worksheet_walk(collect->sheet, "may_be_quarantined", NULL);
	while (collect_goes_on(collect) && worksheet_next(row)) {
		CLEANUP(cleanup_free) char *build = NULL;
		struct slice path = worksheet_text(row, 0);
		struct error own = {0};

		if (path.ptr && object_id(path.ptr, &build, &own) == 0)
			worksheet_put(collect->sheet, "object", FACTS(fact(path), fact(build)));
		error_move_failure(&collect->error, &own);
	}
}

/* --- policy --- */

/* @row: of may_be_forbidden. */
static int ask(struct collect *collect, entrydb *db, const char *path, struct worksheet_rows *row)
{
	const struct entrydb_entry_point subject = {
	        .text = {[ENTRYDB_FIELD_GROUP] = worksheet_text(row, 2),
	                 [ENTRYDB_FIELD_NAME] = worksheet_text(row, 3),
	                 [ENTRYDB_FIELD_DISTRIBUTION] = worksheet_text(row, 4),
	                 [ENTRYDB_FIELD_PATH] = slice_of(path)}};
	entrydb_verdict *verdict = NULL;
	int code = policy_check(db, &subject, POLICY_AGE, &verdict, &collect->error);

	if (code == 0 && !entrydb_verdict_allowed(verdict))
		worksheet_put(collect->sheet, "forbidden_entry",
		              FACTS(fact(worksheet_number(row, 1)),
		                    fact(entrydb_verdict_reason(verdict))));
	entrydb_verdict_free(verdict);
	return code;
}

/* One site at a time: each environment has its own policy. */
static void read_policy_of(struct collect *collect, const char *path, int64_t site)
{
	const entrydb_options how = {.size = sizeof(how), .sysroot = collect->options->sysroot};
	struct worksheet_rows *row = NULL;
	entrydb_verdict *verdict = NULL;
	entrydb *db = NULL;
	entrydb_error own = {0};
	int any = 0, code = entrydb_open(&path, 1, &how, &db, &own);

	if (code == 0 && collect->readers.mode)
		policy_publish(db, collect->readers);
	if (code == 0)
		code = entrydb_has_policy(db, &any, &own);
	if (code == 0 && any) /* report unreadable rules even for a site without entry points */
		code = entrydb_check_policy(db, "", "", NULL, path, &verdict, &own);
	entrydb_verdict_free(verdict);
	if (code == 0 && any)
		row = worksheet_walk(collect->sheet, "may_be_forbidden", FACTS(fact(site)));
	if (code < 0)
		take_error(code, &own, &collect->error);
	while (code == 0 && worksheet_next(row))
		code = ask(collect, db, path, row);
	entrydb_close(db);
}

void settings_read_policy(struct collect *collect)
{
	int64_t site = 0;

	for (size_t i = 0; i < collect->databases->count; i++) {
		const struct database *database = &collect->databases->items[i];

		for (size_t j = 0; j < database->root_count && collect_goes_on(collect); j++) {
			read_policy_of(collect, database->roots[j].inside, ++site);
			collect_tell(collect);
		}
	}
}
