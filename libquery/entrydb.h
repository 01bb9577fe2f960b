/*
 * entrydb.h - find and load Python entry points from C, without Python.
 *
 * An entry point is a line of packaging metadata, "name = module:attr [extras]"
 * in a group, by which an installed package announces a plugin, a command or a
 * back end. This library returns the same results as
 * importlib.metadata.entry_points(), with the same order and shadowing, from a
 * database that is updated when packages are installed. Path entries for which the
 * database is missing or out of date are read from the disk instead.
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
 * Errors. A function that can fail returns 0 or a negative enum entrydb_code, and
 * fills @error unless it is NULL. *out is written only on success. Every such function
 * may return ENTRYDB_ENOMEM; the comment at each function lists its other codes. Later
 * versions may add codes: treat every negative value as a failure. A selection that
 * matches nothing is an empty set, not an error.
 *
 * Ownership. The caller owns *out. Pointers that are returned directly are borrowed
 * from the object passed in and live as long as it does. Functions that close or free
 * accept NULL.
 *
 * Strings are NUL-terminated UTF-8; paths are the bytes of the file system.
 * entrydb_entry_point_text() also returns the length, for texts that contain a NUL.
 *
 * The library prints nothing and has no global state. It runs code of a package only
 * in entrydb_load() and the functions that load through it.
 *
 * Threads. A handle may be used by several threads: each function locks it. All other
 * objects are immutable, outlive the handle and need no lock. A struct entrydb_error
 * must not be shared between threads. Do not close or free an object that another
 * thread is using. On slow file systems a function may read with up to 16 worker
 * threads of its own; they block all signals and have ended when it returns.
 *
 * Compatibility. Option structures carry their size. Apart from them and entrydb_error,
 * all types are opaque: new fields are added as new functions. Enumerations may gain
 * members; existing values never change.
 *
 * Terms. A path entry is an element of sys.path: a site directory or a zip file. A
 * sysroot is an alternative file-system root. A distribution shadows every distribution
 * of the same name that comes later on the path.
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

/* Error codes. */
enum entrydb_code {
	ENTRYDB_OK = 0,
	ENTRYDB_ENOMEM = -1,       /* out of memory */
	ENTRYDB_EINVAL = -2,       /* invalid argument */
	ENTRYDB_EIO = -3,          /* a system call failed; it may succeed later */
	ENTRYDB_EFORMAT = -4,      /* a file is damaged, or has another format or version */
	ENTRYDB_EPERMISSION = -5,  /* access denied, or a file that others can write */
	ENTRYDB_ELIMIT = -6,       /* larger than a limit of the library */
	ENTRYDB_ENOTFOUND = -7,    /* no such file */
	ENTRYDB_EPYTHON = -8,      /* Python code, which only Python can load */
	ENTRYDB_EUNRESOLVED = -9,  /* the target is unknown; see entrydb_resolve() */
	ENTRYDB_ENOSYMBOL = -10,   /* the shared object does not export the symbol */
	ENTRYDB_EDISABLED = -11,   /* forbidden by policy */
	ENTRYDB_ELOAD = -12,       /* dlopen() failed; the message quotes dlerror() */
	ENTRYDB_EDEPENDENCY = -14, /* dlopen() failed: a needed library is missing */
	ENTRYDB_EUNDEFINED = -15,  /* dlopen() failed: a needed symbol is undefined */
	ENTRYDB_ECHANGED = -16,    /* the object differs from the indexed or installed one */
	ENTRYDB_EREFUSED = -17,    /* rejected by the host's accept() callback */
	ENTRYDB_ESETASIDE = -18,   /* quarantined after a crash or hang; see entrydb(1) */
	ENTRYDB_EEXISTS = -19,     /* the name is already in use */
	ENTRYDB_EUNKNOWN = -20,    /* no such name */
	ENTRYDB_EPLUGIN = -21      /* a plugin was called and reported a failure */
};

/*
 * An error, owned by the caller: initialise it with ENTRYDB_ERROR_INIT, release it with
 * entrydb_error_clear(). It may be passed to any number of calls in between.
 */
typedef struct entrydb_error {
	int code;                              /* 0, or an enum entrydb_code */
	char *message;                         /* one line, or NULL; see entrydb_error_message() */
	struct entrydb_error_details *details; /* private */
} entrydb_error;

#define ENTRYDB_ERROR_INIT                                                                         \
	{                                                                                          \
		0, NULL, NULL                                                                      \
	}

