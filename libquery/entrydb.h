/*
 * entrydb.h - find and load Python entry points from C, without Python.
 *
 * An entry point is a line of packaging metadata, "name = module:attr [extras]"
 * in a group, by which an installed package announces a plugin, a command or a
 * back end. This library answers what importlib.metadata.entry_points() would
 * answer, in the same order and with the same shadowing, from a database that is
 * updated when packages are installed. Whatever the database cannot vouch for is
 * read from the disk, so that the answer is right all the same.
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
 *             puts(entrydb_entry_point_name(entrydb_set_get(set, i)));
 *         entrydb_set_free(set);
 *         entrydb_close(db);
 *         return 0;
 *     }
 *
 * Conventions. Functions that can fail return 0 or a negative enum entrydb_code
 * and fill the entrydb_error, if one is given; an out parameter is written only
 * on success. Any of them may return ENTRYDB_ENOMEM; the other codes are listed at
 * each function. New codes may be added: treat any negative value as a failure.
 * Nothing found is an empty set, not an error. *out belongs to the caller; const
 * pointers returned are borrowed. Close and free accept NULL. Strings are
 * NUL-terminated UTF-8 (paths: the bytes of the file system); entrydb_entry_point_text()
 * gives the length as well, for texts that contain a NUL. The library
 * prints nothing, keeps no global state and runs no package's code until
 * entrydb_load(), or what loads as it does, is called.
 *
 * Threads. Several threads may use one handle: its functions lock it. All other
 * objects never change once they are returned, outlive the handle, and need no lock.
 * An error belongs to one thread. Do not close or free what another thread uses.
 * Where a directory answers slowly, a function reads its files by up to 16 threads of its
 * own; they take no signals, and have ended when it returns.
 *
 * Growth. Apart from entrydb_options, which carries its size, and entrydb_error, no
 * structure is laid out in the caller's binary: new fields come as new functions.
 * Enumerations may get new members; existing ones keep their values.
 *
 * Words. A path entry is what sys.path holds: a site directory, a zip. An entry
 * point is one line of metadata. A sysroot is another file-system root. A
 * distribution shadows another one of the same name that comes later on the path.
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

/* --- errors --- */

/* Why a function failed. */
enum entrydb_code {
	ENTRYDB_OK = 0,
	ENTRYDB_ENOMEM = -1,       /* out of memory */
	ENTRYDB_EINVAL = -2,       /* invalid argument */
	ENTRYDB_EIO = -3,          /* a system call failed; it may succeed later */
	ENTRYDB_EFORMAT = -4,      /* a file is damaged, of another version, or not ours */
	ENTRYDB_EPERMISSION = -5,  /* not allowed, or others could have written it */
	ENTRYDB_ELIMIT = -6,       /* larger than the library accepts */
	ENTRYDB_ENOTFOUND = -7,    /* no such file */
	ENTRYDB_EPYTHON = -8,      /* it leads to Python code: only Python can load it */
	ENTRYDB_EUNRESOLVED = -9,  /* what it leads to is not known; see entrydb_resolve() */
	ENTRYDB_ENOSYMBOL = -10,   /* the shared object does not export the symbol */
	ENTRYDB_EDISABLED = -11,   /* a rule of the user or the system forbids it */
	ENTRYDB_ELOAD = -12,       /* the dynamic linker refused; the message is dlerror()'s */
	ENTRYDB_EDEPENDENCY = -14, /* it did: a library that the object needs is missing */
	ENTRYDB_EUNDEFINED = -15,  /* it did: a symbol that it needs is defined nowhere */
	ENTRYDB_ECHANGED = -16,    /* the object is not the one that was indexed or installed */
	ENTRYDB_EREFUSED = -17,    /* the host itself did not accept it */
	ENTRYDB_ESETASIDE = -18,   /* it crashed or hung before; see "entrydb quarantine" */
	ENTRYDB_EEXISTS = -19,     /* there is one of that name */
	ENTRYDB_EUNKNOWN = -20,    /* there is none of that name */
	ENTRYDB_EPLUGIN = -21      /* a plugin that was called has failed */
};

/* An error: the caller's, initialised by ENTRYDB_ERROR_INIT, released by entrydb_error_clear(). */
typedef struct entrydb_error {
	int code;                              /* 0, or an enum entrydb_code */
	char *message;                         /* one line, or NULL; see entrydb_error_message() */
	struct entrydb_error_details *details; /* the library's own */
} entrydb_error;

#define ENTRYDB_ERROR_INIT                                                                         \
	{                                                                                          \
		0, NULL, NULL                                                                      \
	}

