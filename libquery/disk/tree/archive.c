/*
 * archive.c - reads distributions in an archive: in a zip as importlib.metadata does on sys.path,
 * in other archives as if they were unpacked.
 *
 * In a zip only the first component of a member's name counts, and directories exist even without a
 * member of their own (zipfile.Path). Distributions in an archive have no stamps: they are
 * unchanged as long as the archive is.
 */
#include "libquery/disk/tree/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/libc.h"
#include "db/base/name_map.h"
#include "db/base/path.h"
#include "libquery/disk/elf/object_name.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/disk/zip/zip.h"

#define NO_PLACE (UINT32_MAX - 1) /* in the index: a directory */

/*
 * The objects unpacked last, the latest first: one library is read again for each object that needs
 * it.
 */
struct unpacked {
	uint32_t place;
	int fd; /* -1: none */
};

struct archive {
	struct tree tree;
	struct zip *zip;               /* or NULL: */
	const struct tree_file *files; /* files in memory */
	size_t count;                  /* of either */
	                               /*
	                                * Maps each name to the place of the last file with it; also the directories in children. A
	                                * zip of thousands of distributions must not be walked for each of them.
	                                */
	struct name_map index;         /* built on first use */
	struct path_index beside;      /* see listing(); built on first use */
	bool is_listed;
	struct unpacked unpacked[2];
};

static struct archive *archive_of(struct tree *tree)
{
	return (struct archive *)tree;
}

static struct slice name_of(const struct archive *archive, size_t place)
{
	return archive->zip ? archive->zip->members[place].name : archive->files[place].path;
}

/* The child that contains the file @name; null if none does. */
static struct slice child_of(const struct archive *archive, struct slice name)
{
	return archive->zip ? slice_before(name, '/') : distname_first_info(name);
}

static int children(struct tree *tree, tree_each *each, void *payload, struct error *error)
{
	const struct archive *archive = archive_of(tree);
	CLEANUP(name_map_free) struct name_map seen = {0};
	struct slice last = {0};
	bool failed = false;
	int answer = 0;

	for (size_t i = 0; answer == 0 && !failed && i < archive->count; i++) {
		struct slice child = child_of(archive, name_of(archive, i));
		size_t before = seen.count;

		if (slice_is_null(child) || (!slice_is_null(last) && slice_equal(child, last)))
			continue; /* members of one directory are adjacent */
		last = child;
		name_map_put(&seen, child, 0, &failed);
		if (seen.count > before)
			answer = each(payload, child);
	}
	return failed ? error_nomem(error) : answer;
}

/* --- look-ups --- */

/* Of members with the same name the last one counts. */
static void index_file(struct archive *archive, uint32_t place, bool *failed)
{
	struct slice name = name_of(archive, place), child = child_of(archive, name), below;

	name_map_set(&archive->index, name, place, failed);
	if (slice_is_null(child) || child.len + 1 >= name.len)
		return;
	below = slice_before(slice_from(name, child.len + 1), '/');
	below = slice_between(name.ptr, below.ptr + below.len);
	if (below.len < name.len)
		name_map_put(&archive->index, below, NO_PLACE, failed);
}

/*
 * The place of the last file @name in @directory (either may be empty), or NO_PLACE for a
 * directory. 1, 0 or ERROR_NOMEM.
 */
static int find(struct archive *archive, struct slice directory, struct slice name, uint32_t *out,
                struct error *error)
{
	CLEANUP(cleanup_free) char *path = NULL;
	struct slice whole = directory.len ? directory : name;
	bool failed = false;

	for (size_t i = archive->index.count ? archive->count : 0; !failed && i < archive->count;
	     i++)
		index_file(archive, (uint32_t)i, &failed);
	if (failed)
		name_map_free(&archive->index);
	if (directory.len && name.len && !failed) {
		path = malloc(path_room(directory, name));
		failed = !path;
		whole = path ? path_join(path, directory, name) : name;
	}
	if (failed)
		return error_nomem(error);
	*out = name_map_get(&archive->index, whole);
	return *out != NAME_MAP_NONE;
}