/*
 * One line: what failed, why, and what to do about it. Never NULL; it lives until the error is
 * cleared or filled again. Since 0.1.
 */
ENTRYDB_API const char *entrydb_error_message(const entrydb_error *error);

/*
 * Free the message and set the code to 0; the error can be used again. NULL is accepted. Since 0.1.
 */
ENTRYDB_API void entrydb_error_clear(entrydb_error *error);

/* --- handles --- */

/* Order and shadowing of entry points differ between releases of Python; these select a release. */
enum entrydb_rules {
	ENTRYDB_RULES_DEFAULT = 0, /* as ENTRYDB_PYTHON_3_12 */
	ENTRYDB_PYTHON_3_10 = 1,   /* CPython 3.10 and 3.11: results sorted by group */
	ENTRYDB_PYTHON_3_12 = 2,   /* CPython 3.12 and later */
	ENTRYDB_IM_10_1 = 3        /* importlib_metadata 10.1 and later: distributions
	                              without metadata come last */
};

/*
 * Parse a Python version, such as "3.11" or "3.12", or "im10" for importlib_metadata 10.1 and
 * later.
 *
 * ENTRYDB_EINVAL, the only code: not a known version. Since 0.1.
 */
ENTRYDB_API int entrydb_rules_parse(const char *text, enum entrydb_rules *out);

/* How thoroughly the database is checked against the disk before each query. */
enum entrydb_fresh {
	ENTRYDB_FRESH_DEFAULT = 0, /* $ENTRYDB_FRESH, else ENTRYDB_FRESH_ROOTS */
	ENTRYDB_FRESH_TRUST = 1,   /* not checked; for read-only images */
	ENTRYDB_FRESH_ROOTS = 2,   /* one stat for each path entry */
	ENTRYDB_FRESH_EXACT = 3    /* every entry_points.txt is read */
};

/*
 * Parse "trust", "roots" or "exact".
 *
 * ENTRYDB_EINVAL, the only code: anything else. Since 0.1.
 */
ENTRYDB_API int entrydb_fresh_parse(const char *text, enum entrydb_fresh *out);

/* Parts of a result that the caller does not need. */
enum entrydb_omit {
	/*
	 * Name and version of the distribution: they may be NULL where a file would have to be read
	 * for them. Where policy rules exist, such an entry point cannot be loaded.
	 */
	ENTRYDB_OMIT_METADATA = 1
};

/*
 * Options for opening a handle; initialise them with ENTRYDB_OPTIONS_INIT. The library copies the
 * strings.
 */
typedef struct entrydb_options {
	size_t size; /* sizeof(entrydb_options), so that it can grow */
	enum entrydb_rules rules;
	enum entrydb_fresh fresh;
	const char *database; /* use this file instead of each environment's database */
	const char *sysroot;  /* alternative file-system root; paths are relative to it */
	const char *program;  /* name of the calling program, for policy rules of one program;
	                         NULL, or in a privileged process: its own name */
	unsigned omit;        /* flags of enum entrydb_omit */
} entrydb_options;

#define ENTRYDB_OPTIONS_INIT                                                                       \
	{                                                                                          \
		sizeof(entrydb_options), ENTRYDB_RULES_DEFAULT, ENTRYDB_FRESH_DEFAULT, NULL, NULL, \
		        NULL, 0                                                                    \
	}

typedef struct entrydb entrydb;                           /* a handle */
typedef struct entrydb_set entrydb_set;                   /* an immutable result */
typedef struct entrydb_entry_point entrydb_entry_point;   /* part of a set */
typedef struct entrydb_distribution entrydb_distribution; /* part of a set */
typedef struct entrydb_target entrydb_target;             /* the file behind an entry point */
typedef struct entrydb_path entrydb_path;                 /* the state of the path entries */
typedef struct entrydb_path_entry entrydb_path_entry;     /* part of an entrydb_path */
typedef struct entrydb_verdict entrydb_verdict;           /* a policy decision */

/*
 * Open a handle on @count path entries, spelled and ordered as in sys.path. With @path NULL:
 * $ENTRYDB_PATH, else the active virtual or conda environment, else the site directories of the
 * user and of the system. As in Python, path entries that do not exist are empty; relative ones,
 * and "" for the current directory, are resolved at each call. An environment's database that is
 * missing, damaged or untrusted is ignored and the disk is read instead; options->database, if it
 * exists, must be valid. @options may be NULL. Close *out with entrydb_close().
 *
 * ENTRYDB_EINVAL: the options are of an unknown size or hold an unknown value. ENTRYDB_ENOTFOUND: a
 * path in the options does not exist (options->database may be missing). ENTRYDB_EIO,
 * ENTRYDB_EPERMISSION: the default path could not be determined. For options->database also
 * ENTRYDB_EFORMAT, ENTRYDB_EPERMISSION and ENTRYDB_EIO. Since 0.1.
 */
