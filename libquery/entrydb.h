/*
 * entrydb.h - find and load Python entry points from C, without Python.
 *
 * An entry point is a line of packaging metadata, "name = module:attr [extras]"
 * in a group, by which an installed package announces a plugin, a command or a
 * back end. This library answers what importlib.metadata.entry_points() would
 * answer, in the same order and with the same shadowing, from a database that is
 * kept when packages are installed; what the database cannot vouch for is read
 * from the disk, so that the answer is right all the same.
 *
 *     #include <entrydb.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         entrydb *db;
 *         entrydb_set *set;
 *         entrydb_error error = ENTRYDB_ERROR_INIT;
 *
 *         if (entrydb_open(NULL, 0, NULL, &db, &error) < 0 ||
 *             entrydb_select(db, "console_scripts", NULL, &set, &error) < 0) {
 *             fprintf(stderr, "%s\n", entrydb_error_message(&error));
 *             return 1;
 *         }
 *         for (size_t i = 0; i < entrydb_set_count(set); i++)
 *             puts(entrydb_entry_name(entrydb_set_get(set, i)));
 *         entrydb_set_free(set);
 *         entrydb_close(db);
 *         return 0;
 *     }
 *
 * Conventions. Functions that can fail return 0 or a negative enum entrydb_code
 * and fill the entrydb_error, if one is given; an out parameter is written only
 * on success. Nothing found is an empty set, not an error. *out belongs to the
 * caller; const pointers returned are borrowed. Close and free accept NULL.
 * Strings are NUL-terminated UTF-8 (paths: the bytes of the file system); one
 * that may hold a NUL inside can be had with its length by entrydb_entry_text().
 * The library prints nothing, keeps no global state and runs no package's code
 * until entrydb_load() is called.
 *
 * Threads. A handle may be used by several threads: its functions take a lock of
 * the handle. Sets and entries never change and need none. Errors belong to one
 * thread. Do not close or free what another thread uses.
 */
#ifndef ENTRYDB_H
#define ENTRYDB_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef ENTRYDB_BUILDING
#define ENTRYDB_API __attribute__((visibility("default")))
#else
#define ENTRYDB_API
#endif

#define ENTRYDB_VERSION "0.1.0"

/* Why a function failed. */
enum entrydb_code {
	ENTRYDB_OK = 0,
	ENTRYDB_ENOMEM = -1,      /* out of memory */
	ENTRYDB_EINVAL = -2,      /* an argument makes no sense, or a foreign file was named */
	ENTRYDB_EIO = -3,         /* the system refused to read */
	ENTRYDB_EFORMAT = -4,     /* a file is damaged or of another version */
	ENTRYDB_EPERMISSION = -5, /* not allowed, or not to be trusted */
	ENTRYDB_EBUSY = -6,       /* another writer holds the lock (not from this library) */
	ENTRYDB_ELIMIT = -7,      /* larger than the library accepts */
	ENTRYDB_ENOTFOUND = -8,   /* no such file, object or symbol */
	ENTRYDB_ELOAD = -9        /* the dynamic linker refused; the message is dlerror()'s */
};

/* An error: the caller's, initialised by ENTRYDB_ERROR_INIT, released by entrydb_error_clear(). */
typedef struct entrydb_error {
	int code;      /* 0, or an enum entrydb_code */
	char *message; /* one line, or NULL; see entrydb_error_message() */
} entrydb_error;

#define ENTRYDB_ERROR_INIT                                                                         \
	{                                                                                          \
		0, NULL                                                                            \
	}

/* The line that says what failed, why, and what to do. Never NULL. Since 0.1. */
ENTRYDB_API const char *entrydb_error_message(const entrydb_error *error);

/* Release the message; the error can be used again. NULL is accepted. Since 0.1. */
ENTRYDB_API void entrydb_error_clear(entrydb_error *error);

/* Whose rules of order and shadowing hold: they changed between releases. */
enum entrydb_rules {
	ENTRYDB_RULES_DEFAULT = 0, /* as ENTRYDB_PYTHON_3_12 */
	ENTRYDB_PYTHON_3_10 = 1,   /* CPython 3.10 and 3.11: results sorted by group */
	ENTRYDB_PYTHON_3_12 = 2,   /* CPython 3.12 and later */
	ENTRYDB_IM_10_1 = 3        /* importlib_metadata 10.1 and later: distributions
	                              without metadata come last */
};

/*
 * Turn "3.11", "3.12", "im10" (importlib_metadata 10.1 and later) into rules.
 * ENTRYDB_EINVAL for what is not known. Since 0.1.
 */
ENTRYDB_API int entrydb_rules_parse(const char *text, enum entrydb_rules *out);

