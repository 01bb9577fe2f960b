/*
 * fleet_module.c - communicates with PostgreSQL. The only file that uses libpq.
 *
 * The server is not trusted: its replies are read row by row, and what it may send is limited,
 * since libpq keeps notifications and settings between the rows.
 */
#include "indexer/fleet/fleet_module.h"

#include <libpq-fe.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/text.h"
#include "indexer/computing.h"

#define COLUMNS_MAX  8           /* of a reply */
#define READS_MAX    1024        /* for connecting or for one reply, if bytes are unknown */
#define RECEIVED_MAX (16 << 20)  /* bytes, on one connection; libpq buffers one message */
#define MEMORY_MAX   (256 << 20) /* bytes allocated while connecting, or for one reply */
#define ENDLESS      "the fleet's server: its answer does not end"
#define LOOK_EVERY   200  /* milliseconds; how often signals are checked */
#define MESSAGE_MAX  4000 /* bytes of the server's message that are shown */
#define LOOKUP_MAX   60   /* seconds, for the names of hosts, LDAP and Kerberos */
#define PATIENCE     10   /* times tcp_user_timeout, for a statement and its reply */
#define SENT_SHIFT   24   /* 16 MiB are encrypted in a second, on a slow machine */

struct fleet {
	PGconn *connection;
	bool (*stopped)(void);
	int (*check)(const char *file, struct error *error);
	int64_t began, patience; /* milliseconds: start and duration of the current wait */
	int reads;               /* remaining reads of that wait */
	rlim_t memory;           /* the limit of this process before */
	bool local;              /* according to the settings, the server is this machine */
};

/* Set libpq's message in one line: all connection attempts, without hints. Returns @code. */
static int failed(const struct fleet *fleet, int code, struct error *error)
{
	static const char attempt[] = "connection to ";
	const char *line = PQerrorMessage(fleet->connection), *end;
	CLEANUP(cleanup_free) char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return error_nomem(error);
	if (!*line)
		line = "it answers as no PostgreSQL does";
	for (const char *first = line; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (line == first || strncmp(line, attempt, sizeof(attempt) - 1) == 0)
			fprintf(stream, "%s%.*s", line == first ? "" : "; ", (int)(end - line),
			        line);
	}
	if (!text_close(stream, &text))
		return error_nomem(error);
	return error_set(error, code, "the fleet's server: %.*s", MESSAGE_MAX, text);
}

static void ignore_notice(void *payload, const char *message)
{
	(void)payload;
	(void)message;
}

/*
 * libpq reads a row whole, of up to 1 GiB, in one call as long as the server sends, and copies it.
 * Without /proc, there is no limit.
 */
static void limit_memory(struct fleet *fleet)
{
	FILE *file = fopen("/proc/self/statm", "re");
	struct rlimit limit;
	unsigned long pages;

	if (file && fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) == 1 &&
	    getrlimit(RLIMIT_DATA, &limit) == 0) {
		rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_MAX;

		fleet->memory = limit.rlim_cur;
		limit.rlim_cur = most < limit.rlim_cur ? most : limit.rlim_cur;
		setrlimit(RLIMIT_DATA, &limit);
	}
	if (file)
		fclose(file);
}

static void unlimit_memory(const struct fleet *fleet)
{
	struct rlimit limit;

	if (fleet->memory != 0 && getrlimit(RLIMIT_DATA, &limit) == 0) {
		limit.rlim_cur = fleet->memory;
		setrlimit(RLIMIT_DATA, &limit);
	}
}

static void fleet_close(struct fleet *fleet)
{
	if (!fleet)
		return;
	computing_limit(COMPUTING_MAX);
	PQfinish(fleet->connection);
	computing_limit(0);
	free(fleet);
}

static void cleanup_settings(PQconninfoOption **settings)
{
	PQconninfoFree(*settings);
}

/* --- TLS --- */

static const char *value_of(const PQconninfoOption *settings, const char *keyword)
{
	for (const PQconninfoOption *at = settings; at && at->keyword; at++)
		if (strcmp(at->keyword, keyword) == 0)
			return at->val && at->val[0] ? at->val : NULL;
	return NULL;
}