ENTRYDB_API int entrydb_open(const char *const *path, size_t count, const entrydb_options *options,
                             entrydb **out, entrydb_error *error);

/*
 * Open a handle on one database file. Its path entries are all directories, zips and archives in
 * the file, in the file's order. options->database is ignored.
 *
 * ENTRYDB_ENOTFOUND: no such file. Otherwise the codes of entrydb_open(). Since 0.1.
 */
ENTRYDB_API int entrydb_open_file(const char *file, const entrydb_options *options, entrydb **out,
                                  entrydb_error *error);

/* Close the handle. Objects that it returned, such as sets and symbols, stay valid. Since 0.1. */
ENTRYDB_API void entrydb_close(entrydb *db);

/* --- queries --- */

/*
 * Select the entry points named @name in @group; NULL matches any. The set has the content and the
 * order of importlib.metadata's result. Distributions for which Python would raise an exception are
 * omitted and reported by entrydb_set_problem(). Policy is not applied: see
 * entrydb_select_allowed(). Free *out with entrydb_set_free().
 *
 * ENTRYDB_EIO: a path entry could not be read. With this code and ENTRYDB_ENOMEM there is no
 * partial result: call again when descriptors or memory are available. Since 0.1.
 */
ENTRYDB_API int entrydb_select(entrydb *db, const char *group, const char *name, entrydb_set **out,
                               entrydb_error *error);

/*
 * As entrydb_select(), including shadowed entry points: entrydb_entry_point_shadowed_by() names the
 * distribution that hides each. Since 0.1.
 */
ENTRYDB_API int entrydb_explain(entrydb *db, const char *group, const char *name, entrydb_set **out,
                                entrydb_error *error);

/*
 * All distributions of all path entries in order, with their entry points, shadowed or not. Walk
 * them with entrydb_set_distribution(). ENTRYDB_EIO: a path entry could not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_survey(entrydb *db, entrydb_set **out, entrydb_error *error);

/*
 * Find the distribution that importlib.metadata.distribution(@name) finds: the first on the path
 * whose metadata directory has this name after normalization. The set holds at most one
 * distribution; it has a path and a file, but no name, version or entry points: read the former two
 * with entrydb_read_metadata().
 *
 * ENTRYDB_EIO: a path entry could not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_find(entrydb *db, const char *name, entrydb_set **out,
                             entrydb_error *error);

/*
 * Read Name and Version of the distribution whose metadata directory (or file) is @file from
 * METADATA or PKG-INFO. *name and *version are NULL where the field is missing; else free them with
 * free(). Needs no handle; any thread may call it at any time.
 *
 * ENTRYDB_ENOTFOUND: there is neither METADATA nor PKG-INFO. ENTRYDB_EFORMAT: Python would raise an
 * exception on the file. ENTRYDB_EIO, ENTRYDB_EPERMISSION: it could not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_read_metadata(const char *file, char **name, char **version,
                                      entrydb_error *error);

/*
 * Select the native plugins named @name of @kind; NULL matches any. Native plugins are found by the
 * symbols that their shared objects export rather than by metadata, so entrydb_select() does not
 * return them. Kinds are "pjrt", "adbc", "sqlite" and others, see entrydb(1). The set is ordered by
 * kind, then by distribution; plugins of shadowed distributions are omitted. Each plugin is an
 * entrydb_entry_point that entrydb_resolve() and entrydb_load() accept: its group is the kind, its
 * module the shared object (relative to the path entry), its attr the symbol, its value
 * "object:symbol". For a path entry without an up-to-date database, every shared object that its
 * packages list is read.
 *
 * ENTRYDB_EIO: a path entry could not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_plugins(entrydb *db, const char *kind, const char *name, entrydb_set **out,
                                entrydb_error *error);

/*
 * Add kinds of plugins to this handle; @text has the format of /etc/entrydb/plugin-kinds.conf, see
 * entrydb(1). Databases do not hold plugins of these kinds, so entrydb_plugins() then reads the
 * shared objects at each call.
 *
 * ENTRYDB_EFORMAT: a syntax error in the text. ENTRYDB_ELIMIT: too many kinds. ENTRYDB_EIO:
 * plugin-kinds.conf could not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_add_plugin_kinds(entrydb *db, const char *text, entrydb_error *error);

/*
 * Check the disk, as a selection does, and store in *state a number that changes whenever a result
 * of this handle may have changed: the caller may cache what it took from a set while the number
 * stays the same.
 *
 * ENTRYDB_EIO: a path entry could not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_refresh(entrydb *db, unsigned long long *state, entrydb_error *error);

/* --- sets --- */

