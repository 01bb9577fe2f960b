/*
 * target.h - from the value of an entry point to the file it means.
 *
 * For a value a.b.c:attr this answers which file Python's import would take for
 * the module a.b.c, and, where that is a shared object, whether a host without
 * Python can use it. No metadata beyond today's is needed, and no code of the
 * package runs: shared objects are read, never opened to run.
 */
#ifndef LIBQUERY_TARGET_H
#define LIBQUERY_TARGET_H

#include "arena.h"
#include "error.h"

enum target_kind {
	TARGET_UNRESOLVED, /* state says why */
	TARGET_PYTHON,     /* a Python module or package */
	TARGET_NATIVE,     /* a shared object that exports attr and needs no Python */
	TARGET_EXTENSION,  /* a shared object that only Python can open */
	TARGET_BUNDLED,    /* a Python package whose distribution carries the group's plugin */
};

enum target_state {
	TARGET_OK,
	TARGET_MISSING,   /* no such file */
	TARGET_NO_SYMBOL, /* a file, but it does not export attr, or is no shared object */
	TARGET_AMBIGUOUS, /* several files export the group's symbol */
	TARGET_UNRESOLVED_EDITABLE, /* an editable install, whose files are elsewhere */
};

/*
 * Gives the bytes of the file that RECORD spells @path; *@bytes is malloc'd and
 * freed by the caller. ERROR_NOTFOUND: no such file. ERROR_NOMEM ends the
 * resolution; any other error makes it an object that exports nothing.
 */
typedef int target_fetch(void *payload, struct slice path, struct slice *bytes,
                         struct error *error);

struct target_query {
	struct slice group, module, attr;
	struct slice record; /* the bytes of RECORD; null when there is none */
	/*
	 * The names of the shared objects right in the path entry, a newline after
	 * each: whoever has listed it knows them. Null: not known, and a module at the
	 * top that RECORD does not list costs a listing.
	 */
	struct slice site_objects;
	int site_fd; /* the directory of the path entry, borrowed; -1: look at no disk */
	struct slice python_tag; /* such as "312": whose extensions count; null: any CPython's */
	bool editable;
	target_fetch *fetch; /* where the files are in an archive; NULL: read from site_fd */
	void *payload;       /* for fetch */
};

struct target {
	enum target_kind kind;
	enum target_state state;
	struct slice object;   /* relative to the path entry; for python the .py, or the directory
	                          of a package without one; null when nothing was found */
	struct slice symbol;   /* what to look up in a native or bundled object; else null */
	struct slice build_id; /* hexadecimal; null when there is none */
	struct slice sha256;   /* of the object, "sha256=..." as in RECORD; null when absent */
	struct slice
	        candidates; /* of an ambiguous target: the paths, sorted, a newline after each */
	int machine;        /* EM_... of a shared object; 0 otherwise */
};

/*
 * Resolve one entry point. *@out is written on success; its slices point into
 * those of the query or into @arena. What cannot be resolved is an answer, not
 * an error: the only error is ERROR_NOMEM. For a Python module that RECORD
 * lists, it makes no system call and allocates nothing.
 */
int target_resolve(const struct target_query *query, struct arena *arena, struct target *out,
                   struct error *error);

/* python, native, extension, bundled, unresolved. */
const char *target_kind_name(enum target_kind kind);

/* ok, missing, no-symbol, ambiguous, unresolved-editable. */
const char *target_state_name(enum target_state state);

#endif
