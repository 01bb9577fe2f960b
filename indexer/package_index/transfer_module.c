/*
 * transfer_module.c - what speaks HTTP. The only file that knows libcurl.
 *
 * Redirects are followed here, not by libcurl: so each hop is judged by the same rules as the first
 * one. A request that fails for a passing reason waits, and is made again a few times.
 */
#include "indexer/package_index/transfer.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <strings.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/text.h"

#define PROTOCOLS        "http,https"
#define HOST_CONNECTIONS 8 /* to one host, over HTTP/1.1 */
#define CONNECT_SECONDS  15
#define IDLE_SECONDS     30  /* without a byte; settings may say otherwise */
#define TOTAL_SECONDS    300 /* for one request */
#define REDIRECTS_MAX    5
#define TRIES_MAX        4           /* of a request, for passing reasons */
#define WAIT_MAX         60          /* seconds that a server may ask to wait (Retry-After) */
#define LOOK_EVERY       200         /* milliseconds, for a signal */
#define HEADERS_MAX      (256 << 10) /* bytes */

struct transfer {
	struct transfers *all;
	struct transfer *next; /* of all */
	struct transfer_request request;
	CURL *easy;
	struct curl_slist *headers;
	char *url; /* of this hop */
	char *body;
	size_t length, room, header_bytes;
	bool is_running;               /* else it waits */
	bool is_too_large, is_refused; /* while it arrives; where it would connect to */
	unsigned redirects, tries;
	int64_t not_before; /* milliseconds */
	char problem[CURL_ERROR_SIZE];
};

struct transfers {
	struct transfer_settings settings;
	CURLM *multi;
	struct transfer *first;
	int64_t paused_until; /* milliseconds: a server has asked all to wait */
	bool index_is_private, has_proxy;
};

static void transfer_free(struct transfer *transfer)
{
	if (!transfer)
		return;
	if (transfer->easy)
		curl_easy_cleanup(transfer->easy);
	curl_slist_free_all(transfer->headers);
	free((char *)transfer->request.url);
	free((char *)transfer->request.accept);
	free((char *)transfer->request.etag);
	free((char *)transfer->request.range);
	free(transfer->url);
	free(transfer->body);
	free(transfer);
}