/* The line that says what failed, why, and what to do. Never NULL. Since 0.1. */
ENTRYDB_API const char *entrydb_error_message(const entrydb_error *error);

/* Release what the error holds; it can be used again. NULL is accepted. Since 0.1. */
ENTRYDB_API void entrydb_error_clear(entrydb_error *error);

/* --- handles --- */

/* Whose rules of order and shadowing apply; they have changed between releases. */
enum entrydb_rules {
	ENTRYDB_RULES_DEFAULT = 0, /* as ENTRYDB_PYTHON_3_12 */
	ENTRYDB_PYTHON_3_10 = 1,   /* CPython 3.10 and 3.11: results sorted by group */
	ENTRYDB_PYTHON_3_12 = 2,   /* CPython 3.12 and later */
	ENTRYDB_IM_10_1 = 3        /* importlib_metadata 10.1 and later: distributions
	                              without metadata come last */
};

/*
 * Turn "3.11", "3.12", "im10" (importlib_metadata 10.1 and later) into rules.
 * ENTRYDB_EINVAL, its only code, for what is not known. Since 0.1.
 */
ENTRYDB_API int entrydb_rules_parse(const char *text, enum entrydb_rules *out);

/* How thoroughly it is checked before each answer that the database is up to date. */
enum entrydb_fresh {
	ENTRYDB_FRESH_DEFAULT = 0, /* $ENTRYDB_FRESH, else as ENTRYDB_FRESH_ROOTS */
	ENTRYDB_FRESH_TRUST = 1,   /* not at all, for sealed images */
	ENTRYDB_FRESH_ROOTS = 2,   /* one stat for each path entry */
	ENTRYDB_FRESH_EXACT = 3    /* and each distribution's directory and files */
};

/* "trust", "roots" or "exact"; ENTRYDB_EINVAL, its only code, for anything else. Since 0.1. */
ENTRYDB_API int entrydb_fresh_parse(const char *text, enum entrydb_fresh *out);

/* What an answer may lack, since the caller has no use for it. */
enum entrydb_omit {
	/*
	 * The distribution's name and version, where a file would have to be read for them: they
	 * may be NULL. Such an entry point is loaded only where there are no rules (policy).
	 */
	ENTRYDB_OMIT_METADATA = 1
};

/* Options for opening a handle; initialise them with ENTRYDB_OPTIONS_INIT. */
typedef struct entrydb_options {
	size_t size; /* sizeof(entrydb_options), so that it can grow */
	enum entrydb_rules rules;
	enum entrydb_fresh fresh;
	const char *database; /* this file, instead of those of the environments */
	const char *sysroot;  /* another file-system root, which the paths are relative to */
	const char *program;  /* who asks, where a rule is for one program only; NULL: the name
	                         by which this process was started */
	unsigned omit;        /* of enum entrydb_omit, or-ed */
} entrydb_options;

#define ENTRYDB_OPTIONS_INIT                                                                       \
	{                                                                                          \
		sizeof(entrydb_options), ENTRYDB_RULES_DEFAULT, ENTRYDB_FRESH_DEFAULT, NULL, NULL, \
		        NULL, 0                                                                    \
	}

typedef struct entrydb entrydb;                           /* a handle */
typedef struct entrydb_set entrydb_set;                   /* an immutable answer */
typedef struct entrydb_entry_point entrydb_entry_point;   /* part of a set */
typedef struct entrydb_distribution entrydb_distribution; /* part of a survey's set */
typedef struct entrydb_target entrydb_target;             /* what an entry point leads to */
typedef struct entrydb_path entrydb_path;                 /* what is known of the path entries */
typedef struct entrydb_path_entry entrydb_path_entry;     /* part of an entrydb_path */
typedef struct entrydb_verdict entrydb_verdict;           /* is it allowed to be loaded? */

/*
 * Open on path entries, spelled and ordered as sys.path would hold them: @path
 * has @count of them. NULL stands for $ENTRYDB_PATH, else the active virtual or conda
 * environment, else the user's site directory and the system's. Those that do not
 * exist are silently empty, as in Python; relative ones, and "" for the current
 * directory, are resolved at each call. A database that is absent, damaged or not to
 * be believed is not an error: the disk is read instead (but options->database, if it
 * exists, must be valid). @options may be NULL. Close *out with entrydb_close().
 *
 * ENTRYDB_EINVAL: the options are not those of this library. ENTRYDB_ENOTFOUND: a path
 * in them leads nowhere (a database that does not exist yet is accepted).
 * ENTRYDB_EIO, ENTRYDB_EPERMISSION: the default path could not be determined.
 * For options->database also ENTRYDB_EFORMAT, ENTRYDB_EPERMISSION and ENTRYDB_EIO. Since 0.1.
 */