/* A socket in the file system, or loopback; "127.example.org" is neither. */
static bool is_local(struct slice host)
{
	return host.len == 0 || strchr("/@", host.ptr[0]) || slice_equal(host, SLICE("::1")) ||
	       slice_equal(host, SLICE("localhost")) ||
	       (slice_starts(host, SLICE("127.")) && strspn(host.ptr, "0123456789.") >= host.len);
}

/* Are all hosts of "a,b" this machine? The address of a host takes precedence over its name. */
static bool are_local(const char *names, const char *addresses)
{
	struct slice name = slice_of(names ? names : ""),
	             address = slice_of(addresses ? addresses : "");
	bool all = true;

	while (all && (name.len > 0 || address.len > 0)) {
		struct slice host = slice_take(&name, ','), at = slice_take(&address, ',');

		all = is_local(at.len > 0 ? at : host);
	}
	return all;
}

/* Check the files that the settings of the URL, or else the others, name. */
static int check_files(const struct fleet *fleet, const PQconninfoOption *own,
                       const PQconninfoOption *others, struct error *error)
{
	static const char *const keywords[] = {"passfile",   "sslcert", "sslcrl",
	                                       "sslcrldir",  "sslkey",  "sslkeylogfile",
	                                       "sslrootcert"};
	int code = 0;

	for (size_t i = 0; code == 0 && i < sizeof(keywords) / sizeof(*keywords); i++) {
		const char *file = value_of(own, keywords[i]);

		file = file ? file : value_of(others, keywords[i]);
		/* OpenSSL's own certificates, since libpq 16; a key of an engine */
		if (file &&
		    !(strcmp(keywords[i], "sslrootcert") == 0 && strcmp(file, "system") == 0 &&
		      PQlibVersion() >= 160000) &&
		    !(strcmp(keywords[i], "sslkey") == 0 && strchr(file, ':')))
			code = fleet->check(file, error);
	}
	return code;
}

/*
 * By default, libpq tries TLS and falls back to an unencrypted connection. The environment has
 * lower priority than the URL and the service file: a setting in any of these is respected, and
 * without one "require" is used. Encryption by Kerberos replaces even verified TLS, and any user
 * can create root's ticket in /tmp with a key to which that user's server answers.
 */
static int ask_for_tls(struct fleet *fleet, const PQconninfoOption *own, struct error *error)
{
	CLEANUP(cleanup_settings) PQconninfoOption *others = NULL;
	const char *service = value_of(own, "service"), *name, *address;

	if (service && setenv("PGSERVICE", service, 1) != 0)
		return error_nomem(error);
	others = PQconndefaults();
	address = value_of(own, "hostaddr");
	address = address ? address : value_of(others, "hostaddr");
	name = value_of(own, "host");
	name = name ? name : value_of(others, "host");
	fleet->local = are_local(name, address);
	if (!others || setenv("PGGSSENCMODE", "disable", 0) != 0 ||
	    (!fleet->local && setenv("PGSSLMODE", "require", 0) != 0))
		return error_nomem(error);
	return check_files(fleet, own, others, error);
}

/*
 * Whether libpq can parse the URL. Checked first, because libpq's messages quote the URL and with
 * it the password, and because an unencoded password could be parsed as part of the host or port.
 */
static int prepare(struct fleet *fleet, const char *url, struct error *error)
{
	char *message = NULL;
	CLEANUP(cleanup_settings) PQconninfoOption *own = PQconninfoParse(url, &message);
	const char *host = value_of(own, "host"), *name = value_of(own, "dbname"),
	           *port = value_of(own, "port");
	int length = message ? (int)strcspn(message, "\"\n") : 0; /* up to what it quotes */

	while (length > 0 && strchr(": ", message[length - 1]))
		length--;
	if (!own && !message)
		return error_nomem(error);
	if (!own)
		error_set(error, ERROR_INVALID, "the fleet's URL: %.*s", length, message);
	PQfreemem(message);
	if (!own)
		return ERROR_INVALID;
	if ((host && host[0] != '/' && strchr(host, '@')) ||
	    (name && name[0] != '/' && strchr(name, '@')) ||
	    (port && port[strspn(port, "0123456789,")]))
		return error_set(error, ERROR_INVALID,
		                 "the fleet's URL: in a password '@' is written %%40, '/' %%2F, "
		                 "'?' %%3F and '#' %%23");
	return ask_for_tls(fleet, own, error);
}

/* --- waiting --- */