/* The number of entry points in the set. Since 0.1. */
ENTRYDB_API size_t entrydb_set_count(const entrydb_set *set);

/* Entry point number @index, or NULL past the end. It lives as long as the set. Since 0.1. */
ENTRYDB_API const entrydb_entry_point *entrydb_set_get(const entrydb_set *set, size_t index);

/*
 * The number of distributions that could not be read; and a line about number @index, "file:
 * reason", or NULL past the end. It lives as long as the set. Since 0.1.
 */
ENTRYDB_API size_t entrydb_set_problem_count(const entrydb_set *set);
ENTRYDB_API const char *entrydb_set_problem(const entrydb_set *set, size_t index);

/*
 * The number of distributions in a set from entrydb_survey() or entrydb_find(); and number @index,
 * or NULL past the end. It lives as long as the set. Since 0.1.
 */
ENTRYDB_API size_t entrydb_set_distribution_count(const entrydb_set *set);
ENTRYDB_API const entrydb_distribution *entrydb_set_distribution(const entrydb_set *set,
                                                                 size_t index);

/* Free the set and all objects and strings borrowed from it. Since 0.1. */
ENTRYDB_API void entrydb_set_free(entrydb_set *set);

/* --- entry points --- */

/* The fields of an entry point. */
enum entrydb_field {
	ENTRYDB_FIELD_GROUP = 0,
	ENTRYDB_FIELD_NAME = 1,
	ENTRYDB_FIELD_VALUE = 2,        /* as written: "module:attr [extras]" */
	ENTRYDB_FIELD_MODULE = 3,       /* NULL if the value cannot be parsed */
	ENTRYDB_FIELD_ATTR = 4,         /* NULL for none */
	ENTRYDB_FIELD_EXTRAS = 5,       /* comma-separated; NULL for none */
	ENTRYDB_FIELD_DISTRIBUTION = 6, /* Name in METADATA; NULL for none */
	ENTRYDB_FIELD_VERSION = 7,      /* Version in METADATA; NULL for none */
	ENTRYDB_FIELD_PATH = 8,         /* the path entry, as given */
	ENTRYDB_FIELD_FILE = 9,         /* the metadata directory (or file) within it */
	ENTRYDB_FIELD_SHADOWED_BY = 10  /* the metadata directory of the shadowing distribution;
	                                   NULL except in sets of entrydb_explain() */
};

/*
 * The text of a field, NUL-terminated; *length (@length may be NULL) is set to its bytes. It lives
 * as long as the set. NULL for an unknown field. Since 0.1.
 */
ENTRYDB_API const char *entrydb_entry_point_text(const entrydb_entry_point *entry_point,
                                                 enum entrydb_field field, size_t *length);

/* One function for each field. Since 0.1. */
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

/* --- distributions; all returned strings live as long as the set --- */

/* The path entry, as given; and the metadata directory (or file) within it. Since 0.1. */
ENTRYDB_API const char *entrydb_distribution_path(const entrydb_distribution *distribution);
ENTRYDB_API const char *entrydb_distribution_file(const entrydb_distribution *distribution);

/* Name and Version in METADATA; NULL for none. Since 0.1. */
ENTRYDB_API const char *entrydb_distribution_name(const entrydb_distribution *distribution);
ENTRYDB_API const char *entrydb_distribution_version(const entrydb_distribution *distribution);

/* Why Python would raise an exception on this distribution; NULL if it would not. Since 0.1. */
ENTRYDB_API const char *entrydb_distribution_problem(const entrydb_distribution *distribution);

/* The number of its entry points; and number @index, or NULL past the end. Since 0.1. */
ENTRYDB_API size_t entrydb_distribution_count(const entrydb_distribution *distribution);
ENTRYDB_API const entrydb_entry_point *
entrydb_distribution_get(const entrydb_distribution *distribution, size_t index);

/* --- targets --- */