ENTRYDB_API int entrydb_open(const char *const *path, size_t count, const entrydb_options *options,
                             entrydb **out, entrydb_error *error);

/*
 * Open on one database file: the path entries are all the directories, zips and
 * archives that it holds, in the order of the file. options->database is ignored.
 *
 * The codes of entrydb_open(); ENTRYDB_ENOTFOUND also where there is no such file. Since 0.1.
 */
ENTRYDB_API int entrydb_open_file(const char *file, const entrydb_options *options, entrydb **out,
                                  entrydb_error *error);

/* Close the handle. Whatever it returned, such as sets and symbols, stays valid. Since 0.1. */
ENTRYDB_API void entrydb_close(entrydb *db);

/* --- questions --- */

/*
 * The entry points of @group called @name; NULL stands for any. The set is in
 * importlib.metadata's order and holds what its answer would hold. Distributions on
 * which Python would raise are left out and reported by entrydb_set_problem().
 * What policy forbids is not left out: see entrydb_select_allowed(). Free *out with
 * entrydb_set_free().
 *
 * ENTRYDB_EIO: a path entry could not be read. As with ENTRYDB_ENOMEM, there is no answer
 * then, not a shorter one: a host that is out of descriptors or memory asks again when it
 * has some, and gets the right one. Since 0.1.
 */
ENTRYDB_API int entrydb_select(entrydb *db, const char *group, const char *name, entrydb_set **out,
                               entrydb_error *error);

/*
 * The same, with those entry points too that another distribution of the same
 * name shadows: entrydb_entry_point_shadowed_by() tells which. ENTRYDB_EIO. Since 0.1.
 */
ENTRYDB_API int entrydb_explain(entrydb *db, const char *group, const char *name, entrydb_set **out,
                                entrydb_error *error);

/*
 * Everything, without shadowing: every distribution of every path entry, in order, with
 * its entry points, whether or not another one shadows it. Walk the distributions with
 * entrydb_set_distribution(). ENTRYDB_EIO. Since 0.1.
 */
ENTRYDB_API int entrydb_survey(entrydb *db, entrydb_set **out, entrydb_error *error);

/*
 * The distribution that importlib.metadata.distribution(@name) finds: the first on the path
 * whose directory is called so, however @name is spelled. A set with this distribution, which
 * has a path and a file, without name, version and entry points; or with none.
 * entrydb_read_metadata() reads the former. ENTRYDB_EIO. Since 0.1.
 */
ENTRYDB_API int entrydb_find(entrydb *db, const char *name, entrydb_set **out,
                             entrydb_error *error);

/*
 * Name and Version of a distribution whose metadata is @file, in a directory on the disk, by its
 * METADATA or PKG-INFO as it is now: NULL where there is none, else to be freed with free().
 * ENTRYDB_ENOTFOUND: it has neither; ENTRYDB_EFORMAT: Python would raise on it; ENTRYDB_EIO,
 * ENTRYDB_EPERMISSION. Any thread may call it at any time. Since 0.1.
 */
ENTRYDB_API int entrydb_read_metadata(const char *file, char **name, char **version,
                                      entrydb_error *error);

/*
 * The native plugins of @kind called @name; NULL stands for any. They announce themselves
 * by the symbols that they export, not by metadata: importlib.metadata knows none of them,
 * and entrydb_select() gives none. Kinds are "pjrt", "adbc", "sqlite" and others, see
 * entrydb(1). The set is ordered by kind, then as distributions are, without those of
 * shadowed ones. Each is an entrydb_entry_point all the same, for entrydb_resolve() and
 * entrydb_load(): its group is the kind, its module the shared object (relative to the
 * path entry), its attr the symbol, its value "object:symbol". Where no database vouches
 * for a path entry, all the shared objects that its packages list are read.
 *
 * ENTRYDB_EIO: a path entry could not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_plugins(entrydb *db, const char *kind, const char *name, entrydb_set **out,
                                entrydb_error *error);

/*
 * From now on, look for the kinds of plugins in @text, too: in the format that entrydb(1)
 * describes for /etc/entrydb/plugin-kinds.conf. No database knows what a host alone
 * looks for, so that entrydb_plugins() then reads the shared objects each time.
 *
 * ENTRYDB_EFORMAT: the text is not in that format. ENTRYDB_ELIMIT: too many kinds.
 * ENTRYDB_EIO: the site's own kinds could not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_add_plugin_kinds(entrydb *db, const char *text, entrydb_error *error);

/*
 * Look at the disk, as a selection does, and store in *state a number that changes
 * whenever an answer of this handle may have changed. What was taken from a set can be
 * kept for as long as the number stays the same. ENTRYDB_EIO. Since 0.1.
 */
