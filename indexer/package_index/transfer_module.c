/*
 * transfer_module.c - HTTP by libcurl, which only this file uses.
 *
 * A request that fails for a temporary reason is repeated a few times after a pause.
 */
#include "indexer/package_index/transfer.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netdb.h>
#include <stdlib.h>
#include <strings.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/text.h"
#include "indexer/computing.h"

/* The Accept header for pages of an index. */
#define ACCEPT                                                                                     \
	"application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "         \
	"text/html;q=0.01, */*;q=0.001"

#define TRANSFERS_MAX    32 /* with more, none is asked for */
#define HOST_CONNECTIONS 8L /* connections to one host, over HTTP/1.1 */
#define CONNECT_SECONDS  15L
#define IDLE_SECONDS     15L               /* seconds without data */
#define TOTAL_SECONDS    300L              /* seconds of one request */
#define HEADERS_MAX      ((size_t)1 << 20) /* bytes of all headers of a request */
#define REDIRECTS_MAX    5L
#define TRIES_MAX        4   /* attempts of a request; one that timed out counts twice */
#define WAIT_MAX         60  /* seconds of Retry-After */
#define SIGNAL_INTERVAL  200 /* milliseconds between checks for signals */

/* Of an address: in a private network or in the internet. */
enum place { PLACE_UNKNOWN, PLACE_PRIVATE, PLACE_PUBLIC };

struct transfer {
	struct transfers *all;
	struct transfer *next; /* in the list of all */
	CURL *easy;
	struct curl_slist *headers;
	transfer_done *done;
	void *payload;
	char *body;
	size_t limit, length, room, headers_length;
	size_t compressions; /* of its body, one within the other */
	bool is_of_index, has_range, is_running, is_too_large, is_refused;
	enum place server; /* of the URL, before redirections */
	unsigned tries;
	int64_t not_before; /* milliseconds */
	char problem[CURL_ERROR_SIZE];
};

struct transfers {
	const char *url, *const *settings; /* of the index; pip's */
	char *user, *password;
	struct transfer_totals *totals;
	CURLM *multi;
	struct transfer *first;
	size_t count;         /* of these */
	int64_t paused_until; /* milliseconds; requested by a server */
	enum place index;
	bool has_proxy;
};

static void transfer_free(struct transfer *transfer)
{
	curl_easy_cleanup(transfer->easy);
	curl_slist_free_all(transfer->headers);
	free(transfer->body);
	free(transfer);
}

/* --- URLs --- */

static void cleanup_url(CURLU **url)
{
	curl_url_cleanup(*url);
}

static void cleanup_curl(char **text)
{
	curl_free(*text);
}

static char *transfer_join(const char *base, const char *relative)
{
	CLEANUP(cleanup_url) CURLU *url = curl_url();
	CLEANUP(cleanup_curl) char *scheme = NULL;
	CLEANUP(cleanup_curl) char *whole = NULL;

	if (!url || (base && curl_url_set(url, CURLUPART_URL, base, 0) != CURLUE_OK) ||
	    curl_url_set(url, CURLUPART_URL, relative, CURLU_URLENCODE) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    !text_has_word("http https", slice_of(scheme)))
		return NULL;
	curl_url_set(url, CURLUPART_USER, NULL, 0);
	curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
	curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
	return curl_url_get(url, CURLUPART_URL, &whole, 0) == CURLUE_OK ? strdup(whole) : NULL;
}

/* Have both URLs (from transfer_join()) the same scheme, host and port? */
static bool is_same_origin(const char *url, const char *other)
{
	size_t scheme = strcspn(other, ":") + 3; /* "://" */

	return strncasecmp(url, other, scheme + strcspn(other + scheme, "/?") + 1) == 0;
}

/* --- private networks --- */

/* Loopback, private, link-local, multicast, and other addresses outside of the internet. */
static bool is_private4(uint32_t a)
{
	static const struct {
		uint32_t net, bits;
	} nets[] = {
	        {0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},
	        {0xa9fe0000, 16}, {0xac100000, 12}, {0xc0000000, 24}, {0xc0a80000, 16},
	        {0xc6120000, 15}, {0xe0000000, 3},
	};

	for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++)
		if ((a ^ nets[i].net) >> (32 - nets[i].bits) == 0)
			return true;
	return false;
}

