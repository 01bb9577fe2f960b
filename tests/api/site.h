/*
 * site.h - a scratch directory with site directories in it, and a handle on them.
 *
 * A failing assertion leaves the test by longjmp. Everything a test must release is therefore kept
 * in struct site, and released by site_teardown(). HOME and XDG_STATE_HOME are in the scratch
 * directory, and ENTRYDB_* are unset.
 */
#ifndef TESTS_API_SITE_H
#define TESTS_API_SITE_H

#include "../unit/test.h"
#include "entrydb.h"

#define SITE_PACKAGES "venv/lib/python3.12/site-packages"
#define SITE_DATABASE "venv/var/lib/entrydb/entry_points.db"
#define SITE_SETTLED  2200 /* milliseconds until the rows of an unchanged directory are trusted */

struct site_string;

struct site {
	const char *top;
	char *program; /* $ENTRYDB */
	entrydb *db;
	entrydb_set *set;
	entrydb_target *target;
	entrydb_path *described;
	entrydb_error error;
	struct site_string *strings;
};

int site_setup(void **state);
int site_teardown(void **state);

/* Formatted text, valid as long as the site. */
const char *site_text(struct site *site, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* The absolute path of @path in the scratch directory. */
const char *site_path(struct site *site, const char *path);

/* Write @text, or @length bytes, to @path in the scratch directory, creating its parents. */
void site_write(struct site *site, const char *path, const char *text);
void site_write_bytes(struct site *site, const char *path, const void *bytes, size_t length);

/* Remove @path in the scratch directory recursively. */
void site_remove(struct site *site, const char *path);

/* Add a distribution to directory @where; without METADATA if @version is NULL. */
void site_distribution(struct site *site, const char *where, const char *directory,
                       const char *name, const char *version, const char *entry_points);

/* Copy a shared object of tests/fixtures/plugins to @path in the scratch directory. */
void site_plugin(struct site *site, const char *plugin, const char *path);

/* Run "PROGRAM verb ...", which must succeed; the last argument is NULL. */
void site_run(struct site *site, const char *verb, ...);

void site_sleep(int milliseconds);

/* Open a handle on absolute paths of the scratch directory; the last argument is NULL. */
void site_open(struct site *site, const entrydb_options *options, ...);

/* Close the handle, if one is open. */
void site_close(struct site *site);

/* Select; returns "name=value@directory" for each entry, separated by spaces. */
const char *site_select(struct site *site, const char *group, const char *name);

/* The same with entrydb_explain(), with "<directory" of the winner for shadowed entries. */
const char *site_explain(struct site *site, const char *group, const char *name);

/* The current description of path entry @index, valid until the next call. */
const entrydb_path_entry *site_path_entry(struct site *site, size_t index);
enum entrydb_path_state site_state(struct site *site, size_t index);

/* Call the function behind a symbol; ISO C has no cast for this. */
int site_call(void *symbol);

#define SITE_TEST(function) cmocka_unit_test_setup_teardown(function, site_setup, site_teardown)

#endif
