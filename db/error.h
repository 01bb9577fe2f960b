/*
 * error.h - what went wrong, in one line.
 *
 * Functions that can fail return 0 or one of the negative codes below, and fill
 * a struct error that the caller owns (or passes as NULL when the code is
 * enough). The message says what failed, why, and, where one can, what to do;
 * it names files and repeats the system's own words. The codes are those of
 * entrydb.h, which asserts that they agree.
 */
#ifndef DB_ERROR_H
#define DB_ERROR_H

enum error_code {
	ERROR_NOMEM = -1,      /* out of memory */
	ERROR_INVALID = -2,    /* an argument makes no sense */
	ERROR_IO = -3,         /* the system refused to read or write */
	ERROR_FORMAT = -4,     /* a file is not what it claims to be */
	ERROR_PERMISSION = -5, /* not allowed, or not to be trusted */
	ERROR_BUSY = -6,       /* another writer holds the lock */
	ERROR_LIMIT = -7,      /* larger than a named limit */
	ERROR_NOTFOUND = -8,   /* no such thing */
	ERROR_LOAD = -9,       /* the dynamic linker refused */
};

struct error {
	int code;      /* 0, or an enum error_code */
	char *message; /* one line, malloc'd; NULL when there was no memory for it */
};

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

/* The message, or a fixed text where there was no memory for one. Never NULL. */
const char *error_text(const struct error *error);

/* Release the message and set the code to 0. */
void error_clear(struct error *error);

#endif