/* What an entry point refers to. */
enum entrydb_kind {
	ENTRYDB_KIND_UNRESOLVED = 0, /* the state says why */
	ENTRYDB_KIND_PYTHON = 1,     /* a Python module or package */
	ENTRYDB_KIND_NATIVE = 2,     /* a shared object that exports attr, without Python */
	ENTRYDB_KIND_EXTENSION = 3,  /* a Python extension module */
	ENTRYDB_KIND_BUNDLED = 4     /* a Python package that contains the group's plugin */
};

/* Whether the target can be loaded, judged from its files without loading it. */
enum entrydb_state {
	ENTRYDB_STATE_OK = 0,
	ENTRYDB_STATE_MISSING = 1,             /* no such file */
	ENTRYDB_STATE_NO_SYMBOL = 2,           /* the file does not export attr */
	ENTRYDB_STATE_AMBIGUOUS = 3,           /* several files export the group's symbol */
	ENTRYDB_STATE_UNRESOLVED_EDITABLE = 4, /* an editable install; files are elsewhere */
	ENTRYDB_STATE_WRONG_ARCHITECTURE = 5,  /* built for another machine */
	ENTRYDB_STATE_MISSING_DEPENDENCY = 6,  /* a library, or a version of it, is missing */
	ENTRYDB_STATE_NEEDS_HOST = 7,          /* needs symbols of its host program */
	ENTRYDB_STATE_NOT_EXAMINED = 8         /* too large to read, or in a package index */
};

/*
 * The name, such as "python" or "no-symbol"; "unknown" for an unknown value. The strings are
 * static. Since 0.1.
 */
ENTRYDB_API const char *entrydb_kind_name(enum entrydb_kind kind);
ENTRYDB_API const char *entrydb_state_name(enum entrydb_state state);

/*
 * Resolve @entry_point to a file and a symbol, from the database or by reading the disk, ELF files
 * included; nothing is loaded. An entry point that cannot be resolved gives a target whose state
 * says why. Free *out with entrydb_target_free().
 *
 * ENTRYDB_ENOTFOUND: the path entry no longer exists. ENTRYDB_EFORMAT: the path entry is a zip that
 * has since been damaged. ENTRYDB_EPERMISSION, ENTRYDB_EIO, ENTRYDB_ELIMIT: it could not be read.
 * Since 0.1.
 */
ENTRYDB_API int entrydb_resolve(entrydb *db, const entrydb_entry_point *entry_point,
                                entrydb_target **out, entrydb_error *error);

/* Its kind and state. Since 0.1. */
ENTRYDB_API enum entrydb_kind entrydb_target_kind(const entrydb_target *target);
ENTRYDB_API enum entrydb_state entrydb_target_state(const entrydb_target *target);

/*
 * The path of the shared object or module; NULL for none. It lives as long as the target. Since
 * 0.1.
 */
ENTRYDB_API const char *entrydb_target_object(const entrydb_target *target);

/*
 * The symbol to look up in the shared object; NULL for none. It lives as long as the target. Since
 * 0.1.
 */
ENTRYDB_API const char *entrydb_target_symbol(const entrydb_target *target);

/* The fields of a target, from reading its file; items of a list are separated by spaces. */
enum entrydb_target_field {
	ENTRYDB_TARGET_OBJECT = 0,    /* as entrydb_target_object() */
	ENTRYDB_TARGET_SYMBOL = 1,    /* as entrydb_target_symbol() */
	ENTRYDB_TARGET_BUILD_ID = 2,  /* hexadecimal */
	ENTRYDB_TARGET_SHA256 = 3,    /* "sha256=..." as RECORD writes it */
	ENTRYDB_TARGET_GLIBC = 4,     /* the C library version it needs at least: "2.34" */
	ENTRYDB_TARGET_GLIBCXX = 5,   /* the C++ library version: "3.4.30" */
	ENTRYDB_TARGET_MISSING = 6,   /* missing libraries and library versions */
	ENTRYDB_TARGET_UNDEFINED = 7, /* the first few symbols that its host must define */
	ENTRYDB_TARGET_PYTHON_BY = 8  /* the needed library that itself needs Python */
};

/*
 * The text of a field; NULL for none, and for an unknown field. It lives as long as the target.
 * Missing libraries and symbols were determined when the package was indexed, on the machine that
 * indexed it. Since 0.1.
 */
ENTRYDB_API const char *entrydb_target_text(const entrydb_target *target,
                                            enum entrydb_target_field field);

/* The size of the shared object in bytes, and its e_machine in ELF; 0 if unknown. Since 0.1. */
ENTRYDB_API unsigned long long entrydb_target_size(const entrydb_target *target);
ENTRYDB_API int entrydb_target_machine(const entrydb_target *target);

