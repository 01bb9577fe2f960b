/*
 * verb.h - functions shared by the verbs: queries by the options, and output of entry points and
 * their targets.
 */
#ifndef INDEXER_VERB_H
#define INDEXER_VERB_H

#include "db/base/nearest.h"
#include "indexer/command.h"
#include "indexer/output.h"
#include "libquery/disk/target/plugin_kinds.h"
#include "libquery/sites.h"

/* --- queries --- */

/* The path entries that are searched by default. */
int default_sites(const struct options *options, struct sites *out, struct error *error);

/* A handle, a selection on it, and its path entries. Initialise with zeros. */
struct question {
	entrydb *db;
	entrydb_set *set;
	entrydb_path *path;
};

/* Open a handle by the options: on --path, else on --db alone, else on the default path. */
int question_open(const struct options *options, struct question *out, struct error *error);

/* entrydb_select(), entrydb_explain() and the like. */
typedef int selector(entrydb *db, const char *group, const char *name, entrydb_set **out,
                     entrydb_error *error);

/* Open a handle and select; free the query even after an error. */
int select_by(const struct options *options, selector *ask, const char *group, const char *name,
              struct question *out, struct error *error);

/* Describe the path entries. */
int question_describe(struct question *question, struct error *error);
void question_free(struct question *question);

/*
 * Resolve an entry point; the caller frees *target, which is NULL if it cannot be resolved. Each
 * error is transient (error.h).
 */
int find_target(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **target,
                struct error *error);

/* The policy decision; the caller frees *verdict. */
int find_verdict(entrydb *db, const entrydb_entry_point *entry_point, entrydb_verdict **verdict,
                 struct error *error);

/* Print the problems of a set, one line each: call it once, for the widest set. */
void report_problems(const entrydb_set *set);

/*
 * The kinds of plugins to search for; the caller frees *out. An invalid plugin-kinds.conf is
 * reported and ignored.
 */
int load_kinds(const struct options *options, struct plugin_kinds **out, struct error *error);

/* --- suggestions --- */

/*
 * "; did you mean 'list'?", with @prefix before the name, or "" if no name is similar. malloc'd;
 * NULL if out of memory.
 */
char *suggest_near(const char *prefix, const struct nearest *nearest);

/*
 * Nothing was found for @group (and @name, unless NULL): print a similar group, or a similar name
 * in the group. False if there is none.
 */
bool suggest_entry_point(const struct options *options, entrydb *db, const char *group,
                         const char *name);

/* The same, or that there is no such name. Returns STATUS_NOT_FOUND. */
int say_not_found(const struct options *options, entrydb *db, const char *group, const char *name);

/* If there are no entry points at all, print what to do next. False if there are some. */
bool advise_on_nothing(const struct options *options, entrydb *db);

/* --- rows --- */

/* The cells for entry_put(): struct column's member cell. */
enum {
	CELL_PROVIDER = 1, /* the distribution's name, else its metadata directory */
	CELL_KIND,
	CELL_STATE,
	CELL_SIZE,
	CELL_MACHINE,
	CELL_FIELD = 16,  /* and above: an entrydb_field */
	CELL_TARGET = 48, /* and above: an entrydb_target_field */
};

#define FIELD(field)  (CELL_FIELD + (int)ENTRYDB_FIELD_##field)
#define TARGET(field) (CELL_TARGET + (int)ENTRYDB_TARGET_##field)

/* A column of JSON; and the columns about the shared object. */
#define ENTRY_KEY(key, cell)                                                                       \
	{                                                                                          \
		(key), NULL, STYLE_PLAIN, (cell)                                                   \
	}
#define TARGET_COLUMNS                                                                             \
	ENTRY_KEY("size", CELL_SIZE), ENTRY_KEY("machine", CELL_MACHINE),                          \
	        ENTRY_KEY("build_id", TARGET(BUILD_ID)), ENTRY_KEY("sha256", TARGET(SHA256)),      \
	        ENTRY_KEY("glibc", TARGET(GLIBC)), ENTRY_KEY("glibcxx", TARGET(GLIBCXX)),          \
	        ENTRY_KEY("missing", TARGET(MISSING)), ENTRY_KEY("undefined", TARGET(UNDEFINED)),  \
	        ENTRY_KEY("python_by", TARGET(PYTHON_BY))

/*
 * Write cells up to the next column without a member cell, or the end of the row. @target may be
 * NULL.
 */
void entry_put(struct output *output, const entrydb_entry_point *entry_point,
               const entrydb_target *target);

/* Write the whole selection, with or without targets, and end the output. */
int entry_put_all(struct output *output, const struct question *found, bool with_targets,
                  struct error *error);

/* Print lines about the object, its dependencies and what is missing. */
void target_print(const entrydb_target *target);

#endif