/* The same in a child; files without content count as missing. */
static int find_kept(struct archive *archive, struct slice child, const char *file, uint32_t *out,
                     struct error *error)
{
	int code = find(archive, child, slice_of(file), out, error);

	if (code <= 0 || archive->zip || *out == NO_PLACE)
		return code;
	return !slice_is_null(archive->files[*out].bytes);
}

static int status_of(struct tree *tree, struct slice child, const char *file, struct stat *status,
                     struct error *error)
{
	uint32_t place;
	int code = find_kept(archive_of(tree), child, file, &place, error);

	if (code > 0)
		*status = (struct stat){.st_mode = place == NO_PLACE ? S_IFDIR : S_IFREG};
	return code;
}

/* A member is a file unless its name ends in '/'; reading a directory gives "absent". */
static int read_file(struct tree *tree, const struct tree_request *request, struct arena *arena,
                     struct slice *out, struct error *error)
{
	struct archive *archive = archive_of(tree);
	CLEANUP(cleanup_free) char *owned = NULL;
	struct slice bytes;
	bool failed = false;
	uint32_t place;
	int code = find_kept(archive, request->child, request->file, &place, error);

	if (code <= 0 || place == NO_PLACE || (archive->zip && !*request->file))
		return code < 0 ? code : 0;
	if (archive->zip) {
		code = zip_read(archive->zip, &archive->zip->members[place], request->limit, &bytes,
		                error);
		owned = code < 0 ? NULL : (char *)bytes.ptr;
	} else {
		bytes = archive->files[place].bytes;
		code = bytes.len <= request->limit
		               ? 0
		               : error_set(error, ERROR_LIMIT, "%zu bytes; the limit is %zu",
		                           bytes.len, request->limit);
	}
	if (code < 0)
		return code;
	*out = arena_copy(arena, bytes, &failed);
	return failed ? error_nomem(error) : 1;
}

/* --- the files beside a distribution --- */

/*
 * One list for all children, each of which uses the part below its own site directory. It is
 * searched for modules and shared objects, so metadata directories, of which an archive may have
 * thousands, are left out.
 */
static int listing(struct tree *tree, const struct path_index **out, struct error *error)
{
	struct archive *archive = archive_of(tree);
	bool failed = false;

	for (size_t i = 0; !archive->is_listed && !failed && i < archive->count; i++) {
		struct slice name = name_of(archive, i), child = child_of(archive, name);

		if (slice_is_null(child) || !distname_is_info(child) || object_name_may_be(name))
			failed = !path_index_add(&archive->beside, name);
	}
	if (failed) {
		path_index_free(&archive->beside);
		return error_nomem(error);
	}
	if (!archive->is_listed)
		path_index_sort(&archive->beside);
	archive->is_listed = true;
	*out = &archive->beside;
	return 0;
}

/* --- objects --- */

/* Without space for it the object is not examined; but a transient failure is returned. */
static int no_room(struct error *error)
{
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO)
		return error_errno(error, errno, "cannot unpack a shared object");
	return error_set(error, ERROR_LIMIT, "no space to unpack it: %s", errno_text(errno));
}