/* Only global unicast is public, without 6to4; NAT64 contains an IPv4 address. */
static bool is_private(const char *text)
{
	static const unsigned char nat64[12] = {0x00, 0x64, 0xff, 0x9b};
	unsigned char a[16];
	uint32_t last;

	if (inet_pton(AF_INET, text, &last) == 1)
		return is_private4(ntohl(last));
	if (inet_pton(AF_INET6, text, a) != 1)
		return true;
	memcpy(&last, a + sizeof(nat64), sizeof(last));
	if (memcmp(a, nat64, sizeof(nat64)) == 0)
		return is_private4(ntohl(last));
	return (a[0] & 0xe0) != 0x20 || (a[0] == 0x20 && a[1] == 0x02);
}

/* With a proxy: is this the server itself, because of no_proxy? Then it has the URL's port. */
static bool is_direct(const struct transfer *transfer, int peer)
{
	CLEANUP(cleanup_url) CURLU *url = curl_url();
	CLEANUP(cleanup_curl) char *port = NULL;
	const char *text = "";

	if (!transfer->all->has_proxy)
		return true;
	curl_easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_URL, (char **)&text);
	return url && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
	       curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
	       strtol(port, NULL, 10) == peer;
}

static enum place place_of(const struct transfer *transfer, const char *address, int port)
{
	return is_direct(transfer, port) && is_private(address) ? PLACE_PRIVATE : PLACE_PUBLIC;
}

/* Its first response shows where the index is: its name may have another address later. */
static void note_index(const struct transfer *transfer)
{
	if (transfer->is_of_index && transfer->all->index == PLACE_UNKNOWN)
		transfer->all->index = transfer->server;
}

/* Open a socket; fails for a private address unless the index has one. */
static curl_socket_t open_socket(void *payload, curlsocktype purpose, struct curl_sockaddr *at)
{
	struct transfer *transfer = payload;
	const struct transfers *all = transfer->all;
	char address[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
	long redirects = 0;
	bool is_index;

	(void)purpose;
	curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_COUNT, &redirects);
	if (redirects > 0)
		note_index(transfer);
	is_index = all->index == PLACE_UNKNOWN && transfer->is_of_index && redirects == 0;
	getnameinfo(&at->addr, at->addrlen, address, sizeof(address), port, sizeof(port),
	            NI_NUMERICHOST | NI_NUMERICSERV);
	transfer->is_refused =
	        !is_index && all->index != PLACE_PRIVATE &&
	        place_of(transfer, address, (int)strtol(port, NULL, 10)) == PLACE_PRIVATE;
	if (transfer->is_refused)
		return CURL_SOCKET_BAD;
	return socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
}

/* --- a request --- */

static size_t take_bytes(char *bytes, size_t one, size_t count, void *payload)
{
	struct transfer *transfer = payload;

	(void)one;
	transfer->is_too_large = count > transfer->limit - transfer->length;
	if (transfer->is_too_large)
		return 0;
	while (transfer->room <= transfer->length + count)
		if (!array_grow(&transfer->body, transfer->room, 1, &transfer->room))
			return 0;
	memcpy(transfer->body + transfer->length, bytes, count);
	transfer->length += count;
	transfer->body[transfer->length] = '\0';
	return count;
}

/* The number of compressions that a header line names. */
static size_t compressions_in(struct slice line)
{
	struct slice name = slice_take(&line, ':');
	bool is_transfer = name.len == 17 && strncasecmp(name.ptr, "Transfer-Encoding", 17) == 0;
	size_t count = 0;

	if (!is_transfer && (name.len != 16 || strncasecmp(name.ptr, "Content-Encoding", 16) != 0))
		return 0;
	while (line.len > 0) {
		struct slice word = slice_take(&line, ',');

		while (word.len > 0 && strchr(" \t", word.ptr[0]))
			word = slice_from(word, 1);
		count += word.len < 7 || strncasecmp(word.ptr, "chunked", 7) != 0;
	}
	return count;
}

