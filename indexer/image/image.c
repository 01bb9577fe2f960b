/*
 * image.c - finds the layers of the image for a platform.
 *
 * SQLite parses the JSON: each document is inserted into the worksheet, whose view "missing" names
 * the next document to read, until it is empty.
 */
#include "indexer/image/image.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/libc.h"
#include "db/base/sha256.h"
#include "db/base/text.h"
#include "indexer/archive/archive_module.h"
#include "indexer/message.h"

#define HEX_DIGITS "0123456789abcdef"

void image_close(struct image *image)
{
	cleanup_close(&image->fd);
	worksheet_close(image->sheet);
	free(image->manifest);
	*image = IMAGE_INIT;
}

/* --- platforms --- */

/* The names of Go, which images use. */
static const char *machine(const char *name)
{
	static const char *const names[][2] = {
	        {"x86_64", "amd64"},  {"aarch64", "arm64"}, {"i686", "386"},
	        {"armv7l", "arm/v7"}, {"armv6l", "arm/v6"}, {"loongarch64", "loong64"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i][0]) == 0)
			return names[i][1];
	return name;
}

int image_platform(const char *platform, char out[64], struct error *error)
{
	struct utsname here = {0};
	size_t slashes = 0;
	int length;

	uname(&here);
	length = snprintf(out, 64, "%s%s", platform ? "" : "linux/",
	                  platform ? platform : machine(here.machine));
	for (const char *at = out; *at; at++)
		slashes += *at == '/';
	if (length < 64 && slashes >= 1 && slashes <= 2 && text_is_plain(slice_of(out), "/._-"))
		return 0;
	return error_set(error, ERROR_INVALID, "--platform %s: expected OS/ARCH[/VARIANT]", out);
}

/* --- documents --- */

struct slice image_digest(struct slice name)
{
	size_t at = name.len, digits;

	while (at > 0 && name.ptr[at - 1] != ':' && name.ptr[at - 1] != '/')
		at--;
	name = slice_before(slice_from(name, at), '.');
	digits = name.len ? strspn(name.ptr, HEX_DIGITS) : 0;
	return digits == SHA256_HEX_SIZE && name.len == digits ? name : (struct slice){0};
}

static int wrong(const struct image *image, int code, struct slice name, const char *why,
                 struct error *error)
{
	return error_set(error, code, "%s: %.*s: %s", image->path, (int)name.len, name.ptr, why);
}

static bool find_member(struct image *image, const char *name, struct image_blob *out)
{
	struct worksheet_rows *row = worksheet_walk(image->sheet, "place", FACTS(fact(name)));
	bool found = worksheet_next(row);

	if (found) {
		out->offset = (uint64_t)worksheet_number(row, 1);
		out->size = (uint64_t)worksheet_number(row, 2);
	}
	return found;
}

int image_find(struct image *image, struct slice name, struct image_blob *out, struct error *error)
{
	struct slice digest = image_digest(name);
	char blob[sizeof("blobs/sha256/") + SHA256_HEX_SIZE] = "index.json";
	bool is_named = slice_starts(name, SLICE("sha256:")) && !slice_is_null(digest);
	struct stat status = {0};

	*out = (struct image_blob){.fd = -1};
	if (is_named)
		snprintf(blob, sizeof(blob), "blobs/sha256/%.*s", (int)digest.len, digest.ptr);
	if (image->is_directory && !is_named && strcmp(name.ptr, blob) != 0)
		return wrong(image, ERROR_FORMAT, name, "not a digest by SHA-256", error);
	if (!image->is_directory && !find_member(image, is_named ? blob : name.ptr, out))
		return wrong(image, ERROR_FORMAT, name, "named by the image, but not in it", error);
	out->fd = image->is_directory ? file_open(image->fd, blob, 0)
	                              : fcntl(image->fd, F_DUPFD_CLOEXEC, 3);
	if (out->fd < 0 || fstat(out->fd, &status) != 0)
		return error_errno(error, errno, "%s/%s", image->path, blob);
	if (!S_ISREG(status.st_mode))
		return wrong(image, ERROR_FORMAT, name, "not a regular file", error);
	if (image->is_directory)
		out->size = (uint64_t)status.st_size;
	return 0;
}

static int read_document(struct image *image, struct slice name, struct error *error)
{
	struct slice digest = image_digest(name);
	CLEANUP(cleanup_free) char *text = NULL;
	struct image_blob blob;
	char hex[SHA256_HEX_SIZE + 1];
	int code = image_find(image, name, &blob, error);
	CLEANUP(cleanup_close) int fd = blob.fd;
	ssize_t got;

	if (code < 0)
		return code;
	image->json += blob.size;
	if (blob.size > IMAGE_JSON_MAX)
		return wrong(image, ERROR_LIMIT, name, "larger than 4 MiB", error);
	if (image->json > IMAGE_JSON_ALL_MAX)
		return wrong(image, ERROR_LIMIT, name, "more than 64 MiB with those before", error);
	text = malloc(blob.size + 1);
	if (!text)
		return error_nomem(error);
	got = TEMP_FAILURE_RETRY(pread(fd, text, blob.size, (off_t)blob.offset));
	if (got < 0)
		return error_errno(error, errno, "%s", image->path);
	sha256_of(text, (size_t)got, hex);
	if (!slice_is_null(digest) && !slice_equal(digest, slice_of(hex)))
		return wrong(image, ERROR_CHANGED, name, "its bytes have another digest", error);
	worksheet_put(image->sheet, "text",
	              FACTS(fact(name), fact(((struct slice){text, (size_t)got}))));
	if (!worksheet_next(worksheet_walk(image->sheet, "known", FACTS(fact(name)))))
		return wrong(image, ERROR_FORMAT, name, "not valid JSON", error);
	return worksheet_failure(image->sheet, error);
}