/*
 * Set the time limit to @times a setting, in units of @unit milliseconds; 0 means no limit, as in
 * libpq. Before that, the kernel drops a peer that acknowledges nothing, and libpq tries the next
 * host. @computing: processor time for all of it, in seconds; libpq searches all settings that a
 * server has sent for each that it sends.
 */
static void begin(struct fleet *fleet, const char *keyword, int unit, int times, int computing)
{
	CLEANUP(cleanup_settings) PQconninfoOption *settings = PQconninfo(fleet->connection);
	const char *value = value_of(settings, keyword);
	long limit = value ? strtol(value, NULL, 10) : 0;
	int silence = limit > 0 && limit < INT_MAX / unit ? (int)limit * unit : 0;

	fleet->began = milliseconds_now();
	fleet->patience = silence ? (int64_t)silence * times : INT64_MAX;
	fleet->reads = READS_MAX;
	computing_limit(computing);
	silence = silence / 10 * 9;
	setsockopt(PQsocket(fleet->connection), IPPROTO_TCP, TCP_USER_TIMEOUT, &silence,
	           sizeof(silence));
}

/* Bytes received from the server; 0 if unknown, as on a Unix socket. */
static uint64_t received(const struct fleet *fleet)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	getsockopt(PQsocket(fleet->connection), IPPROTO_TCP, TCP_INFO, &info, &size);
	return info.tcpi_bytes_received;
}

/* A malicious server may send endless data, arbitrarily slowly. */
static int wait_for(struct fleet *fleet, short events, struct error *error)
{
	struct pollfd socket = {.fd = PQsocket(fleet->connection), .events = events};
	uint64_t bytes;

	for (int ready = 0; ready <= 0;) {
		if (fleet->stopped())
			return error_set(error, ERROR_IO, "interrupted");
		if (milliseconds_now() - fleet->began >= fleet->patience)
			return error_set(error, ERROR_IO,
			                 "the fleet's server: no answer within %lld seconds",
			                 (long long)fleet->patience / 1000);
		bytes = received(fleet);
		if (bytes > 0 ? bytes > RECEIVED_MAX : fleet->reads == 0)
			return error_set(error, ERROR_LIMIT, ENDLESS);
		ready = poll(&socket, 1, LOOK_EVERY);
	}
	fleet->reads -= fleet->reads > 0 && (socket.revents & ~POLLOUT) != 0;
	return 0;
}

/* --- connecting --- */

/*
 * The name of this machine may be resolved by a server. (By default, libpq prints notices of the
 * server, without limit; and waits, also without one, until the server takes what it sends.)
 */
static int complete(struct fleet *fleet, struct error *error)
{
	PostgresPollingStatusType next = PGRES_POLLING_WRITING;
	const char *host = NULL;
	int code = 0;

	PQsetNoticeProcessor(fleet->connection, ignore_notice, NULL);
	PQsetnonblocking(fleet->connection, 1); /* if it fails, so does connecting */
	while (code == 0 && PQstatus(fleet->connection) != CONNECTION_BAD &&
	       next != PGRES_POLLING_OK) {
		if (host != PQhost(fleet->connection)) /* each host has its own time limit */
			begin(fleet, "connect_timeout", 1000, 1, COMPUTING_MAX);
		host = PQhost(fleet->connection);
		if (fleet->local && PQstatus(fleet->connection) == CONNECTION_MADE &&
		    !is_local(slice_of(PQhostaddr(fleet->connection))))
			return error_set(error, ERROR_IO,
			                 "the fleet's server: %s is not this machine", host);
		code = wait_for(fleet, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, error);
		if (code < 0)
			break;
		waiting_limit(LOOKUP_MAX);
		next = PQconnectPoll(fleet->connection);
		waiting_limit(0);
	}
	computing_limit(0);
	if (code == 0 && next != PGRES_POLLING_OK)
		code = failed(fleet, ERROR_IO, error);
	return code;
}

static int fleet_connect(const char *url, bool (*stopped)(void),
                         int (*check)(const char *file, struct error *error), struct fleet **out,
                         struct error *error)
{
	/* Defaults, unless set by the URL. An unreachable peer is detected within a minute. */
	static const char *const keys[] = {
	        "connect_timeout",  "keepalives_idle",  "keepalives_interval",
	        "keepalives_count", "tcp_user_timeout", "application_name",
	        "client_encoding",  "dbname",           NULL,
	};
	const char *values[] = {"10", "15", "15", "3", "60000", "entrydb", "UTF8", url, NULL};
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	int code;

