/*
 * fleet_module.h - the part of the program that talks to PostgreSQL, loaded only when
 * needed: libpq brings OpenSSL, Kerberos and LDAP along.
 */
#ifndef INDEXER_FLEET_FLEET_MODULE_H
#define INDEXER_FLEET_FLEET_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#include "db/base/error.h"
#include "db/base/slice.h"

struct fleet; /* a connection */

#define FLEET_VALUES_MAX 4 /* of one statement */

/* A statement and the values of its parameters, as text. */
struct fleet_statement {
	const char *text;
	const char *values[FLEET_VALUES_MAX];
	int count;
};

/* The first columns of a row, as text; null for NULL. Non-zero ends the walk. */
typedef int fleet_row(void *payload, const struct slice *columns, int count);

/* What the module exports, under the name of entrydb_fleet_module. Not for several threads. */
struct fleet_module {
	/*
	 * What the URL, or the service of libpq, says; with TLS, unless it says otherwise or the
	 * server is this machine. ERROR_INVALID: it cannot be read; ERROR_IO, ERROR_NOMEM.
	 * @stopped is asked while the server is waited for.
	 */
	int (*connect)(const char *url, bool (*stopped)(void), struct fleet **out,
	               struct error *error);
	/*
	 * One statement, all of it or nothing; @each may be NULL. One round trip. ERROR_UNKNOWN:
	 * what it names is not there; ERROR_PERMISSION: the role may not; ERROR_LIMIT: the answer
	 * does not end, after which there is no more to ask; else ERROR_IO.
	 */
	int (*ask)(struct fleet *fleet, const struct fleet_statement *statement, fleet_row *each,
	           void *payload, struct error *error);
	void (*close)(struct fleet *fleet); /* NULL is accepted; what is not committed is lost */
};

#endif
