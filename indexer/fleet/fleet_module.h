/*
 * fleet_module.h - the module that communicates with PostgreSQL, loaded on demand because libpq
 * depends on OpenSSL, Kerberos and LDAP.
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

/* Called with the first columns of a row, as text or null. Non-zero stops the iteration. */
typedef int fleet_row(void *payload, const struct slice *columns, int count);

/* The module's interface, exported as entrydb_fleet_module. Not thread-safe. */
struct fleet_module {
	/*
	 * Connect with a URL or a libpq service; with TLS, unless configured otherwise or the
	 * server is this machine. @stopped is called while waiting, @check for each file that the
	 * settings name, before libpq opens it. Errors: ERROR_INVALID (malformed URL), ERROR_IO,
	 * ERROR_NOMEM, those of @check.
	 */
	int (*connect)(const char *url, bool (*stopped)(void),
	               int (*check)(const char *file, struct error *error), struct fleet **out,
	               struct error *error);
	/*
	 * Run one statement in one transaction and one round trip; @each may be NULL. Errors:
	 * ERROR_UNKNOWN (an object does not exist), ERROR_PERMISSION, ERROR_LIMIT (the reply is too
	 * large; the connection cannot be used any more), else ERROR_IO.
	 */
	int (*ask)(struct fleet *fleet, const struct fleet_statement *statement, fleet_row *each,
	           void *payload, struct error *error);
	void (*close)(struct fleet *fleet); /* accepts NULL; discards uncommitted changes */
};

#endif