/* --- choosing --- */

/* The text in the first row of @view, malloc'd; NULL if it is empty. */
static char *take_text(struct image *image, const char *view)
{
	struct worksheet_rows *row = worksheet_walk(image->sheet, view, NULL);
	struct slice text = worksheet_next(row) ? worksheet_text(row, 0) : (struct slice){0};

	return text.ptr ? strndup(text.ptr, text.len) : NULL;
}

static int refuse_choice(struct image *image, bool several, struct error *error)
{
	CLEANUP(cleanup_free) char *offered = take_text(image, "offered");

	if (several)
		return error_set(error, ERROR_INVALID,
		                 "%s: it has several images for %s; copy one of them out, as with "
		                 "skopeo copy",
		                 image->path, image->platform);
	return error_set(error, ERROR_NOTFOUND, "%s: it has no image for %s%s%s", image->path,
	                 image->platform, offered ? "; choose one with --platform: " : "",
	                 offered ? offered : "");
}

int image_choose(struct image *image, struct error *error)
{
	struct image_blob blob;
	bool is_oci = image->is_directory || find_member(image, "index.json", &blob);
	char *name = strdup(is_oci ? "index.json" : "manifest.json");
	struct worksheet_rows *row;
	int code = name ? 0 : error_nomem(error);

	worksheet_put(image->sheet, "asked", FACTS(fact((const char *)image->platform)));
	for (size_t documents = 1; code == 0 && name; documents++) {
		code = documents > IMAGE_DOCUMENTS_MAX
		               ? error_set(error, ERROR_LIMIT, "%s: more than 1,000 manifests",
		                           image->path)
		               : read_document(image, slice_of(name), error);
		free(name);
		name = code == 0 ? take_text(image, "missing") : NULL;
	}
	if (code < 0)
		return code;
	row = worksheet_walk(image->sheet, "chosen", NULL);
	if (!worksheet_next(row))
		return refuse_choice(image, false, error);
	image->manifest = strdup(worksheet_text(row, 0).ptr);
	if (worksheet_next(row))
		return refuse_choice(image, true, error);
	return image->manifest ? worksheet_failure(image->sheet, error) : error_nomem(error);
}

/* --- opening --- */

static int list_member(void *payload, struct archive_member *member, const char **place,
                       struct error *error)
{
	struct image *image = payload;
	struct slice name = member->path;
	bool is_file =
	        S_ISREG(member->mode) && !member->is_hard_link && member->offset <= INT64_MAX;

	(void)place;
	if (++image->members > IMAGE_MEMBERS_MAX || name.len >= PATH_MAX ||
	    slice_of(member->link).len >= PATH_MAX)
		return 0; /* not an image */
	if (slice_starts(name, SLICE("./")))
		name = slice_from(name, 2);
	worksheet_put(image->sheet, "member",
	              FACTS(fact(name), is_file ? fact((int64_t)member->offset) : fact_null(),
	                    fact((int64_t)member->size), fact(member->link)));
	return worksheet_failure(image->sheet, error);
}

/* Check the first header for an uncompressed tarball, as all images are. */
static bool looks_like_tarball(int fd)
{
	char magic[5];

	return pread(fd, magic, sizeof(magic), 257) == sizeof(magic) &&
	       memcmp(magic, "ustar", sizeof(magic)) == 0;
}

static int open_tarball(struct image *image, struct error *error)
{
	const struct archive_source source = {image->path, image->fd, .is_tarball = true};
	const struct archive_sink sink = {
	        .payload = image, .member = list_member, .stop = interrupted};
	const struct archive_module *module = archive_module_open(error);
	struct image_blob blob;
	int code = module ? module->walk(&source, &sink, error) : ERROR_LOAD;

	if (code < 0 || image->members > IMAGE_MEMBERS_MAX)
		return code < 0 ? code : 0;
	return find_member(image, "manifest.json", &blob) ||
	       (find_member(image, "oci-layout", &blob) && find_member(image, "index.json", &blob));
}

int image_open(const char *path, const char *platform, struct image *out, struct error *error)
{
	struct stat status;
	int code;

	*out = IMAGE_INIT;
	out->path = path;
	out->fd = file_open(AT_FDCWD, path, 0);
	if (out->fd < 0 || fstat(out->fd, &status) != 0)
		return errno_is_failure(errno) ? error_errno(error, errno, "%s", path) : 0;
	out->is_directory = S_ISDIR(status.st_mode);
	if (out->is_directory ? file_status(out->fd, "oci-layout", &status, NULL) <= 0 ||
	                                file_status(out->fd, "index.json", &status, NULL) <= 0
	                      : !S_ISREG(status.st_mode) || !looks_like_tarball(out->fd))
		return 0;
	code = image_platform(platform, out->platform, error);
	if (code == 0)
		code = worksheet_open(image_script, &out->sheet, error);
	return code < 0 ? code : out->is_directory ? 1 : open_tarball(out, error);
}