/* Free the target and its strings. Since 0.1. */
ENTRYDB_API void entrydb_target_free(entrydb_target *target);

/* --- policy --- */

/*
 * Decide whether policy allows an entry point to be loaded. The rules come from $ENTRYDB_DISABLE
 * and the policy files of the user, the environments and the system, see entrydb(1); without a rule
 * everything is allowed. @distribution is the Name in METADATA, @path the path entry; both may be
 * NULL if unknown. An environment's rules apply to its own entry points only, or, without @path, to
 * every path entry of this handle. entrydb_load() makes the same decision. Free *out with
 * entrydb_verdict_free().
 *
 * ENTRYDB_EFORMAT, ENTRYDB_EPERMISSION, ENTRYDB_ELIMIT, ENTRYDB_EIO: a policy file is invalid,
 * untrusted, too large or unreadable, so no decision can be made. Since 0.1.
 */
ENTRYDB_API int entrydb_check_policy(entrydb *db, const char *group, const char *name,
                                     const char *distribution, const char *path,
                                     entrydb_verdict **out, entrydb_error *error);

/* 1 if allowed, 0 if forbidden. Since 0.1. */
ENTRYDB_API int entrydb_verdict_allowed(const entrydb_verdict *verdict);

/* The priority set by a rule, 0 without one; higher priorities come first. Since 0.1. */
ENTRYDB_API int entrydb_verdict_priority(const entrydb_verdict *verdict);

/*
 * One line with the deciding rule and its file; NULL if no rule applied. It lives as long as the
 * verdict. Since 0.1.
 */
ENTRYDB_API const char *entrydb_verdict_reason(const entrydb_verdict *verdict);

/* Free the verdict and its strings. Since 0.1. */
ENTRYDB_API void entrydb_verdict_free(entrydb_verdict *verdict);

/*
 * Store in *out whether any policy rule applies to this handle: 0 means that everything is allowed.
 * A changed policy file takes effect within a second. Codes of entrydb_check_policy(). Since 0.1.
 */
ENTRYDB_API int entrydb_has_policy(entrydb *db, int *out, entrydb_error *error);

/*
 * As entrydb_select(), without the entry points that policy forbids. A changed policy file takes
 * effect within a second. Also the codes of entrydb_check_policy(). Since 0.1.
 */
ENTRYDB_API int entrydb_select_allowed(entrydb *db, const char *group, const char *name,
                                       entrydb_set **out, entrydb_error *error);

/* --- loading --- */

/*
 * Load the shared object that @entry_point refers to, and store the address of its symbol in
 * *symbol. The object is opened once, with RTLD_NOW and RTLD_LOCAL, and stays open after
 * entrydb_close(). No lock is held while its constructors run.
 *
 * ENTRYDB_EDISABLED: policy forbids it; the message names the rule. ENTRYDB_EPYTHON: Python code,
 * which only Python can import. ENTRYDB_EUNRESOLVED: ambiguous, an editable install, or a value
 * that cannot be parsed. ENTRYDB_ENOTFOUND, ENTRYDB_ENOSYMBOL: the file, or the symbol in it, does
 * not exist. ENTRYDB_EPERMISSION: users other than root and the caller can write the file or a
 * directory above it. ENTRYDB_ESETASIDE: quarantined, since it crashed or hung when it was loaded
 * before. If dlopen() fails, with dlerror() in the message: ENTRYDB_EDEPENDENCY, a needed library
 * is missing; ENTRYDB_EUNDEFINED, a needed symbol is undefined; ENTRYDB_ELOAD, anything else.
 * ENTRYDB_EINVAL: the handle has a sysroot. Also the codes of entrydb_resolve() and
 * entrydb_check_policy(). Since 0.1.
 */
ENTRYDB_API int entrydb_load(entrydb *db, const entrydb_entry_point *entry_point, void **symbol,
                             entrydb_error *error);

/* Flags for loading. */
enum entrydb_load_flags {
	ENTRYDB_LOAD_LAZY = 1,   /* RTLD_LAZY: undefined functions fail only when called */
	ENTRYDB_LOAD_SAME = 2,   /* require the build-id that was indexed */
	ENTRYDB_LOAD_HASH = 4,   /* require the hash in RECORD; reads the whole file */
	ENTRYDB_LOAD_GUARDED = 8 /* quarantine it if this process ends while loading */
};