static void cleanup_transfer(struct transfer **transfer)
{
	transfer_free(*transfer);
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

/* "https://host:443"; NULL: no such URL, or no memory. To be freed by curl_free(). */
static char *origin_of(const char *text)
{
	CLEANUP(cleanup_url) CURLU *url = curl_url();
	static const CURLUPart others[] = {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS,
	                                   CURLUPART_PATH, CURLUPART_QUERY,    CURLUPART_FRAGMENT};
	char *port = NULL, *origin = NULL;

	if (!url || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK)
		return NULL;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		curl_url_set(url, others[i], NULL, 0);
	if (curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK)
		curl_url_set(url, CURLUPART_PORT, port, 0);
	curl_free(port);
	curl_url_get(url, CURLUPART_URL, &origin, 0);
	return origin;
}

static bool is_of_index(const struct transfer *transfer)
{
	CLEANUP(cleanup_curl) char *origin = origin_of(transfer->url);
	CLEANUP(cleanup_curl) char *index = origin_of(transfer->all->settings.index);

	return origin && index && strcasecmp(origin, index) == 0;
}

static char *take_credential(CURLU *url)
{
	CLEANUP(cleanup_curl) char *user = NULL;
	CLEANUP(cleanup_curl) char *password = NULL;

	curl_url_get(url, CURLUPART_USER, &user, CURLU_URLDECODE);
	curl_url_get(url, CURLUPART_PASSWORD, &password, CURLU_URLDECODE);
	return user ? text_format("%s:%s", user, password ? password : "") : NULL;
}

static char *transfer_join(const char *base, const char *relative, char **credential)
{
	CLEANUP(cleanup_url) CURLU *url = curl_url();
	CLEANUP(cleanup_curl) char *scheme = NULL;
	CLEANUP(cleanup_curl) char *whole = NULL;

	if (!url || (base && curl_url_set(url, CURLUPART_URL, base, 0) != CURLUE_OK) ||
	    curl_url_set(url, CURLUPART_URL, relative, CURLU_URLENCODE) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    !text_has_word("http https", slice_of(scheme)))
		return NULL;
	if (credential)
		*credential = take_credential(url);
	curl_url_set(url, CURLUPART_USER, NULL, 0);
	curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
	curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
	return curl_url_get(url, CURLUPART_URL, &whole, 0) == CURLUE_OK ? strdup(whole) : NULL;
}

/* --- where to --- */

/* Loopback, private, link-local, multicast, and whatever else is no host of the internet. */
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

/* Of IPv6, global unicast alone is public; an address of IPv4 within one is judged as that. */
static bool is_private(const struct sockaddr *address)
{
	const unsigned char *a =
	        ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
	static const unsigned char nat64[12] = {0x00, 0x64, 0xff, 0x9b};
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint32_t last;

	if (address->sa_family == AF_INET)
		return is_private4(ntohl(
		        ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
	if (address->sa_family != AF_INET6)
		return true;
	memcpy(&last, a + 12, sizeof(last));
	if (memcmp(a, nat64, sizeof(nat64)) == 0 || memcmp(a, mapped, sizeof(mapped)) == 0)
		return is_private4(ntohl(last));
	if (a[0] == 0x20 && a[1] == 0x02) { /* 6to4 */
		memcpy(&last, a + 2, sizeof(last));
		return is_private4(ntohl(last));
	}
	return (a[0] & 0xe0) != 0x20;
}

/* A socket for that address, unless a public server leads into the private network. */
static curl_socket_t open_socket(void *payload, curlsocktype purpose, struct curl_sockaddr *at)
{
	struct transfer *transfer = payload;
	struct transfers *all = transfer->all;
	bool private = !all->has_proxy && is_private(&at->addr);

	(void)purpose;
	if (private && is_of_index(transfer))
		all->index_is_private = true;
	transfer->is_refused = private && !all->index_is_private;
	if (transfer->is_refused)
		return CURL_SOCKET_BAD;
	return socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
}

/* --- a request --- */

/* A body is kept up to its limit, however it was packed on the way. */
static size_t take_bytes(char *bytes, size_t one, size_t count, void *payload)
{
	struct transfer *transfer = payload;
	size_t wanted = transfer->length + count + 1;

	(void)one;
	if (count > transfer->request.limit - transfer->length) {
		transfer->is_too_large = true;
		return 0;
	}
	if (wanted > transfer->room) {
		size_t room = wanted < 2 * transfer->room ? 2 * transfer->room : wanted;
		char *more = realloc(transfer->body, room);

		if (!more)
			return 0;
		transfer->body = more;
		transfer->room = room;
	}
	memcpy(transfer->body + transfer->length, bytes, count);
	transfer->length += count;
	transfer->body[transfer->length] = '\0';
	return count;
}

/* Headers without end are no answer. */
static size_t take_header(char *bytes, size_t one, size_t count, void *payload)
{
	struct transfer *transfer = payload;

	(void)bytes;
	(void)one;
	transfer->header_bytes += count;
	return transfer->header_bytes > HEADERS_MAX ? 0 : count;
}

static bool add_header(struct transfer *transfer, const char *name, const char *value)
{
	CLEANUP(cleanup_free) char *line = value ? text_format("%s: %s", name, value) : NULL;
	struct curl_slist *more = line ? curl_slist_append(transfer->headers, line) : NULL;

	if (more)
		transfer->headers = more;
	return !value || more;
}

/* What is the same at each hop. */
static bool prepare(struct transfer *transfer)
{
	const struct transfer_settings *settings = &transfer->all->settings;
	const struct transfer_request *request = &transfer->request;
	CURL *easy = transfer->easy = curl_easy_init();

	if (!easy || !add_header(transfer, "Accept", request->accept) ||
	    !add_header(transfer, "If-None-Match", request->etag))
		return false;
	curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->problem);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "entrydb");
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)TOTAL_SECONDS);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
	                 settings->idle ? settings->idle : (long)IDLE_SECONDS);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	curl_easy_setopt(easy, CURLOPT_RANGE, request->range);
	if (!request->range)
		curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
	if (settings->proxy)
		curl_easy_setopt(easy, CURLOPT_PROXY, settings->proxy);
	if (settings->certificates)
		curl_easy_setopt(easy, CURLOPT_CAINFO, settings->certificates);
	if (settings->client_certificate)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, settings->client_certificate);
	return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, PROTOCOLS) == CURLE_OK;
}