static int open_scratch(uint64_t size, struct error *error)
{
	static const char *const places[] = {"/var/tmp", "/tmp"};
	int fd = -1;

	if (size <= ARCHIVE_OBJECT_MEMORY)
		fd = memfd_create("entrydb-object", MFD_CLOEXEC);
	for (size_t i = 0; fd < 0 && i < sizeof(places) / sizeof(*places); i++)
		fd = open(places[i], O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
	return fd < 0 ? no_room(error) : fd;
}

static int write_piece(void *payload, struct slice bytes, struct error *error)
{
	return file_write(*(int *)payload, bytes.ptr, bytes.len) < 0 ? no_room(error) : 0;
}

static int unpack(struct archive *archive, uint32_t place, uint64_t *unpacked, struct error *error)
{
	const struct zip_member *member = archive->zip ? &archive->zip->members[place] : NULL;
	struct slice bytes = member ? SLICE("") : archive->files[place].bytes;
	uint64_t size = member ? member->size : bytes.len;
	CLEANUP(cleanup_close) int fd = -1;
	int code;

	if (slice_is_null(bytes))
		return error_set(error, ERROR_LIMIT, "too large to be kept");
	if (size > ARCHIVE_OBJECT_MAX)
		return error_set(error, ERROR_LIMIT, "more than %llu bytes",
		                 (unsigned long long)ARCHIVE_OBJECT_MAX);
	fd = open_scratch(size, error);
	if (fd < 0)
		return fd;
	*unpacked = size;
	code = member ? zip_unpack(archive->zip, member, size, write_piece, &fd, error)
	              : write_piece(&fd, bytes, error);
	return code < 0 ? code : take_fd(&fd);
}

/* The cached descriptor of an unpacked object; the oldest one is evicted. */
static int find_unpacked(struct archive *archive, uint32_t place, uint64_t *unpacked,
                         struct error *error)
{
	struct unpacked *kept = archive->unpacked, one = kept[1];

	if (kept[0].fd >= 0 && kept[0].place == place)
		return kept[0].fd;
	if (one.fd < 0 || one.place != place) {
		one = (struct unpacked){place, unpack(archive, place, unpacked, error)};
		if (one.fd < 0)
			return one.fd;
		cleanup_close(&kept[1].fd);
	}
	kept[1] = kept[0];
	kept[0] = one;
	return one.fd;
}

static int fetch(struct tree *tree, struct slice child, struct slice path, uint64_t *unpacked,
                 struct error *error)
{
	uint32_t place;
	int code = find(archive_of(tree), path_directory(child), path, &place, error), fd;

	if (code < 0)
		return code;
	if (code == 0 || place == NO_PLACE)
		return error_set(error, ERROR_NOTFOUND, "no such file in the archive");
	code = find_unpacked(archive_of(tree), place, unpacked, error);
	if (code < 0)
		return code;
	fd = fcntl(code, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? error_errno(error, errno, "cannot unpack a shared object") : fd;
}

/* --- opening --- */

static void close_archive(struct tree *tree)
{
	struct archive *archive = archive_of(tree);

	cleanup_close(&archive->unpacked[0].fd);
	cleanup_close(&archive->unpacked[1].fd);
	name_map_free(&archive->index);
	path_index_free(&archive->beside);
	zip_close(archive->zip);
	cleanup_close(&tree->fd);
	free(tree);
}

static int open_archive(const struct archive *what, struct tree **out, struct error *error)
{
	static const struct tree_operations operations = {
	        .children = children,
	        .read = read_file,
	        .status = status_of,
	        .listing = listing,
	        .fetch = fetch,
	        .close = close_archive,
	};
	struct archive *archive = malloc(sizeof(*archive));

	if (!archive)
		return error_nomem(error);
	*archive = *what;
	archive->tree.operations = &operations;
	archive->unpacked[0].fd = archive->unpacked[1].fd = -1;
	*out = &archive->tree;
	return 0;
}

int tree_open_zip(int fd, const char *path, struct stamp stamp, struct tree **out,
                  struct error *error)
{
	CLEANUP(cleanup_close) int owned = fd;
	CLEANUP(cleanup_zip) struct zip *zip = NULL;
	int code = zip_open(fd, path, &zip, error);

	if (code == 0)
		code = open_archive(
		        &(struct archive){.tree = {.kind = ROOT_ZIP, .stamp = stamp, .fd = fd},
		                          .zip = zip,
		                          .count = zip->count},
		        out, error);
	if (code == 0) {
		zip = NULL;
		owned = -1;
	}
	return code;
}

int tree_open_source(const struct zip_source *source, const char *path, struct tree **out,
                     struct error *error)
{
	struct zip *zip = NULL;
	int code = zip_open_source(source, path, &zip, error);

	if (code < 0)
		return code;
	code = open_archive(&(struct archive){.tree = {.kind = ROOT_ZIP, .fd = -1},
	                                      .zip = zip,
	                                      .count = zip->count},
	                    out, error);
	if (code < 0)
		zip_close(zip);
	return code;
}

int tree_open_memory(const struct tree_file *files, size_t count, struct tree **out,
                     struct error *error)
{
	const struct archive archive = {
	        .tree = {.kind = ROOT_ARCHIVE, .fd = -1}, .files = files, .count = count};

	return open_archive(&archive, out, error);
}