/*
 * Callback: may reject a plugin after it is loaded, for its version say. Returns NULL to accept it,
 * else the reason in one line, which stays the host's. No lock is held.
 */
typedef const char *entrydb_accept(void *symbol, void *payload);

/* Options for loading; initialise them with ENTRYDB_LOAD_OPTIONS_INIT. */
typedef struct entrydb_load_options {
	size_t size;            /* sizeof(entrydb_load_options), so that it can grow */
	unsigned flags;         /* enum entrydb_load_flags */
	entrydb_accept *accept; /* or NULL */
	void *payload;          /* passed to accept */
} entrydb_load_options;

#define ENTRYDB_LOAD_OPTIONS_INIT                                                                  \
	{                                                                                          \
		sizeof(entrydb_load_options), 0, NULL, NULL                                        \
	}

/*
 * As entrydb_load(), with options; NULL for none.
 *
 * ENTRYDB_EINVAL: the options have another size than this library's. ENTRYDB_ECHANGED: the object
 * is not the one that the flags require, or this cannot be verified. ENTRYDB_EREFUSED: accept()
 * rejected the plugin; the message holds its reason, and the object stays open. Also the codes of
 * entrydb_load(). Since 0.1.
 */
ENTRYDB_API int entrydb_load_with(entrydb *db, const entrydb_entry_point *entry_point,
                                  const entrydb_load_options *options, void **symbol,
                                  entrydb_error *error);

/* --- registries --- */

typedef struct entrydb_registry entrydb_registry; /* a map from names to objects */
typedef struct entrydb_names entrydb_names;       /* an immutable list of names */

/*
 * Open a registry of plugins: those registered in this process, and those installed as entry points
 * of @group that policy allows. @load are the options for loading the latter, or NULL; they are
 * copied. @db and @load->payload must outlive the registry. Close *out with
 * entrydb_registry_close().
 *
 * ENTRYDB_EINVAL: the options have another size than this library's. Since 0.1.
 */
ENTRYDB_API int entrydb_registry_open(entrydb *db, const char *group,
                                      const entrydb_load_options *load, entrydb_registry **out,
                                      entrydb_error *error);

/* Close the registry; objects that were looked up stay valid. Since 0.1. */
ENTRYDB_API void entrydb_registry_close(entrydb_registry *registry);

/*
 * Register @object under @name; the entry point of that name is no longer used. @object may be NULL
 * and is never dereferenced. @tags is a comma-separated list of words, or NULL.
 *
 * ENTRYDB_EEXISTS: the name is already registered or loaded. Since 0.1.
 */
ENTRYDB_API int entrydb_registry_register(entrydb_registry *registry, const char *name,
                                          void *object, const char *tags, entrydb_error *error);

/*
 * Look up @name: the registered object, else the symbol of the entry point of that name, which is
 * loaded by the first look-up with no lock held. The entry points are selected once, by the first
 * look-up of a name that is not registered. Of several entry points of one name, the one with the
 * highest priority is used, then the first. A failure is not cached: the next look-up tries again.
 *
 * ENTRYDB_EUNKNOWN: no such name; the message suggests a similar one and lists some. Also the codes
 * of entrydb_select_allowed() and entrydb_load_with(). Since 0.1.
 */
ENTRYDB_API int entrydb_registry_lookup(entrydb_registry *registry, const char *name, void **object,
                                        entrydb_error *error);

/*
 * List all names, sorted, without those registered with a tag in @exclude (a comma-separated list,
 * or NULL). Nothing is loaded. Free *out with entrydb_names_free(). Codes of
 * entrydb_select_allowed(). Since 0.1.
 */
ENTRYDB_API int entrydb_registry_names(entrydb_registry *registry, const char *exclude,
                                       entrydb_names **out, entrydb_error *error);

/*
 * The number of names; and number @index, or NULL past the end. It lives as long as the list. Since
 * 0.1.
 */
ENTRYDB_API size_t entrydb_names_count(const entrydb_names *names);
ENTRYDB_API const char *entrydb_names_get(const entrydb_names *names, size_t index);

/* Free the list and its strings. Since 0.1. */
ENTRYDB_API void entrydb_names_free(entrydb_names *names);

/* --- loading a whole group --- */

/* Flags for entrydb_autoload(). */
enum entrydb_autoload_flags {
	ENTRYDB_AUTOLOAD_ALL = 1,        /* continue after a failure */
	ENTRYDB_AUTOLOAD_NATIVE_ONLY = 2 /* skip entry points that only Python can load */
};