/*
 * Trailers are headers, too, and libcurl keeps all of them. It undoes one compression within
 * another, and checks no time limit as long as that gives no bytes: terabytes from a kilobyte.
 */
static size_t count_header(char *bytes, size_t one, size_t count, void *payload)
{
	struct transfer *transfer = payload;
	struct slice line = {bytes, count};

	(void)one;
	transfer->headers_length += count;
	if (slice_starts(line, SLICE("HTTP/"))) /* after a redirection, too */
		transfer->compressions = 0;
	transfer->compressions += compressions_in(line);
	transfer->is_too_large =
	        transfer->headers_length > HEADERS_MAX || transfer->compressions > 1;
	return transfer->is_too_large ? 0 : count;
}

/*
 * A request is about to be sent, the first one with the login from the netrc file: for
 * redirections, libcurl would look for that of their host there. @address: of the server; sockets
 * may have been opened for others, too, of which this one answered first.
 */
static int before_request(void *payload, char *address, char *own_address, int port, int own_port)
{
	struct transfer *transfer = payload;
	long redirects = 0;

	(void)own_address, (void)own_port;
	curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_COUNT, &redirects);
	if (redirects == 0)
		transfer->server = place_of(transfer, address, port);
	curl_easy_setopt(transfer->easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	return CURL_PREREQFUNC_OK;
}

static bool add_header(struct transfer *transfer, const char *name, const char *value)
{
	CLEANUP(cleanup_free) char *line = value ? text_format("%s: %s", name, value) : NULL;
	struct curl_slist *more = line ? curl_slist_append(transfer->headers, line) : NULL;

	if (more)
		transfer->headers = more;
	return !value || more;
}

/* False if out of memory. libcurl copies the values of options. */
static bool prepare(struct transfer *transfer, const struct transfer_request *request)
{
	const char *const *settings = transfer->all->settings;
	bool is_safe = strncasecmp(transfer->all->url, "https:", 6) == 0;
	const char *protocols = is_safe ? "https" : "http,https";
	CURL *easy = transfer->easy = curl_easy_init();

	if (!easy || !add_header(transfer, "Accept", ACCEPT) ||
	    !add_header(transfer, "If-None-Match", request->etag))
		return false;
	curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->problem);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700 /* do not wait for a name server past the time limit */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "entrydb");
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, TOTAL_SECONDS);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, IDLE_SECONDS);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, count_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_NETRC_FILE, settings[SETTING_NETRC]);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_request);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_RANGE, request->range);
	curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, request->range ? NULL : "");
	if (transfer->is_of_index) {
		curl_easy_setopt(easy, CURLOPT_USERNAME, transfer->all->user);
		curl_easy_setopt(easy, CURLOPT_PASSWORD, transfer->all->password);
	}
	if (settings[SETTING_PROXY]) /* default: from the environment */
		curl_easy_setopt(easy, CURLOPT_PROXY, settings[SETTING_PROXY]);
	if (settings[SETTING_CERTIFICATES]) /* default: the system's */
		curl_easy_setopt(easy, CURLOPT_CAINFO, settings[SETTING_CERTIFICATES]);
	curl_easy_setopt(easy, CURLOPT_SSLCERT, settings[SETTING_CLIENT]);
	return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, protocols) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_URL, request->url) == CURLE_OK;
}

static int transfer_add(struct transfers *transfers, const struct transfer_request *request,
                        struct error *error)
{
	struct transfer *transfer = calloc(1, sizeof(*transfer));

	if (!transfer)
		return error_nomem(error);
	transfer->all = transfers;
	transfer->done = request->done;
	transfer->payload = request->payload;
	transfer->limit = request->limit;
	transfer->has_range = request->range != NULL;
	transfer->is_of_index = is_same_origin(request->url, transfers->url);
	transfer->next = transfers->first;
	transfers->first = transfer;
	transfers->count++;
	return prepare(transfer, request) ? 0 : error_nomem(error);
}

/* --- its response --- */

static const char *header_of(const struct transfer *transfer, const char *name)
{
	struct curl_header *found;

	if (curl_easy_header(transfer->easy, name, 0, CURLH_HEADER, -1, &found) != CURLHE_OK)
		return "";
	return found->value;
}