/* The next hop, or the next try. */
static int start(struct transfer *transfer, struct error *error)
{
	struct transfers *all = transfer->all;

	transfer->length = transfer->header_bytes = 0;
	transfer->problem[0] = '\0';
	transfer->is_too_large = transfer->is_refused = false;
	if (curl_easy_setopt(transfer->easy, CURLOPT_URL, transfer->url) != CURLE_OK ||
	    curl_easy_setopt(transfer->easy, CURLOPT_USERPWD,
	                     is_of_index(transfer) ? all->settings.credential : NULL) != CURLE_OK ||
	    curl_multi_add_handle(all->multi, transfer->easy) != CURLM_OK)
		return error_nomem(error);
	transfer->is_running = true;
	return 0;
}

static char *copy(const char *text, bool *failed)
{
	char *made = text ? strdup(text) : NULL;

	*failed |= text && !made;
	return made;
}

static int transfer_add(struct transfers *transfers, const struct transfer_request *request,
                        struct error *error)
{
	CLEANUP(cleanup_transfer) struct transfer *transfer = calloc(1, sizeof(*transfer));
	bool failed = !transfer;

	if (failed)
		return error_nomem(error);
	transfer->all = transfers;
	transfer->request = *request;
	transfer->request.url = copy(request->url, &failed);
	transfer->request.accept = copy(request->accept, &failed);
	transfer->request.etag = copy(request->etag, &failed);
	transfer->request.range = copy(request->range, &failed);
	transfer->url = copy(request->url, &failed);
	if (failed || !prepare(transfer))
		return error_nomem(error);
	transfer->next = transfers->first;
	transfers->first = take(transfer);
	return 0;
}

/* --- what comes back --- */

static const char *header_of(const struct transfer *transfer, const char *name)
{
	struct curl_header *found;

	if (curl_easy_header(transfer->easy, name, 0, CURLH_HEADER, -1, &found) != CURLHE_OK)
		return "";
	return found->value;
}

/* Follow a redirect: 1; 0: there is none; or, with a problem, -1. */
static int follow(struct transfer *transfer)
{
	CLEANUP(cleanup_curl) char *here = origin_of(transfer->url);
	CLEANUP(cleanup_free) char *next = NULL;
	char *to = NULL;
	long status = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &to);
	if (status / 100 != 3 || !to)
		return 0;
	next = transfer_join(NULL, to, NULL);
	if (!next)
		snprintf(transfer->problem, sizeof(transfer->problem),
		         "redirected to what is neither http nor https");
	else if (++transfer->redirects > REDIRECTS_MAX)
		snprintf(transfer->problem, sizeof(transfer->problem),
		         "redirected more than %d times", REDIRECTS_MAX);
	else if (here && strncmp(here, "https:", 6) == 0 && strncmp(next, "https:", 6) != 0)
		snprintf(transfer->problem, sizeof(transfer->problem),
		         "redirected from https to http");
	if (transfer->problem[0])
		return -1;
	free(transfer->url);
	transfer->url = take(next);
	return 1;
}

static bool is_passing(const struct transfer *transfer, CURLcode result, long status)
{
	static const CURLcode passing[] = {CURLE_COULDNT_CONNECT,    CURLE_COULDNT_RESOLVE_HOST,
	                                   CURLE_OPERATION_TIMEDOUT, CURLE_GOT_NOTHING,
	                                   CURLE_SEND_ERROR,         CURLE_RECV_ERROR,
	                                   CURLE_PARTIAL_FILE,       CURLE_HTTP2,
	                                   CURLE_HTTP2_STREAM};

	if (transfer->is_refused || transfer->is_too_large)
		return false;
	if (result == CURLE_OK)
		return status == 429 || (status >= 500 && status != 501 && status <= 504);
	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
		if (passing[i] == result)
			return true;
	return false;
}

/* Wait, to try again? The server's word counts, where it is no longer than WAIT_MAX. */
static bool retry(struct transfer *transfer, CURLcode result)
{
	curl_off_t asked = 0;
	long status = 0;
	int64_t delay = (int64_t)500 << transfer->tries;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (!is_passing(transfer, result, status) || ++transfer->tries == TRIES_MAX)
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
		transfer->all->paused_until = milliseconds_now() + delay;
	transfer->not_before = milliseconds_now() + delay;
	return true;
}

