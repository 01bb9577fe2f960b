/*
 * transfer.h - HTTP requests, many at a time, in a module that is loaded only when it is needed:
 * libcurl brings TLS, HTTP/2 and Kerberos along.
 *
 * Servers are hostile. Only http and https are spoken, of an https index https alone; none leads to
 * an address of a private network unless the index itself has one; the limit of a body
 * counts unpacked bytes; a silent server is given up. Passwords are sent to the index alone.
 */
#ifndef INDEXER_PACKAGE_INDEX_TRANSFER_H
#define INDEXER_PACKAGE_INDEX_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/error.h"
#include "db/base/slice.h"
#include "indexer/package_index/settings.h"

/* A response; its texts stay until the callback returns. */
struct transfer_answer {
	int status;              /* of HTTP; 0: there was no response */
	const char *problem;     /* NULL: it is 200, 206 or 304; else one line */
	bool is_too_large;       /* the body is longer than @limit */
	const char *url;         /* after all redirects */
	const char *etag, *type; /* "" where there is none */
	struct slice body;
	bool has_range; /* the body is the part of @total bytes that begins at @first */
	uint64_t first, total;
};

/* A negative result ends transfer_module.run(), which returns it. */
typedef int transfer_done(void *payload, const struct transfer_answer *answer, struct error *error);

/* Texts are copied; NULL: not sent. */
struct transfer_request {
	const char *url;
	const char *etag;  /* for If-None-Match */
	const char *range; /* "0-99", "-100"; without one the body may be compressed */
	size_t limit;      /* bytes of the body */
	transfer_done *done;
	void *payload;
};

struct transfers;

/* What the module exports as entrydb_transfer_module. For one thread. */
struct transfer_module {
	/* @index: its URL, by join(); @login: the same with user and password. All is borrowed. */
	int (*open)(const struct settings *settings, const char *index, const char *login,
	            bool (*stopped)(void), struct transfers **out, struct error *error);
	/* run() calls the callback once; it may add requests. */
	int (*add)(struct transfers *transfers, const struct transfer_request *request,
	           struct error *error);
	/*
	 * 0: all requests are done; 1: *@until has passed, in milliseconds_now(); callbacks may
	 * change it. ERROR_IO: interrupted.
	 */
	int (*run)(struct transfers *transfers, const int64_t *until, struct error *error);
	void (*close)(struct transfers *transfers); /* NULL is accepted */
	/*
	 * The URL of @relative on the page @base (or NULL), without fragment, user and password,
	 * malloc'd. NULL: it is neither http nor https, or there is no memory.
	 */
	char *(*join)(const char *base, const char *relative);
};

#endif