ENTRYDB_API int entrydb_refresh(entrydb *db, unsigned long long *state, entrydb_error *error);

/* --- sets --- */

/* How many entry points the set has. Since 0.1. */
ENTRYDB_API size_t entrydb_set_count(const entrydb_set *set);

/* Entry point number @index, or NULL past the end; it lives as long as the set. Since 0.1. */
ENTRYDB_API const entrydb_entry_point *entrydb_set_get(const entrydb_set *set, size_t index);

/*
 * How many distributions could not be read, and a line about each, "file: reason", or NULL
 * past the end; it lives as long as the set. Since 0.1.
 */
ENTRYDB_API size_t entrydb_set_problem_count(const entrydb_set *set);
ENTRYDB_API const char *entrydb_set_problem(const entrydb_set *set, size_t index);

/*
 * The distributions of a survey: how many, and number @index or NULL past the end;
 * it lives as long as the set. Since 0.1.
 */
ENTRYDB_API size_t entrydb_set_distribution_count(const entrydb_set *set);
ENTRYDB_API const entrydb_distribution *entrydb_set_distribution(const entrydb_set *set,
                                                                 size_t index);

/* Free the set with everything that was taken from it. Since 0.1. */
ENTRYDB_API void entrydb_set_free(entrydb_set *set);

/* --- entry points --- */

/* The texts of an entry point. */
enum entrydb_field {
	ENTRYDB_FIELD_GROUP = 0,
	ENTRYDB_FIELD_NAME = 1,
	ENTRYDB_FIELD_VALUE = 2,        /* as written: "module:attr [extras]" */
	ENTRYDB_FIELD_MODULE = 3,       /* NULL where the value cannot be parsed */
	ENTRYDB_FIELD_ATTR = 4,         /* NULL where there is none */
	ENTRYDB_FIELD_EXTRAS = 5,       /* comma-separated; NULL where there are none */
	ENTRYDB_FIELD_DISTRIBUTION = 6, /* METADATA's Name; NULL where there is none */
	ENTRYDB_FIELD_VERSION = 7,      /* METADATA's Version; NULL where there is none */
	ENTRYDB_FIELD_PATH = 8,         /* the path entry, as it was spelled */
	ENTRYDB_FIELD_FILE = 9,         /* the metadata directory (or file) within it */
	ENTRYDB_FIELD_SHADOWED_BY = 10  /* the metadata directory of the distribution that hides
	                                   this one; NULL unless from entrydb_explain() */
};

/*
 * The text, NUL-terminated, its bytes counted in *length (which may be NULL); it is
 * the set's. NULL for a field that the library does not know. Since 0.1.
 */
ENTRYDB_API const char *entrydb_entry_point_text(const entrydb_entry_point *entry_point,
                                                 enum entrydb_field field, size_t *length);

/* The same, field by field. Since 0.1. */
ENTRYDB_API const char *entrydb_entry_point_group(const entrydb_entry_point *entry_point);
ENTRYDB_API const char *entrydb_entry_point_name(const entrydb_entry_point *entry_point);
ENTRYDB_API const char *entrydb_entry_point_value(const entrydb_entry_point *entry_point);
ENTRYDB_API const char *entrydb_entry_point_module(const entrydb_entry_point *entry_point);
ENTRYDB_API const char *entrydb_entry_point_attr(const entrydb_entry_point *entry_point);
ENTRYDB_API const char *entrydb_entry_point_extras(const entrydb_entry_point *entry_point);
ENTRYDB_API const char *entrydb_entry_point_distribution(const entrydb_entry_point *entry_point);
ENTRYDB_API const char *entrydb_entry_point_version(const entrydb_entry_point *entry_point);
ENTRYDB_API const char *entrydb_entry_point_path(const entrydb_entry_point *entry_point);
ENTRYDB_API const char *entrydb_entry_point_file(const entrydb_entry_point *entry_point);
ENTRYDB_API const char *entrydb_entry_point_shadowed_by(const entrydb_entry_point *entry_point);

/* --- distributions: what these return lives as long as the set --- */

/* The path entry, as it was spelled; the metadata directory (or file) within it. Since 0.1. */
ENTRYDB_API const char *entrydb_distribution_path(const entrydb_distribution *distribution);
ENTRYDB_API const char *entrydb_distribution_file(const entrydb_distribution *distribution);