	if (!fleet)
		return error_nomem(error);
	fleet->stopped = stopped;
	fleet->check = check;
	waiting_limit(LOOKUP_MAX);
	code = prepare(fleet, url, error);
	if (code == 0) {
		limit_memory(fleet);
		fleet->connection = PQconnectStartParams(keys, values, 1);
	}
	waiting_limit(0);
	if (code == 0) {
		code = fleet->connection ? complete(fleet, error) : error_nomem(error);
		unlimit_memory(fleet);
	}
	if (code == 0)
		*out = fleet;
	else
		fleet_close(fleet);
	return code;
}

/* --- queries --- */

/* Convert a SQLSTATE (see errcodes.txt in PostgreSQL's source) to an error code. */
static int code_of(const PGresult *result)
{
	/* invalid_schema_name, undefined_table, undefined_function, undefined_column */
	static const char unknown[] = "3F000 42P01 42883 42703";
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (!state || strlen(state) != 5)
		return ERROR_IO;
	if (strcmp(state, "42501") == 0) /* insufficient_privilege */
		return ERROR_PERMISSION;
	return strstr(unknown, state) ? ERROR_UNKNOWN : ERROR_IO;
}

/* Flush pending output and wait for a result, or for the end of the connection. */
static int wait_for_result(struct fleet *fleet, struct error *error)
{
	for (int code = 0;;) {
		int left = PQflush(fleet->connection);

		if (code < 0 || left < 0 || !PQisBusy(fleet->connection))
			return code;
		code = wait_for(fleet, left > 0 ? POLLIN | POLLOUT : POLLIN, error);
		if (code == 0 && !PQconsumeInput(fleet->connection))
			return 0;
	}
}

static void cleanup_result(PGresult **result)
{
	PQclear(*result);
}

/* Process the only row of @result. */
static int give_row(const PGresult *result, fleet_row *each, void *payload)
{
	int count = PQnfields(result) < COLUMNS_MAX ? PQnfields(result) : COLUMNS_MAX;
	struct slice columns[COLUMNS_MAX] = {0};

	for (int i = 0; i < count; i++)
		if (!PQgetisnull(result, 0, i))
			columns[i] = (struct slice){PQgetvalue(result, 0, i),
			                            (size_t)PQgetlength(result, 0, i)};
	return each ? each(payload, columns, count) : 0;
}

/* Process rows up to the final result, which may be an error. */
static int read_answer(struct fleet *fleet, fleet_row *each, void *payload, struct error *error)
{
	bool ended = false;
	int code = 0, waited;

	for (;;) {
		CLEANUP(cleanup_result) PGresult *result = NULL;

		waited = wait_for_result(fleet, error);
		if (waited < 0)
			return waited;
		result = PQgetResult(fleet->connection);
		if (!result || code < 0)
			return code;
		if (ended)
			return error_set(error, ERROR_LIMIT, ENDLESS);
		ended = PQresultStatus(result) != PGRES_SINGLE_TUPLE;
		if (!ended)
			code = give_row(result, each, payload);
		else if (PQresultStatus(result) != PGRES_TUPLES_OK)
			code = failed(fleet, code_of(result), error);
		if (code < 0 && !ended)
			return code;
	}
}

static int fleet_ask(struct fleet *fleet, const struct fleet_statement *statement, fleet_row *each,
                     void *payload, struct error *error)
{
	size_t size = 0;
	bool sent;
	int code;

	for (int i = 0; i < statement->count; i++)
		size += strlen(statement->values[i]);
	begin(fleet, "tcp_user_timeout", 1, PATIENCE, COMPUTING_MAX + (int)(size >> SENT_SHIFT));
	sent = PQsendQueryParams(fleet->connection, statement->text, statement->count, NULL,
	                         statement->values, NULL, NULL, 0) &&
	       PQsetSingleRowMode(fleet->connection);
	limit_memory(fleet); /* the statement is in memory */
	code = sent ? read_answer(fleet, each, payload, error) : failed(fleet, ERROR_IO, error);
	unlimit_memory(fleet);
	computing_limit(0);
	return code;
}

__attribute__((visibility("default"))) const struct fleet_module entrydb_fleet_module = {
        .connect = fleet_connect,
        .ask = fleet_ask,
        .close = fleet_close,
};