/* "bytes 100-199/1000": is it there, and as long as the body? */
static void read_range(const struct transfer *transfer, struct transfer_answer *answer)
{
	unsigned long long first, last, total;
	int end = -1;
	const char *text = header_of(transfer, "Content-Range");

	if (answer->status != 206)
		return;
	if (sscanf(text, "bytes %llu-%llu/%llu%n", &first, &last, &total, &end) != 3 || end < 0 ||
	    text[end] || last < first || last >= total || last - first + 1 != transfer->length) {
		answer->problem = "the server's Content-Range is not of what it sent";
		return;
	}
	answer->has_range = true;
	answer->first = first;
	answer->total = total;
}

static int give(struct transfer *transfer, CURLcode result, struct error *error)
{
	struct transfer_answer answer = {
	        .url = transfer->url,
	        .is_too_large = transfer->is_too_large,
	        .etag = header_of(transfer, "ETag"),
	        .type = header_of(transfer, "Content-Type"),
	        .body = {transfer->body ? transfer->body : "", transfer->length},
	};
	long status = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	answer.status = (int)status;
	if (transfer->is_refused)
		answer.problem = "the server leads into the private network";
	else if (transfer->is_too_large)
		answer.problem = "more bytes than may be";
	else if (transfer->problem[0])
		answer.problem = transfer->problem;
	else if (result != CURLE_OK)
		answer.problem = curl_easy_strerror(result);
	else
		read_range(transfer, &answer);
	return transfer->request.done(transfer->request.payload, &answer, error);
}

static int finish(struct transfer *transfer, CURLcode result, struct error *error)
{
	struct transfer **at = &transfer->all->first;
	int hop;

	curl_multi_remove_handle(transfer->all->multi, transfer->easy);
	transfer->is_running = false;
	hop = result == CURLE_OK ? follow(transfer) : 0;
	if (hop > 0 || (hop == 0 && retry(transfer, result)))
		return 0;
	hop = give(transfer, result, error);
	while (*at != transfer)
		at = &(*at)->next;
	*at = transfer->next;
	transfer_free(transfer);
	return hop;
}

/* --- all of them --- */

/* Those that need not wait (any longer). */
static int start_waiting(struct transfers *transfers, struct error *error)
{
	int64_t now = milliseconds_now();
	int code = 0;

	if (now < transfers->paused_until)
		return 0;
	for (struct transfer *at = transfers->first; code == 0 && at; at = at->next)
		if (!at->is_running && now >= at->not_before)
			code = start(at, error);
	return code;
}

static int finish_all(struct transfers *transfers, bool *any, struct error *error)
{
	CURLMsg *message;
	int code = 0, left;

	while (code == 0 && (message = curl_multi_info_read(transfers->multi, &left))) {
		struct transfer *transfer = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		*any = true;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
		code = finish(transfer, message->data.result, error);
	}
	return code;
}

static int transfers_run(struct transfers *transfers, struct error *error)
{
	int code = 0, running;

	while (code == 0 && transfers->first) {
		bool any = false;

		if (transfers->settings.stopped())
			return error_set(error, ERROR_IO, "interrupted");
		code = start_waiting(transfers, error);
		curl_multi_perform(transfers->multi, &running);
		if (code == 0)
			code = finish_all(transfers, &any, error);
		if (code == 0 && !any)
			curl_multi_poll(transfers->multi, NULL, 0, LOOK_EVERY, NULL);
	}
	return code;
}

static void transfers_close(struct transfers *transfers)
{
	if (!transfers)
		return;
	for (struct transfer *at = transfers->first, *next; at; at = next) {
		next = at->next;
		curl_multi_remove_handle(transfers->multi, at->easy);
		transfer_free(at);
	}
	curl_multi_cleanup(transfers->multi);
	free(transfers);
}

static int transfers_open(const struct transfer_settings *settings, struct transfers **out,
                          struct error *error)
{
	static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY",
	                                      "all_proxy", "ALL_PROXY"};
	struct transfers *transfers = calloc(1, sizeof(*transfers));

	if (!transfers || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    !(transfers->multi = curl_multi_init())) {
		free(transfers);
		return error_nomem(error);
	}
	transfers->settings = *settings;
	transfers->has_proxy = settings->proxy != NULL;
	for (size_t i = 0; i < sizeof(proxies) / sizeof(*proxies); i++)
		transfers->has_proxy |= getenv(proxies[i]) != NULL;
	curl_multi_setopt(transfers->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)HOST_CONNECTIONS);
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