static bool is_temporary(const struct transfer *transfer, CURLcode result, long status)
{
	switch (result) {
	case CURLE_OK:
		return status == 429 || (status >= 500 && status != 501 && status <= 504);
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return !transfer->is_refused && !transfer->is_too_large;
	default:
		return false;
	}
}

/* Whether and when to repeat it. A Retry-After of the server counts up to WAIT_MAX. */
static bool retry(struct transfer *transfer, CURLcode result, long status)
{
	curl_off_t asked = 0;
	int64_t now = milliseconds_now(), delay = (int64_t)500 << transfer->tries;

	transfer->tries += result == CURLE_OPERATION_TIMEDOUT ? 2 : 1;
	if (!is_temporary(transfer, result, status) || transfer->tries >= TRIES_MAX)
		return false;
	if (result == CURLE_OK)
		curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &asked);
	if (asked > WAIT_MAX) {
		snprintf(transfer->problem, sizeof(transfer->problem),
		         "the server asks to wait for %lld seconds", (long long)asked);
		return false;
	}
	if (asked > 0)
		delay = (int64_t)asked * 1000;
	if (asked > 0 || status == 429)
		transfer->all->paused_until = now + delay;
	transfer->not_before = now + delay;
	return true;
}

/* Parse "bytes 100-199/1000" and compare it with the body. */
static void read_range(const struct transfer *transfer, struct transfer_answer *answer)
{
	unsigned long long first, last, total;
	int end = -1;
	const char *text = header_of(transfer, "Content-Range");

	if (sscanf(text, "bytes %llu-%llu/%llu%n", &first, &last, &total, &end) != 3 || end < 0 ||
	    text[end] || last < first || last >= total || last - first + 1 != transfer->length ||
	    !transfer->has_range) {
		answer->problem = "the server's Content-Range does not agree with its body";
		return;
	}
	answer->has_range = true;
	answer->first = first;
	answer->total = total;
}

static const char *problem_of(struct transfer *transfer, CURLcode result, long status)
{
	if (transfer->is_refused)
		return "the server leads to a private network";
	if (transfer->is_too_large)
		return "larger than the limit";
	if (result == CURLE_UNSUPPORTED_PROTOCOL)
		return "it leads to neither http nor https, or from https to http";
	if (result == CURLE_TOO_MANY_REDIRECTS)
		return "redirected more than 5 times";
	if (strncmp(transfer->problem, "Unsupported proxy", 17) == 0)
		return "the proxy's URL is malformed"; /* libcurl quotes it, with the password */
	if (transfer->problem[0])
		return transfer->problem;
	if (result != CURLE_OK)
		return curl_easy_strerror(result);
	if (status == 404)
		return "the server has no such page or file";
	if (status == 401 || status == 403)
		return "the server refuses access; it may want another user or password";
	if (status == 200 || status == 206 || status == 304)
		return NULL;
	snprintf(transfer->problem, sizeof(transfer->problem), "the server answers with %ld",
	         status);
	return transfer->problem;
}

static int finish(struct transfer *transfer, CURLcode result, struct error *error)
{
	struct transfer_totals *totals = transfer->all->totals;
	struct transfer **at = &transfer->all->first;
	struct transfer_answer answer = {.is_too_large = transfer->is_too_large};
	curl_off_t received = 0;
	long status = 0;
	int code;

	curl_easy_getinfo(transfer->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
	totals->requests++;
	totals->received += (uint64_t)received;
	totals->decoded += transfer->length;
	curl_multi_remove_handle(transfer->all->multi, transfer->easy);
	transfer->is_running = false;
	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (result == CURLE_OK)
		note_index(transfer);
	if (retry(transfer, result, status))
		return 0;
	curl_easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_URL, (char **)&answer.url);
	answer.status = (int)status;
	answer.etag = header_of(transfer, "ETag");
	answer.type = header_of(transfer, "Content-Type");
	answer.body = (struct slice){transfer->body ? transfer->body : "", transfer->length};
	answer.problem = problem_of(transfer, result, status);
	if (!answer.problem && status == 206)
		read_range(transfer, &answer);
	computing_limit(0);
	code = transfer->done(transfer->payload, &answer, error);
	computing_limit(COMPUTING_MAX);
	while (*at != transfer)
		at = &(*at)->next;
	*at = transfer->next;
	transfer->all->count--;
	transfer_free(transfer);
	return code;
}

