/*
 * verb.h - what verbs about entry points share: to ask the library as the options say, and to put
 * what is known of an entry point, and of the shared object that it leads to, into rows and lines.
 */
#ifndef INDEXER_VERB_H
#define INDEXER_VERB_H

#include "db/base/nearest.h"
#include "indexer/command.h"
#include "indexer/output.h"
#include "libquery/disk/target/plugin_kinds.h"
#include "libquery/sites.h"

/* --- asking --- */

/* The path entries that are searched where the options name none. */
int default_sites(const struct options *options, struct sites *out, struct error *error);

/* A handle, what was selected on it, and its path entries. Zeros at first. */
struct question {
	entrydb *db;
	entrydb_set *set;
	entrydb_path *path;
};

/* Open a handle as the options ask: on --path, else on --db alone, else on the default path. */
int question_open(const struct options *options, struct question *out, struct error *error);

/* entrydb_select(), entrydb_explain() and the like. */
typedef int selector(entrydb *db, const char *group, const char *name, entrydb_set **out,
                     entrydb_error *error);

/* Open it and ask; released also after an error. */
int select_by(const struct options *options, selector *ask, const char *group, const char *name,
              struct question *out, struct error *error);

/* Describe the path entries. */
int question_describe(struct question *question, struct error *error);
void question_free(struct question *question);

/*
 * What the entry point leads to, which the caller frees; NULL where that cannot be known,
 * which is not an error. Each error is a failure (error.h).
 */
int find_target(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **target,
                struct error *error);

/* May policy have it loaded? The caller frees *@verdict. */
int find_verdict(entrydb *db, const entrydb_entry_point *entry_point, entrydb_verdict **verdict,
                 struct error *error);

/* Print the problems of a set, one line each: once a run, of the widest set. */
void report_problems(const entrydb_set *set);

/*
 * The kinds of plugins to look for; the caller frees *@out. A site's file that is wrong is
 * reported and left out.
 */
int load_kinds(const struct options *options, struct plugin_kinds **out, struct error *error);

/* --- where nothing was found --- */

/*
 * "; did you mean 'list'?", with @prefix before the name, or "" where none is near.
 * malloc'd; NULL without memory.
 */
char *suggest_near(const char *prefix, const struct nearest *nearest);

/*
 * Nothing of @group (and @name, unless NULL) was found: print which group is near, or
 * which name in the group. False: none is.
 */
bool suggest_entry_point(const struct options *options, entrydb *db, const char *group,
                         const char *name);

/* The same, or that there is none. Returns STATUS_NOT_FOUND. */
int say_not_found(const struct options *options, entrydb *db, const char *group, const char *name);

/* Where there are no entry points at all, print what to do next. False: there are some. */
bool advise_on_nothing(const struct options *options, entrydb *db);

/* --- the Python of an entry point --- */

/*
 * The interpreter of the environment that it is installed in, PREFIX/bin/pythonX.Y; else
 * that of the first path entry which has one. malloc'd. ERROR_NOTFOUND, ERROR_NOMEM;
 * ERROR_PERMISSION for root, where either is somebody else's.
 */
int interpreter_find(entrydb *db, const entrydb_entry_point *entry_point, char **out,
                     struct error *error);

/*
 * How a program for it begins that is to import an entry point: its arguments are the path
 * entry, the module and the attribute. The current directory, which -c puts before all
 * else, is not searched.
 */
#define INTERPRETER_BEGIN                                                                          \
	"import sys\n"                                                                             \
	"place, module, attribute = sys.argv[1:4]\n"                                               \
	"if sys.path[:1] == ['']:\n"                                                               \
	"    del sys.path[0]\n"                                                                    \
	"if place not in sys.path:\n"                                                              \
	"    sys.path.insert(0, place)\n"

/* --- rows --- */

/* What entry_put() puts into a column: its member cell. */
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

/* A column of JSON, and the last ones of a row, about the shared object. */
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
 * Put the cells up to the next column that has no member cell, or to the end of the row. @target
 * may be NULL.
 */
void entry_put(struct output *output, const entrydb_entry_point *entry_point,
               const entrydb_target *target);

/* Put all that was selected, with their targets or without, and end the output. */
int entry_put_all(struct output *output, const struct question *found, bool with_targets,
                  struct error *error);

/* Lines about what matters to people: what the object needs, and what is missing. */
void target_print(const entrydb_target *target);

#endif
