/*
 * error.h - error codes with a one-line message.
 *
 * A function that can fail returns 0 or one of the negative codes below, and fills a struct error
 * that the caller owns (or passes as NULL if the code is enough). The message says what failed,
 * why, and, where possible, what to do; it names files and repeats the text of the system. The
 * codes equal those of entrydb.h, which names.c asserts.
 */
#ifndef DB_BASE_ERROR_H
#define DB_BASE_ERROR_H

#include <stdbool.h>

enum error_code {
	ERROR_NOMEM = -1,      /* out of memory */
	ERROR_INVALID = -2,    /* an invalid argument, or a file of another program */
	ERROR_IO = -3,         /* a system call failed */
	ERROR_FORMAT = -4,     /* a file has the wrong type or invalid content */
	ERROR_PERMISSION = -5, /* access denied, or not trusted */
	ERROR_LIMIT = -6,      /* larger than a named limit */
	ERROR_NOTFOUND = -7,   /* no such file */
	ERROR_PYTHON = -8,     /* only Python can load it */
	ERROR_UNRESOLVED = -9, /* the target of an entry point is unknown */
	ERROR_NO_SYMBOL = -10, /* the shared object does not export it */
	ERROR_DISABLED = -11,  /* policy forbids it */
	ERROR_LOAD = -12,      /* dlopen() failed */
	ERROR_BUSY =
	        -13, /* another writer holds the lock; not in entrydb.h: readers take no lock */
	ERROR_DEPENDENCY = -14, /* a library that the shared object needs is missing */
	ERROR_UNDEFINED = -15,  /* a symbol that it needs is undefined */
	ERROR_CHANGED = -16,    /* it differs from the index, or from RECORD */
	ERROR_REFUSED = -17,    /* the host rejected it */
	ERROR_SET_ASIDE = -18,  /* quarantined: it crashed or hung before */
	ERROR_EXISTS = -19,     /* the name is in use */
	ERROR_UNKNOWN = -20,    /* no such name */
	ERROR_PLUGIN = -21,     /* a plugin reported a failure when called */
};

/*
 * Errors are of two classes. That a file is missing, unreadable for this user, of the wrong type or
 * malformed is a property of the file: it may be recorded and acted upon. A lack of memory or
 * descriptors, or an I/O error, says nothing about the file: code that meets such a transient
 * failure gives no answer, keeps the previous state, and tries again later.
 */
static inline bool error_is_failure(int code)
{
	return code == ERROR_NOMEM || code == ERROR_IO;
}

/* The code for the errno of a system call. */
int error_code(int errnum);

/* The same for the errno of a system call. */
static inline bool errno_is_failure(int errnum)
{
	return error_is_failure(error_code(errnum));
}

/* Also the first members of entrydb_error, which is cast to it: hence may_alias. */
struct error {
	int code;      /* 0, or an enum error_code */
	char *message; /* one line, malloc'd; NULL if out of memory */
} __attribute__((may_alias));

/*
 * Set @error (may be NULL) to @code and the formatted line, replacing its former content. Returns
 * @code, for "return error_set(...)".
 */
int error_set(struct error *error, int code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* As error_set(), with ": " and the text of @errnum appended; the code follows from @errnum. */
int error_errno(struct error *error, int errnum, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Report ERROR_NOMEM, without allocating. Returns ERROR_NOMEM. */
int error_nomem(struct error *error);

/* Move the code and message of @from to @to (may be NULL). Returns the code. */
int error_move(struct error *to, struct error *from);

/*
 * As error_move() if @from is a transient failure; any other error is cleared. Returns the code of
 * the failure, or 0.
 */
int error_move_failure(struct error *to, struct error *from);

/* The message, or a fixed text if there is none. Never NULL. */
const char *error_text(const struct error *error);

/* Free the message and set the code to 0. */
void error_clear(struct error *error);

#endif