/* How hard the database is doubted before each answer. */
enum entrydb_fresh {
	ENTRYDB_FRESH_DEFAULT = 0, /* $ENTRYDB_FRESH, else as ENTRYDB_FRESH_ROOTS */
	ENTRYDB_FRESH_TRUST = 1,   /* not at all: for sealed images */
	ENTRYDB_FRESH_ROOTS = 2,   /* one stat for each path entry */
	ENTRYDB_FRESH_EXACT = 3    /* and each distribution's directory and files */
};

/* "trust", "roots" or "exact"; ENTRYDB_EINVAL for anything else. Since 0.1. */
ENTRYDB_API int entrydb_fresh_parse(const char *text, enum entrydb_fresh *out);

/* What may be said when opening; start with ENTRYDB_OPTIONS_INIT. */
typedef struct entrydb_options {
	size_t size; /* sizeof(entrydb_options), so that it can grow */
	enum entrydb_rules rules;
	enum entrydb_fresh fresh;
	const char *database; /* this file, instead of those of the environments */
	const char *root;     /* another file-system root, in which the paths are meant */
} entrydb_options;

#define ENTRYDB_OPTIONS_INIT                                                                       \
	{                                                                                          \
		sizeof(entrydb_options), ENTRYDB_RULES_DEFAULT, ENTRYDB_FRESH_DEFAULT, NULL, NULL  \
	}

typedef struct entrydb entrydb;             /* a handle */
typedef struct entrydb_set entrydb_set;     /* an immutable result */
typedef struct entrydb_entry entrydb_entry; /* an entry point, part of a set */

/*
 * Open on path entries, spelled and ordered as sys.path would hold them: @path
 * has @count of them. NULL: $ENTRYDB_PATH, else the virtual environment or conda
 * environment that is active, the user's site directory and the system's.
 * Entries that do not exist are silently empty, as in Python; a relative one, and
 * "" for the current directory, is resolved at each call. A database that is
 * absent, damaged or not to be believed is no error: the disk is read instead
 * (but options->database, if it exists, must be good). @options may be NULL. Since 0.1.
 */
ENTRYDB_API int entrydb_open(const char *const *path, size_t count, const entrydb_options *options,
                             entrydb **out, entrydb_error *error);

/*
 * Open on one database file: the path entries are all the directories, zips and
 * archives that it holds, in the order of the file. ENTRYDB_ENOTFOUND,
 * ENTRYDB_EFORMAT or ENTRYDB_EPERMISSION when the file cannot serve. Since 0.1.
 */
ENTRYDB_API int entrydb_open_file(const char *file, const entrydb_options *options, entrydb **out,
                                  entrydb_error *error);

/* Sets, and what was loaded, stay valid. Since 0.1. */
ENTRYDB_API void entrydb_close(entrydb *db);

/*
 * The entry points of @group called @name; NULL stands for any. The set is in
 * importlib.metadata's order, holds what its answer would hold, and outlives the
 * handle. Distributions on which Python would raise are left out and reported
 * by entrydb_set_problem(). Since 0.1.
 */
ENTRYDB_API int entrydb_select(entrydb *db, const char *group, const char *name, entrydb_set **out,
                               entrydb_error *error);

/*
 * The same, with those entry points too that another distribution of the same
 * name shadows: entrydb_entry_shadowed_by() tells which. Since 0.1.
 */
ENTRYDB_API int entrydb_explain(entrydb *db, const char *group, const char *name, entrydb_set **out,
                                entrydb_error *error);

/*
 * All that there is, unjudged: every distribution of every path entry, in order,
 * with its entry points, whether or not another one shadows it. The distributions
 * are walked by entrydb_set_distribution(). Since 0.1.
 */
ENTRYDB_API int entrydb_survey(entrydb *db, entrydb_set **out, entrydb_error *error);

/*
 * Look at the disk, as a selection would, and put into *state a number that is
 * another one than before if an answer of the handle may be another one, too. What
 * was taken from a set can be kept for as long as the number stays. Since 0.1.
 */
ENTRYDB_API int entrydb_refresh(entrydb *db, unsigned long long *state, entrydb_error *error);

ENTRYDB_API size_t entrydb_set_count(const entrydb_set *set);

/* Entry number @index, or NULL past the end; it lives as long as the set. Since 0.1. */
ENTRYDB_API const entrydb_entry *entrydb_set_get(const entrydb_set *set, size_t index);

/* How many distributions could not be read, and a line about each: "file: reason". Since 0.1. */
ENTRYDB_API size_t entrydb_set_problem_count(const entrydb_set *set);
ENTRYDB_API const char *entrydb_set_problem(const entrydb_set *set, size_t index);

/* A distribution of a survey. All strings are borrowed from the set. */
typedef struct entrydb_distribution {
	const char *path;    /* the path entry, as it was spelled */
	const char *file;    /* the metadata directory (or file) within it */
	const char *name;    /* METADATA's Name; NULL where there is none */
	const char *version; /* METADATA's Version; NULL where there is none */
	const char *problem; /* why Python would raise on it; NULL: it is sound */
	size_t first, count; /* its entry points are the set's, first to first + count - 1 */
} entrydb_distribution;