/*
 * Callback: calls a plugin. Returns NULL on success, else the reason in one line, which stays the
 * host's.
 */
typedef const char *entrydb_call(void *symbol, const entrydb_entry_point *entry_point,
                                 void *payload);

/* Callback: reports a failure. @error is borrowed until the callback returns. */
typedef void entrydb_failed(const entrydb_entry_point *entry_point, const entrydb_error *error,
                            void *payload);

/* Options of entrydb_autoload(); initialise them with ENTRYDB_AUTOLOAD_OPTIONS_INIT. */
typedef struct entrydb_autoload_options {
	size_t size;             /* sizeof(entrydb_autoload_options), so that it can grow */
	unsigned flags;          /* enum entrydb_autoload_flags */
	const char *variable;    /* an environment variable: unless it is unset or "1", nothing
	                            is loaded; or NULL */
	const char *const *only; /* only these names; NULL: all */
	size_t only_count;
	const entrydb_load_options *load; /* or NULL */
	entrydb_call *call;               /* NULL: call int (*)(void), 0 being success */
	entrydb_failed *failed;           /* or NULL */
	void *payload;                    /* passed to call and failed */
} entrydb_autoload_options;

#define ENTRYDB_AUTOLOAD_OPTIONS_INIT                                                              \
	{                                                                                          \
		sizeof(entrydb_autoload_options), 0, NULL, NULL, 0, NULL, NULL, NULL, NULL         \
	}

/*
 * Load and call every entry point of @group that policy allows, higher priorities first, otherwise
 * in the order of entrydb_select(). Entry points of the same name are all called. The first failure
 * ends the call, unless the flags say otherwise, and is returned; the message names the plugin, the
 * cause, and how to disable it. No lock is held while a plugin is loaded or called. @options may be
 * NULL.
 *
 * ENTRYDB_EINVAL: the options have another size than this library's. ENTRYDB_EPLUGIN: a plugin was
 * called and reported a failure. Also the codes of entrydb_select_allowed() and
 * entrydb_load_with(). Since 0.1.
 */
ENTRYDB_API int entrydb_autoload(entrydb *db, const char *group,
                                 const entrydb_autoload_options *options, entrydb_error *error);

/* --- path entries --- */

/* The source of the results for a path entry. */
enum entrydb_path_state {
	ENTRYDB_PATH_ABSENT = 0,  /* it does not exist */
	ENTRYDB_PATH_FRESH = 1,   /* the database: its recorded times match the disk */
	ENTRYDB_PATH_CHECKED = 2, /* the database, after comparing each distribution */
	ENTRYDB_PATH_SCANNED = 3  /* the disk */
};

/*
 * The name: "absent", "fresh", "checked" or "scanned"; "unknown" for an unknown value. The strings
 * are static. Since 0.1.
 */
ENTRYDB_API const char *entrydb_path_state_name(enum entrydb_path_state state);

/*
 * Describe the path entries as of the last query (before the first, as if one were made now). The
 * description is a snapshot. Free *out with entrydb_path_free().
 *
 * ENTRYDB_EIO: before the first query, a path entry could not be read. Since 0.1.
 */
ENTRYDB_API int entrydb_describe_path(entrydb *db, entrydb_path **out, entrydb_error *error);

/* The number of path entries. Since 0.1. */
ENTRYDB_API size_t entrydb_path_count(const entrydb_path *path);

/* Path entry number @index, or NULL past the end; it lives as long as @path. Since 0.1. */
ENTRYDB_API const entrydb_path_entry *entrydb_path_get(const entrydb_path *path, size_t index);

/* Free the description and its strings. Since 0.1. */
ENTRYDB_API void entrydb_path_free(entrydb_path *path);

/* The path entry, as given. Since 0.1. */
ENTRYDB_API const char *entrydb_path_entry_path(const entrydb_path_entry *entry);

/* The database file that describes it; NULL for none. Since 0.1. */
ENTRYDB_API const char *entrydb_path_entry_database(const entrydb_path_entry *entry);

/* The source of the last result for it. Since 0.1. */
ENTRYDB_API enum entrydb_path_state entrydb_path_entry_state(const entrydb_path_entry *entry);

/* One line that explains the state. Since 0.1. */
ENTRYDB_API const char *entrydb_path_entry_reason(const entrydb_path_entry *entry);

/* --- the library --- */

/* The version of the library at run time, in the form of ENTRYDB_VERSION. Since 0.1. */
ENTRYDB_API const char *entrydb_version(void);

#ifdef __cplusplus
}
#endif

#endif