/* --- all transfers --- */

/* Start the transfers that are due. */
static int start_waiting(struct transfers *transfers, struct error *error)
{
	int64_t now = milliseconds_now();

	if (now < transfers->paused_until)
		return 0;
	for (struct transfer *at = transfers->first; at; at = at->next) {
		if (at->is_running || now < at->not_before)
			continue;
		at->length = at->headers_length = 0;
		at->problem[0] = '\0';
		at->is_too_large = at->is_refused = false;
		at->is_running = true;
		if (at->is_of_index && transfers->settings[SETTING_NETRC])
			curl_easy_setopt(at->easy, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
		if (curl_multi_add_handle(transfers->multi, at->easy) != CURLM_OK)
			return error_nomem(error);
	}
	return 0;
}

static int transfers_run(struct transfers *transfers, transfer_next *next, void *payload,
                         struct error *error)
{
	int code = 0, running, left;
	CURLMsg *message;

	while (code == 0) {
		struct transfer *transfer = NULL;

		do
			code = next(payload, transfers->count < TRANSFERS_MAX, error);
		while (code > 0);
		if (code < 0 || !transfers->first)
			return code;
		computing_limit(COMPUTING_MAX);
		code = start_waiting(transfers, error);
		curl_multi_perform(transfers->multi, &running);
		message = curl_multi_info_read(transfers->multi, &left);
		if (message && code == 0) {
			curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
			                  (char **)&transfer);
			code = finish(transfer, message->data.result, error);
		} else if (code == 0) {
			curl_multi_poll(transfers->multi, NULL, 0, SIGNAL_INTERVAL, NULL);
		}
		computing_limit(0);
	}
	return code;
}

static void transfers_close(struct transfers *transfers)
{
	if (!transfers)
		return;
	computing_limit(COMPUTING_MAX);
	while (transfers->first) {
		struct transfer *transfer = transfers->first;

		transfers->first = transfer->next;
		curl_multi_remove_handle(transfers->multi, transfer->easy);
		transfer_free(transfer);
	}
	curl_multi_cleanup(transfers->multi);
	computing_limit(0);
	curl_free(transfers->user);
	curl_free(transfers->password);
	free(transfers);
}

static int transfers_open(const struct settings *settings, const char *index, const char *login,
                          struct transfer_totals *totals, struct transfers **out,
                          struct error *error)
{
	static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY",
	                                      "all_proxy", "ALL_PROXY"};
	CLEANUP(cleanup_url) CURLU *url = curl_url();
	struct transfers *transfers = calloc(1, sizeof(*transfers));

	if (!url || !transfers || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    !(transfers->multi = curl_multi_init())) {
		free(transfers);
		return error_nomem(error);
	}
	curl_url_set(url, CURLUPART_URL, login, 0);
	curl_url_get(url, CURLUPART_USER, &transfers->user, CURLU_URLDECODE);
	curl_url_get(url, CURLUPART_PASSWORD, &transfers->password, CURLU_URLDECODE);
	transfers->url = index;
	transfers->settings = (const char *const *)settings->values;
	transfers->totals = totals;
	transfers->has_proxy = settings->values[SETTING_PROXY] != NULL;
	for (size_t i = 0; i < sizeof(proxies) / sizeof(*proxies); i++)
		transfers->has_proxy |= getenv(proxies[i]) != NULL;
	curl_multi_setopt(transfers->multi, CURLMOPT_MAX_HOST_CONNECTIONS, HOST_CONNECTIONS);
	curl_multi_setopt(transfers->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
	*out = transfers;
	return 0;
}

__attribute__((visibility("default"))) const struct transfer_module entrydb_transfer_module = {
        .open = transfers_open,
        .add = transfer_add,
        .run = transfers_run,
        .close = transfers_close,
        .join = transfer_join,
};