/* METADATA's Name and Version; NULL where there is none. Since 0.1. */
ENTRYDB_API const char *entrydb_distribution_name(const entrydb_distribution *distribution);
ENTRYDB_API const char *entrydb_distribution_version(const entrydb_distribution *distribution);

/* Why Python would raise on it; NULL where it would not. Since 0.1. */
ENTRYDB_API const char *entrydb_distribution_problem(const entrydb_distribution *distribution);

/* Its own entry points: how many, and number @index or NULL past the end. Since 0.1. */
ENTRYDB_API size_t entrydb_distribution_count(const entrydb_distribution *distribution);
ENTRYDB_API const entrydb_entry_point *
entrydb_distribution_get(const entrydb_distribution *distribution, size_t index);

/* --- targets --- */

/* What an entry point leads to. */
enum entrydb_kind {
	ENTRYDB_KIND_UNRESOLVED = 0, /* the state says why */
	ENTRYDB_KIND_PYTHON = 1,     /* a Python module or package */
	ENTRYDB_KIND_NATIVE = 2,     /* a shared object that exports attr and needs no Python */
	ENTRYDB_KIND_EXTENSION = 3,  /* a shared object that only Python can open */
	ENTRYDB_KIND_BUNDLED = 4     /* a Python package that carries the group's plugin */
};

/* Can it be loaded, as far as reading files can tell? */
enum entrydb_state {
	ENTRYDB_STATE_OK = 0,
	ENTRYDB_STATE_MISSING = 1,             /* no such file */
	ENTRYDB_STATE_NO_SYMBOL = 2,           /* a file, but it does not export attr */
	ENTRYDB_STATE_AMBIGUOUS = 3,           /* several files export the group's symbol */
	ENTRYDB_STATE_UNRESOLVED_EDITABLE = 4, /* an editable install: its files are elsewhere */
	ENTRYDB_STATE_WRONG_ARCHITECTURE = 5,  /* a shared object of another machine */
	ENTRYDB_STATE_MISSING_DEPENDENCY = 6,  /* a library, or a version of one, is not there */
	ENTRYDB_STATE_NEEDS_HOST = 7,          /* needs symbols that only its host can give */
	ENTRYDB_STATE_NOT_EXAMINED = 8         /* in an archive, too large to be read there */
};

/* "python", "no-symbol" and the like; "unknown" for others. Static. Since 0.1. */
ENTRYDB_API const char *entrydb_kind_name(enum entrydb_kind kind);
ENTRYDB_API const char *entrydb_state_name(enum entrydb_state state);

/*
 * Find out what @entry_point leads to, from the database or from the disk, by names
 * and by reading ELF: nothing is loaded. That it cannot be resolved is an answer, too.
 * Free with entrydb_target_free().
 *
 * ENTRYDB_ENOTFOUND: its path entry is gone. ENTRYDB_EFORMAT: its path entry is a zip
 * that was damaged since. ENTRYDB_EPERMISSION, ENTRYDB_EIO, ENTRYDB_ELIMIT: it could
 * not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_resolve(entrydb *db, const entrydb_entry_point *entry_point,
                                entrydb_target **out, entrydb_error *error);

/* Its kind and state. Since 0.1. */
ENTRYDB_API enum entrydb_kind entrydb_target_kind(const entrydb_target *target);
ENTRYDB_API enum entrydb_state entrydb_target_state(const entrydb_target *target);

/* The path of the shared object or the module, the target's own; NULL for none. Since 0.1. */
ENTRYDB_API const char *entrydb_target_object(const entrydb_target *target);

/* The symbol to look up in the shared object, the target's own; NULL for none. Since 0.1. */
ENTRYDB_API const char *entrydb_target_symbol(const entrydb_target *target);

/* What else is known of it, as far as reading files can tell; lists have a space between two. */
enum entrydb_target_field {
	ENTRYDB_TARGET_OBJECT = 0,    /* as entrydb_target_object() */
	ENTRYDB_TARGET_SYMBOL = 1,    /* as entrydb_target_symbol() */
	ENTRYDB_TARGET_BUILD_ID = 2,  /* hexadecimal */
	ENTRYDB_TARGET_SHA256 = 3,    /* "sha256=..." as RECORD writes it */
	ENTRYDB_TARGET_GLIBC = 4,     /* the newest version of the C library asked for: "2.34" */
	ENTRYDB_TARGET_GLIBCXX = 5,   /* and of the C++ library: "3.4.30" */
	ENTRYDB_TARGET_MISSING = 6,   /* libraries, and versions of libraries, not to be found */
	ENTRYDB_TARGET_UNDEFINED = 7, /* symbols that only a host can give; the first few */
	ENTRYDB_TARGET_PYTHON_BY = 8  /* the needed library by which Python is needed */
};

