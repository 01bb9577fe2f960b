/*
 * transfer.h - concurrent HTTP requests, in a module that is loaded on demand, because libcurl
 * depends on TLS, HTTP/2 and Kerberos libraries.
 *
 * Servers are not trusted. Only http and https are used, for an https index only https; an address
 * in a private network is used only if the index itself has one; the limit of a body counts
 * decompressed bytes; requests have time limits. Passwords are sent only to the index.
 */
#ifndef INDEXER_PACKAGE_INDEX_TRANSFER_H
#define INDEXER_PACKAGE_INDEX_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/error.h"
#include "db/base/slice.h"
#include "indexer/package_index/settings.h"

/* A response; its texts are valid until the callback returns. */
struct transfer_answer {
	int status;              /* HTTP status; 0: no response */
	const char *problem;     /* NULL for status 200, 206 or 304; else a message */
	bool is_too_large;       /* the body is longer than @limit */
	const char *url;         /* after all redirects */
	const char *etag, *type; /* "" if missing */
	struct slice body;
	bool has_range; /* the body is the part at @first of @total bytes */
	uint64_t first, total;
};

/* A negative result makes transfer_module.run() end and return it. */
typedef int transfer_done(void *payload, const struct transfer_answer *answer, struct error *error);

/*
 * Called periodically; with @has_room, it may add requests. 1: call it again; 0: nothing can be
 * added at present; a negative result as above.
 */
typedef int transfer_next(void *payload, bool has_room, struct error *error);

/* Texts are copied; NULL: omitted. */
struct transfer_request {
	const char *url;
	const char *etag;  /* for If-None-Match */
	const char *range; /* "0-99", "-100"; without one the body may be compressed */
	size_t limit;      /* bytes of the body */
	transfer_done *done;
	void *payload;
};

struct transfers;

/* What all transfers took so far, repeated ones included. */
struct transfer_totals {
	size_t requests;
	uint64_t received, decoded; /* bytes: on the network, and without compression */
};

/* The module's interface, exported as entrydb_transfer_module. Not thread-safe. */
struct transfer_module {
	/* @index: its URL, from join(); @login: the same with user and password. All borrowed. */
	int (*open)(const struct settings *settings, const char *index, const char *login,
	            struct transfer_totals *totals, struct transfers **out, struct error *error);
	/* run() calls the callback once; the callback may add requests. */
	int (*add)(struct transfers *transfers, const struct transfer_request *request,
	           struct error *error);
	/* Run until all requests are done and @next adds no more. */
	int (*run)(struct transfers *transfers, transfer_next *next, void *payload,
	           struct error *error);
	void (*close)(struct transfers *transfers); /* accepts NULL */
	/*
	 * Resolve the URL @relative against @base (or NULL), without fragment, user and password;
	 * malloc'd. NULL: neither http nor https, or out of memory.
	 */
	char *(*join)(const char *base, const char *relative);
};

#endif
