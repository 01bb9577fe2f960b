/*
 * transfer.h - many HTTP requests at a time, in a part of the program that is loaded only when
 * needed: libcurl brings TLS, HTTP/2 and Kerberos along.
 *
 * No server is believed. Nothing but http and https is spoken; a redirect never leads from https
 * to http, nor to a machine of the private network unless the index is there itself; a body is
 * counted as it arrives, unpacked; whoever is silent is given up. Passwords go to the index alone.
 */
#ifndef INDEXER_PACKAGE_INDEX_TRANSFER_H
#define INDEXER_PACKAGE_INDEX_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "db/base/error.h"
#include "db/base/slice.h"

/* How to ask; all of it stays as long as the transfers. NULL: not said. */
struct transfer_settings {
	const char *index;      /* its URL, without a password */
	const char *credential; /* user:password, as they stand in a URL */
	const char *proxy, *certificates, *client_certificate;
	long idle; /* seconds without a byte, after which a server is given up; 0: the usual */
	bool (*stopped)(void);
};

/* What came; its texts stay until the callback returns. */
struct transfer_answer {
	int status;              /* of HTTP; 0: there is none, for @problem, a line */
	const char *problem;     /* also beside a status: why there is no whole body */
	bool is_too_large;       /* the body goes on after @limit bytes */
	const char *url;         /* at the end of all redirects */
	const char *etag, *type; /* "" where there is none */
	struct slice body;
	bool has_range; /* the body is what follows @first of @total bytes */
	uint64_t first, total;
};

/* A negative answer ends transfer_module.run(), which returns it. */
typedef int transfer_done(void *payload, const struct transfer_answer *answer, struct error *error);

struct transfer_request {
	const char *url;    /* copied, as are the next three */
	const char *accept; /* NULL: anything */
	const char *etag;   /* to be told if nothing has changed: status 304; or NULL */
	const char *range;  /* "0-99", "-100"; NULL: all, which may be compressed on the way */
	size_t limit;       /* bytes of the body */
	transfer_done *done;
	void *payload;
};

struct transfers;

/* What the module exports, under the name of entrydb_transfer_module. Not for several threads. */
struct transfer_module {
	int (*open)(const struct transfer_settings *settings, struct transfers **out,
	            struct error *error);
	/* Its callback is called once, by run(), which may ask for more. */
	int (*add)(struct transfers *transfers, const struct transfer_request *request,
	           struct error *error);
	/* Until nothing is under way. ERROR_IO: interrupted. */
	int (*run)(struct transfers *transfers, struct error *error);
	void (*close)(struct transfers *transfers); /* NULL is accepted */
	/*
	 * What @relative means on the page @base, without fragment, user and password: http or
	 * https, malloc'd. NULL: it means nothing, or there is no memory. *@credential (may be
	 * NULL): user:password of the URL, malloc'd, or NULL.
	 */
	char *(*join)(const char *base, const char *relative, char **credential);
};

#endif