/*
 * The text, the target's own; NULL where there is none, or for a field that the library does
 * not know. What a library needs was found out when the package was indexed, on the machine
 * where that was done. Since 0.1.
 */
ENTRYDB_API const char *entrydb_target_text(const entrydb_target *target,
                                            enum entrydb_target_field field);

/* The size of the shared object in bytes; ELF's e_machine of it. 0: not known. Since 0.1. */
ENTRYDB_API unsigned long long entrydb_target_size(const entrydb_target *target);
ENTRYDB_API int entrydb_target_machine(const entrydb_target *target);

/* Free the target and its texts. Since 0.1. */
ENTRYDB_API void entrydb_target_free(entrydb_target *target);

/* --- policy --- */

/*
 * May this entry point be loaded? Decided by $ENTRYDB_DISABLE and the files of rules of
 * the user, the environments and the system, see entrydb(1); without a rule everything is
 * allowed. @distribution is METADATA's Name, @path the path entry: the rules of an
 * environment are for its own entry points alone. Both may be NULL if they are not known;
 * without @path, the rules of every environment of this handle count. entrydb_load() asks
 * the same. Free with entrydb_verdict_free().
 *
 * ENTRYDB_EFORMAT, ENTRYDB_EPERMISSION, ENTRYDB_ELIMIT, ENTRYDB_EIO: a file of rules cannot
 * be understood, believed or read, so that what it forbids is not known. Since 0.1.
 */
ENTRYDB_API int entrydb_check_policy(entrydb *db, const char *group, const char *name,
                                     const char *distribution, const char *path,
                                     entrydb_verdict **out, entrydb_error *error);

/* 1: allowed; 0: forbidden. Since 0.1. */
ENTRYDB_API int entrydb_verdict_allowed(const entrydb_verdict *verdict);

/* The priority that a rule gives: higher ones come first; 0 without such a rule. Since 0.1. */
ENTRYDB_API int entrydb_verdict_priority(const entrydb_verdict *verdict);

/* The rule that decided, and where it stands, as one line; NULL: no rule did. Since 0.1. */
ENTRYDB_API const char *entrydb_verdict_reason(const entrydb_verdict *verdict);

/* Free the verdict and its reason. Since 0.1. */
ENTRYDB_API void entrydb_verdict_free(entrydb_verdict *verdict);

/*
 * Is there a rule at all that applies to this handle? *out is 1 or 0; 0: everything is
 * allowed. A change of the rules is noticed within a second. The codes of
 * entrydb_check_policy(). Since 0.1.
 */
ENTRYDB_API int entrydb_has_policy(entrydb *db, int *out, entrydb_error *error);

/*
 * As entrydb_select(), without the entry points that policy forbids. A change of the rules
 * is noticed within a second. Also the codes of entrydb_check_policy(). Since 0.1.
 */
ENTRYDB_API int entrydb_select_allowed(entrydb *db, const char *group, const char *name,
                                       entrydb_set **out, entrydb_error *error);

/* --- loading --- */

/*
 * Open the shared object that @entry_point leads to, on first use, and store the address
 * of its symbol in *symbol. The object is opened with RTLD_NOW and RTLD_LOCAL and stays
 * open, also after entrydb_close(). No lock is held while its constructors run.
 *
 * ENTRYDB_EDISABLED: policy forbids it; the message names the rule. ENTRYDB_EPYTHON:
 * Python code, which only Python can import. ENTRYDB_EUNRESOLVED: ambiguous, an editable
 * install, or a value that cannot be parsed. ENTRYDB_ENOTFOUND, ENTRYDB_ENOSYMBOL: the file,
 * or the symbol in it, does not exist. ENTRYDB_EPERMISSION: somebody other than root and the
 * caller could have written it. ENTRYDB_ESETASIDE: it crashed or hung when it was loaded
 * before. dlopen() failed, whose words are in the message: ENTRYDB_EDEPENDENCY, a library that
 * it needs is missing; ENTRYDB_EUNDEFINED, a symbol; ENTRYDB_ELOAD, anything else. Also the
 * codes of entrydb_resolve() and entrydb_check_policy(). Since 0.1.
 */
ENTRYDB_API int entrydb_load(entrydb *db, const entrydb_entry_point *entry_point, void **symbol,
                             entrydb_error *error);