/* How many, and number @index or NULL past the end; it lives as long as the set. Since 0.1. */
ENTRYDB_API size_t entrydb_set_distribution_count(const entrydb_set *set);
ENTRYDB_API const entrydb_distribution *entrydb_set_distribution(const entrydb_set *set,
                                                                 size_t index);

ENTRYDB_API void entrydb_set_free(entrydb_set *set);

/* The texts of an entry. */
enum entrydb_field {
	ENTRYDB_GROUP,
	ENTRYDB_NAME,
	ENTRYDB_VALUE,        /* as written: "module:attr [extras]" */
	ENTRYDB_MODULE,       /* NULL where the value cannot be parsed */
	ENTRYDB_ATTR,         /* NULL where there is none */
	ENTRYDB_EXTRAS,       /* comma-separated; NULL where there are none */
	ENTRYDB_DISTRIBUTION, /* METADATA's Name; NULL where there is none */
	ENTRYDB_VERSION_TEXT, /* METADATA's Version; NULL where there is none */
	ENTRYDB_PATH,         /* the path entry, as it was spelled */
	ENTRYDB_FILE,         /* the metadata directory (or file) within it */
	ENTRYDB_SHADOWED_BY   /* the metadata directory of the distribution that hides this
	                         one; NULL unless from entrydb_explain() */
};

/* The text, NUL-terminated, its bytes counted in *length (which may be NULL). Since 0.1. */
ENTRYDB_API const char *entrydb_entry_text(const entrydb_entry *entry, enum entrydb_field field,
                                           size_t *length);

ENTRYDB_API const char *entrydb_entry_group(const entrydb_entry *entry);
ENTRYDB_API const char *entrydb_entry_name(const entrydb_entry *entry);
ENTRYDB_API const char *entrydb_entry_value(const entrydb_entry *entry);
ENTRYDB_API const char *entrydb_entry_module(const entrydb_entry *entry);
ENTRYDB_API const char *entrydb_entry_attr(const entrydb_entry *entry);
ENTRYDB_API const char *entrydb_entry_extras(const entrydb_entry *entry);
ENTRYDB_API const char *entrydb_entry_distribution(const entrydb_entry *entry);
ENTRYDB_API const char *entrydb_entry_version(const entrydb_entry *entry);
ENTRYDB_API const char *entrydb_entry_path(const entrydb_entry *entry);
ENTRYDB_API const char *entrydb_entry_file(const entrydb_entry *entry);
ENTRYDB_API const char *entrydb_entry_shadowed_by(const entrydb_entry *entry);

/* What an entry point leads to. All strings are borrowed from the target. */
typedef struct entrydb_target {
	const char *kind;   /* python, native, extension, bundled, unresolved */
	const char *state;  /* ok, missing, no-symbol, ambiguous, unresolved-editable */
	const char *object; /* path of the shared object; NULL where there is none */
	const char *symbol; /* what is to be looked up in it; NULL where there is none */
} entrydb_target;

/*
 * Find out what @entry leads to, from the database or from the disk, by names and
 * by reading ELF: nothing is loaded. Free with entrydb_target_free(). Since 0.1.
 */
ENTRYDB_API int entrydb_resolve(entrydb *db, const entrydb_entry *entry, entrydb_target **out,
                                entrydb_error *error);
ENTRYDB_API void entrydb_target_free(entrydb_target *target);

/*
 * Open the shared object that @entry leads to, at first use, and hand out its
 * symbol. ENTRYDB_ENOTFOUND: it leads to none (Python code, say), or the symbol is
 * not there; ENTRYDB_EPERMISSION: others than root and the caller could have
 * written it; ENTRYDB_ELOAD: dlopen() failed. The object is opened with RTLD_NOW
 * and RTLD_LOCAL and stays open after entrydb_close(). Since 0.1.
 */
ENTRYDB_API int entrydb_load(entrydb *db, const entrydb_entry *entry, void **symbol,
                             entrydb_error *error);

/* What the handle knows of one path entry. All strings are borrowed from the handle. */
typedef struct entrydb_root {
	const char *path;     /* the path entry, as it was spelled */
	const char *database; /* the file that covers it, or NULL */
	const char *state;    /* fresh, checked, scanned, absent */
	const char *reason;   /* a line: why it is in that state */
} entrydb_root;

/* How many path entries the handle has. Since 0.1. */
ENTRYDB_API size_t entrydb_root_count(entrydb *db);

/*
 * Path entry number @index as of the last selection (or, before any, as if one
 * were made). The strings stay valid until the next call on the handle. Since 0.1.
 */
ENTRYDB_API int entrydb_root_get(entrydb *db, size_t index, entrydb_root *out,
                                 entrydb_error *error);

/* The version of the library at run time, as ENTRYDB_VERSION. Since 0.1. */
ENTRYDB_API const char *entrydb_version(void);

#ifdef __cplusplus
}
#endif

#endif
