/*
 * error.h - what went wrong, in one line.
 *
 * Functions that can fail return 0 or one of the negative codes below, and fill
 * a struct error that the caller owns (or passes as NULL when the code is
 * enough). The message says what failed, why, and, where one can, what to do;
 * it names files and repeats the system's own words. The codes are those of
 * entrydb.h, which asserts that they agree.
 */
#ifndef DB_BASE_ERROR_H
#define DB_BASE_ERROR_H

#include <stdbool.h>

enum error_code {
	ERROR_NOMEM = -1,      /* out of memory */
	ERROR_INVALID = -2,    /* an argument makes no sense, or the file is a foreign one */
	ERROR_IO = -3,         /* the system could not read or write */
	ERROR_FORMAT = -4,     /* a file is not what it claims to be */
	ERROR_PERMISSION = -5, /* not allowed, or not to be trusted */
	ERROR_LIMIT = -6,      /* larger than a named limit */
	ERROR_NOTFOUND = -7,   /* no such file */
	ERROR_PYTHON = -8,     /* only Python can load it */
	ERROR_UNRESOLVED = -9, /* what an entry point leads to cannot be told */
	ERROR_NO_SYMBOL = -10, /* the shared object does not export it */
	ERROR_DISABLED = -11,  /* policy forbids it */
	ERROR_LOAD = -12,      /* the dynamic linker refused */
	ERROR_BUSY = -13, /* another writer holds the lock; not in entrydb.h: readers need none */
	ERROR_DEPENDENCY = -14, /* a library that the shared object needs is not there */
	ERROR_UNDEFINED = -15,  /* a symbol that it needs is defined nowhere */
	ERROR_CHANGED = -16,    /* it is not what was indexed, or what RECORD says */
	ERROR_REFUSED = -17,    /* the host does not accept it */
	ERROR_SET_ASIDE = -18,  /* it crashed or hung before */
	ERROR_EXISTS = -19,     /* there is one of that name */
	ERROR_UNKNOWN = -20,    /* there is none of that name */
	ERROR_PLUGIN = -21,     /* it was called, and failed */
};

/*
 * A failure is not a fact. That a file is not there, that it may not be read, that it is
 * of the wrong kind or says nonsense, are facts: they can be remembered and acted upon.
 * That there is no memory, that there are too many open files, that a disk does not
 * answer, say nothing about what was asked: code that meets such a failure gives no answer,
 * keeps what was known before, and asks again later.
 */
static inline bool error_is_failure(int code)
{
	return code == ERROR_NOMEM || code == ERROR_IO;
}

/* The code for the errno of a system call. */
int error_code(int errnum);

/* Does the errno of a system call that was to find something out say nothing about it? */
static inline bool errno_is_failure(int errnum)
{
	return error_is_failure(error_code(errnum));
}

/* Also what an entrydb_error of the library's caller begins with, hence may_alias. */
struct error {
	int code;      /* 0, or an enum error_code */
	char *message; /* one line, malloc'd; NULL when there was no memory for it */
} __attribute__((may_alias));

/*
 * Fill @error (NULL is accepted) with @code and the formatted line, replacing
 * what it held. Returns @code, so that a caller can "return error_set(...)".
 */
int error_set(struct error *error, int code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* The same, with ": " and the text of @errnum appended; the code follows from @errnum. */
int error_errno(struct error *error, int errnum, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Out of memory: needs no memory itself. Returns ERROR_NOMEM. */
int error_nomem(struct error *error);

/* Hand the code and the message of @from over to @to (NULL is accepted). Returns the code. */
int error_move(struct error *to, struct error *from);

/* The same for a failure; any other error is dropped. Returns the code of the failure, or 0. */
int error_move_failure(struct error *to, struct error *from);

/* The message, or a fixed text where there was no memory for one. Never NULL. */
const char *error_text(const struct error *error);

/* Release the message and set the code to 0. */
void error_clear(struct error *error);

#endif