/* How to load; to be combined. */
enum entrydb_load_flags {
	ENTRYDB_LOAD_LAZY = 1,   /* RTLD_LAZY: functions it lacks are missed when they are called */
	ENTRYDB_LOAD_SAME = 2,   /* only the build that was indexed, by its build-id */
	ENTRYDB_LOAD_HASH = 4,   /* only what has the hash that RECORD gives; reads all of it */
	ENTRYDB_LOAD_GUARDED = 8 /* if this process ends while loading, have it set aside */
};

/*
 * Does the host accept this plugin, by its version, say? NULL: it does. Else the reason, in
 * one line, the host's own. Called with no lock held.
 */
typedef const char *entrydb_accept(void *symbol, void *payload);

/* Options for loading; initialise them with ENTRYDB_LOAD_OPTIONS_INIT. */
typedef struct entrydb_load_options {
	size_t size;            /* sizeof(entrydb_load_options), so that it can grow */
	unsigned flags;         /* enum entrydb_load_flags */
	entrydb_accept *accept; /* or NULL */
	void *payload;          /* for accept */
} entrydb_load_options;

#define ENTRYDB_LOAD_OPTIONS_INIT                                                                  \
	{                                                                                          \
		sizeof(entrydb_load_options), 0, NULL, NULL                                        \
	}

/*
 * The same with options, which may be NULL.
 *
 * ENTRYDB_EINVAL: they are not those of this library. ENTRYDB_ECHANGED: the object is another
 * one than the flags ask for, or it cannot be told. ENTRYDB_EREFUSED: accept() has given a
 * reason, which is in the message; the object stays open. Also the codes of entrydb_load().
 * Since 0.1.
 */
ENTRYDB_API int entrydb_load_with(entrydb *db, const entrydb_entry_point *entry_point,
                                  const entrydb_load_options *options, void **symbol,
                                  entrydb_error *error);

/* --- registries --- */

typedef struct entrydb_registry entrydb_registry; /* names, and what they stand for */
typedef struct entrydb_names entrydb_names;       /* an immutable list of names */

/*
 * A registry of plugins: those that are registered in this process, and those that are
 * installed, by the entry points of @group that policy allows. @load: how the latter are
 * loaded, or NULL. @db and @load->payload must outlive it. Close *out with
 * entrydb_registry_close(). Since 0.1.
 */
ENTRYDB_API int entrydb_registry_open(entrydb *db, const char *group,
                                      const entrydb_load_options *load, entrydb_registry **out,
                                      entrydb_error *error);

/* Close it; what was looked up stays valid. Since 0.1. */
ENTRYDB_API void entrydb_registry_close(entrydb_registry *registry);

/*
 * Let @name stand for @object, which may be NULL and is never followed. @tags are words with
 * commas between them, or NULL. An entry point of that name is not loaded any more.
 *
 * ENTRYDB_EEXISTS: it is registered, or loaded, already. Since 0.1.
 */
ENTRYDB_API int entrydb_registry_register(entrydb_registry *registry, const char *name,
                                          void *object, const char *tags, entrydb_error *error);

/*
 * What @name stands for: as registered; else as the symbol of the entry point, which is
 * loaded by the first look-up, with no lock held. The database is asked once, when a name
 * is not registered; of several entry points of one name, that with the highest priority
 * counts, then the first. A failure is not remembered: the next look-up tries again.
 *
 * ENTRYDB_EUNKNOWN: there is no such name; the message has one that is near, and all that
 * there are. Also the codes of entrydb_select_allowed() and entrydb_load_with(). Since 0.1.
 */
ENTRYDB_API int entrydb_registry_lookup(entrydb_registry *registry, const char *name, void **object,
                                        entrydb_error *error);

/*
 * All names, sorted, without those that were registered with one of the tags in @exclude
 * (words with commas between them, or NULL). Nothing is loaded. Free *out with
 * entrydb_names_free(). The codes of entrydb_select_allowed(). Since 0.1.
 */
ENTRYDB_API int entrydb_registry_names(entrydb_registry *registry, const char *exclude,
                                       entrydb_names **out, entrydb_error *error);

/* How many names; number @index, or NULL past the end, as long as the list lives. Since 0.1. */
ENTRYDB_API size_t entrydb_names_count(const entrydb_names *names);
ENTRYDB_API const char *entrydb_names_get(const entrydb_names *names, size_t index);

/* Free the list with its names. Since 0.1. */
ENTRYDB_API void entrydb_names_free(entrydb_names *names);

/* --- loading all of a group --- */

/* How to do so; to be combined. */
enum entrydb_autoload_flags {
	ENTRYDB_AUTOLOAD_ALL = 1,        /* go on after a failure */
	ENTRYDB_AUTOLOAD_NATIVE_ONLY = 2 /* pass over what only Python can load */
};

/* Call a plugin: NULL, or the reason why it failed, in one line, the host's own. */
typedef const char *entrydb_call(void *symbol, const entrydb_entry_point *entry_point,
                                 void *payload);

/* Told of a failure; @error is the library's, and gone afterwards. */
typedef void entrydb_failed(const entrydb_entry_point *entry_point, const entrydb_error *error,
                            void *payload);

/* Options of entrydb_autoload(); initialise them with ENTRYDB_AUTOLOAD_OPTIONS_INIT. */
typedef struct entrydb_autoload_options {
	size_t size;             /* sizeof(entrydb_autoload_options), so that it can grow */
	unsigned flags;          /* enum entrydb_autoload_flags */
	const char *variable;    /* of the environment: nothing is done unless it is not set, or
	                            exactly "1"; or NULL */
	const char *const *only; /* these names and no other; NULL: all */
	size_t only_count;
	const entrydb_load_options *load; /* or NULL */
	entrydb_call *call;               /* NULL: as int (*)(void), which returns 0 */
	entrydb_failed *failed;           /* or NULL */
	void *payload;                    /* for both */
} entrydb_autoload_options;

#define ENTRYDB_AUTOLOAD_OPTIONS_INIT                                                              \
	{                                                                                          \
		sizeof(entrydb_autoload_options), 0, NULL, NULL, 0, NULL, NULL, NULL, NULL         \
	}

/*
 * Load and call every entry point of @group that policy allows, those with higher
 * priorities first, else in the order of entrydb_select(). Two of one name are both called.
 * The first failure ends it, unless the flags say otherwise, and is what is returned; the
 * message names the extension, the cause, and how to switch it off. No lock is held while
 * a plugin is loaded or called. @options may be NULL.
 *
 * ENTRYDB_EINVAL: the options are not those of this library. ENTRYDB_EPLUGIN: a plugin was
 * called, and failed. Also the codes of entrydb_select_allowed() and entrydb_load_with().
 * Since 0.1.
 */
ENTRYDB_API int entrydb_autoload(entrydb *db, const char *group,
                                 const entrydb_autoload_options *options, entrydb_error *error);

/* --- path entries --- */

/* Where the answers about a path entry come from. */
enum entrydb_path_state {
	ENTRYDB_PATH_ABSENT = 0,  /* nothing is there */
	ENTRYDB_PATH_FRESH = 1,   /* the database: its times are those of the disk */
	ENTRYDB_PATH_CHECKED = 2, /* the database: each distribution was compared */
	ENTRYDB_PATH_SCANNED = 3  /* the disk */
};

/* "absent", "fresh", "checked", "scanned"; "unknown" for others. Static. Since 0.1. */
ENTRYDB_API const char *entrydb_path_state_name(enum entrydb_path_state state);

/*
 * What the handle knows of its path entries as of the last answer (or, before any, as
 * if one were given). It does not change later. Free with entrydb_path_free().
 * ENTRYDB_EIO: before the first answer, a path entry could not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_describe_path(entrydb *db, entrydb_path **out, entrydb_error *error);

/* How many path entries there are. Since 0.1. */
ENTRYDB_API size_t entrydb_path_count(const entrydb_path *path);

/* Path entry number @index, or NULL past the end; it lives as long as @path. Since 0.1. */
ENTRYDB_API const entrydb_path_entry *entrydb_path_get(const entrydb_path *path, size_t index);

/* Free it with its path entries and their texts. Since 0.1. */
ENTRYDB_API void entrydb_path_free(entrydb_path *path);

/* The path entry, as it was spelled. Since 0.1. */
ENTRYDB_API const char *entrydb_path_entry_path(const entrydb_path_entry *entry);

/* The database file that describes it; NULL: none does. Since 0.1. */
ENTRYDB_API const char *entrydb_path_entry_database(const entrydb_path_entry *entry);

/* Where the last answer about it came from. Since 0.1. */
ENTRYDB_API enum entrydb_path_state entrydb_path_entry_state(const entrydb_path_entry *entry);

/* Why it is in that state, as one line. Since 0.1. */
ENTRYDB_API const char *entrydb_path_entry_reason(const entrydb_path_entry *entry);

/* --- the library --- */

/* The version of the library at run time, as ENTRYDB_VERSION. Since 0.1. */
ENTRYDB_API const char *entrydb_version(void);

#ifdef __cplusplus
}
#endif

#endif
