/*
 * archive.c - answers for the files of an archive as importlib.metadata would for them, in a
 * zip on sys.path or, with an archive of another kind, unpacked.
 *
 * In a zip only the first component of a member's name counts, and a directory exists even
 * where no member stands for it (zipfile.Path). A distribution in an archive is unchanged as
 * long as the archive is: it has no stamps of its own.
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

#define NO_PLACE (UINT32_MAX - 1) /* in the index: of a name that is only a directory's */

/*
 * The objects that were unpacked last, the latest first: one library is asked for again with
 * each object that needs it.
 */
struct unpacked {
	uint32_t place;
	int fd; /* -1: none */
};

struct archive {
	struct tree tree;
	struct zip *zip; /* NULL: its files are those that follow */
	const struct tree_file *files;
	size_t count;
	/*
	 * The place of the last file of each name, and the directories in children, which
	 * exists() asks for. A wheel has thousands of members and one distribution: a few
	 * walks are cheaper than this. A zip of thousands of distributions is not to be
	 * walked for each of them.
	 */
	struct name_map index;
	unsigned lookups;         /* counted up to ARCHIVE_INDEX_AFTER */
	struct path_index beside; /* see listing(); made when it is asked for */
	bool is_listed;
	struct unpacked unpacked[2];
};

static struct archive *archive_of(struct tree *tree)
{
	return (struct archive *)tree;
}

/* --- walking --- */

/* The name of the file at *place, which is moved to the next; false at the end. Begin with 0. */
static bool next(const struct archive *archive, size_t *place, struct slice *name)
{
	struct zip_member member;

	if (!archive->zip && *place < archive->count) {
		*name = archive->files[(*place)++].path;
		return true;
	}
	if (!archive->zip || !zip_next(archive->zip, place, &member))
		return false;
	*name = member.name;
	return true;
}

static struct slice first_component(struct slice name)
{
	const char *slash = name.len ? memchr(name.ptr, '/', name.len) : NULL;

	return slash ? slice_between(name.ptr, slash) : name;
}

/* The child to which the file called @name belongs; null if it does to none. */
static struct slice child_of(const struct archive *archive, struct slice name)
{
	return archive->zip ? first_component(name) : distname_first_info(name);
}

static int children(struct tree *tree, tree_each *each, void *payload, struct error *error)
{
	struct name_map seen = {0};
	struct slice name, last = {0};
	bool failed = false;
	int answer = 0;

	for (size_t place = 0; answer == 0 && next(archive_of(tree), &place, &name);) {
		struct slice child = child_of(archive_of(tree), name);
		size_t before = seen.count;

		if (slice_is_null(child) || (!slice_is_null(last) && slice_equal(child, last)))
			continue; /* members of one directory stand together */
		last = child;
		name_map_put(&seen, child, 0, &failed);
		if (seen.count > before)
			answer = each(payload, child);
	}
	name_map_free(&seen);
	return failed ? error_nomem(error) : answer;
}

/* --- look-ups --- */

/* Of members with one name the last one counts. */
static void index_file(struct archive *archive, struct slice name, uint32_t place, bool *failed)
{
	struct slice child = child_of(archive, name), below;

	name_map_set(&archive->index, name, place, failed);
	if (slice_is_null(child) || child.len + 1 >= name.len)
		return;
	below = first_component(slice_from(name, child.len + 1));
	below = slice_between(name.ptr, below.ptr + below.len);
	if (below.len < name.len)
		name_map_put(&archive->index, below, NO_PLACE, failed);
}

static void make_index(struct archive *archive)
{
	struct slice name;
	bool failed = false;

	for (size_t at = 0, place = 0; !failed && next(archive, &at, &name); place = at)
		index_file(archive, name, (uint32_t)place, &failed);
	if (failed)
		name_map_free(&archive->index); /* no memory: slow is better than wrong */
}

/* Count one more look-up; is there an index to answer it? */
static bool has_index(struct archive *archive)
{
	if (archive->lookups < ARCHIVE_INDEX_AFTER && ++archive->lookups == ARCHIVE_INDEX_AFTER)
		make_index(archive);
	return archive->index.count > 0;
}

/* The place of the last file called @name, NO_PLACE if that is a directory; false: neither. */
static bool look_up(struct archive *archive, struct slice name, uint32_t *out)
{
	struct slice path;
	bool found = false;

	if (has_index(archive)) {
		*out = name_map_get(&archive->index, name);
		return *out != NAME_MAP_NONE;
	}
	for (size_t at = 0, place = 0; next(archive, &at, &path); place = at) {
		bool same = path.len == name.len;

		if (!slice_starts(path, name) || (!same && path.ptr[name.len] != '/'))
			continue;
		if (same || !found)
			*out = same ? (uint32_t)place : NO_PLACE;
		found = true;
	}
	return found;
}

/*
 * The same for @name in @directory, either of which may be empty. What is not kept of an
 * archive is not there, unless @unkept. 1, 0 or ERROR_NOMEM.
 */
static int find(struct archive *archive, struct slice directory, struct slice name, bool unkept,
                uint32_t *out, struct error *error)
{
	CLEANUP(cleanup_free) char *path = NULL;
	struct slice whole = directory.len ? directory : name;

	if (directory.len && name.len) {
		path = malloc(path_room(directory, name));
		if (!path)
			return error_nomem(error);
		whole = path_join(path, directory, name);
	}
	if (!look_up(archive, whole, out))
		return 0;
	return archive->zip || *out == NO_PLACE || unkept ||
	       !slice_is_null(archive->files[*out].bytes);
}

static int exists(struct tree *tree, struct slice child, const char *file, struct error *error)
{
	uint32_t place;

	return find(archive_of(tree), child, slice_of(file), false, &place, error);
}

static int is_file(struct tree *tree, struct slice child, struct error *error)
{
	uint32_t place;
	int code = find(archive_of(tree), child, SLICE(""), false, &place, error);

	return code > 0 ? place != NO_PLACE : code;
}

static int has_stem(struct tree *tree, struct slice child, struct error *error)
{
	return archive_of(tree)->zip ? is_file(tree, child, error) : 1;
}

static struct zip_member member_at(const struct archive *archive, uint32_t place)
{
	struct zip_member member;
	size_t at = place;

	zip_next(archive->zip, &at, &member);
	return member;
}

/* The bytes of the file at @place; those of a zip are malloc'd and handed to *owned, too. */
static int read_at(struct archive *archive, uint32_t place, size_t limit, struct slice *out,
                   char **owned, struct error *error)
{
	struct zip_member member;
	int code;

	if (!archive->zip) {
		*out = archive->files[place].bytes;
		return out->len <= limit
		               ? 0
		               : error_set(error, ERROR_LIMIT, "%zu bytes; the limit is %zu",
		                           out->len, limit);
	}
	member = member_at(archive, place);
	code = zip_read(archive->zip, &member, limit, out, error);
	*owned = code < 0 ? NULL : (char *)out->ptr;
	return code;
}

/* A member is a file unless its name ends in '/'; a directory, when read, is "absent". */
static int read_file(struct tree *tree, const struct tree_request *request, struct arena *arena,
                     struct slice *out, struct error *error)
{
	struct archive *archive = archive_of(tree);
	CLEANUP(cleanup_free) char *owned = NULL;
	struct slice file = slice_of(request->file), bytes;
	bool failed = false;
	uint32_t place;
	int code = find(archive, request->child, file, false, &place, error);

	if (code <= 0 || place == NO_PLACE || (archive->zip && !file.len))
		return code < 0 ? code : 0;
	code = read_at(archive, place, request->limit, &bytes, &owned, error);
	if (code < 0)
		return code;
	*out = arena_copy(arena, bytes, &failed);
	return failed ? error_nomem(error) : 1;
}

/* --- the files beside a distribution --- */

/*
 * The list is searched for modules and shared objects. There are no modules in metadata
 * directories, of which an archive may have thousands.
 */
static bool is_of_use(const struct archive *archive, struct slice name)
{
	struct slice child = child_of(archive, name);

	return slice_is_null(child) || !distname_is_info(child) || object_name_may_be(name);
}

static bool list_files(struct archive *archive)
{
	struct slice name;

	for (size_t place = 0; next(archive, &place, &name);)
		if (is_of_use(archive, name) && !path_index_add(&archive->beside, name))
			return false;
	path_index_sort(&archive->beside);
	return true;
}

/* The same for all children, each of which sees what lies below its own site directory. */
static int listing(struct tree *tree, const struct path_index **out, struct error *error)
{
	struct archive *archive = archive_of(tree);

	if (!archive->is_listed && !list_files(archive)) {
		path_index_free(&archive->beside);
		return error_nomem(error);
	}
	archive->is_listed = true;
	*out = &archive->beside;
	return 0;
}

/* --- objects --- */

/* Without a place for it the object is not examined; that this cannot be told is a failure. */
static int no_room(struct error *error)
{
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO)
		return error_errno(error, errno, "cannot unpack a shared object");
	return error_set(error, ERROR_LIMIT, "no room to unpack it: %s", errno_text(errno));
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
	struct zip_member member = {.size = 0};
	CLEANUP(cleanup_close) int fd = -1;
	int code;

	if (archive->zip)
		member = member_at(archive, place);
	else if (slice_is_null(archive->files[place].bytes))
		return error_set(error, ERROR_LIMIT, "too large to be kept");
	else
		member.size = archive->files[place].bytes.len;
	if (member.size > ARCHIVE_OBJECT_MAX)
		return error_set(error, ERROR_LIMIT, "more than %llu bytes",
		                 (unsigned long long)ARCHIVE_OBJECT_MAX);
	fd = open_scratch(member.size, error);
	if (fd < 0)
		return fd;
	*unpacked = member.size;
	code = archive->zip
	               ? zip_unpack(archive->zip, &member, member.size, write_piece, &fd, error)
	               : write_piece(&fd, archive->files[place].bytes, error);
	return code < 0 ? code : take_fd(&fd);
}

/* Put @one before the others; the last one falls out. */
static void keep(struct archive *archive, struct unpacked one)
{
	struct unpacked *kept = archive->unpacked;

	if (kept[0].fd != one.fd && kept[1].fd != one.fd && kept[1].fd >= 0)
		close(kept[1].fd);
	if (kept[0].fd != one.fd)
		kept[1] = kept[0];
	kept[0] = one;
}

/* A descriptor that this tree keeps. */
static int find_unpacked(struct archive *archive, uint32_t place, uint64_t *unpacked,
                         struct error *error)
{
	struct unpacked one = {place, -1};

	for (size_t i = 0; i < 2 && one.fd < 0; i++)
		if (archive->unpacked[i].fd >= 0 && archive->unpacked[i].place == place)
			one = archive->unpacked[i];
	if (one.fd < 0)
		one.fd = unpack(archive, place, unpacked, error);
	if (one.fd >= 0)
		keep(archive, one);
	return one.fd;
}

static int fetch(struct tree *tree, struct slice child, struct slice path, uint64_t *unpacked,
                 struct error *error)
{
	uint32_t place;
	int code = find(archive_of(tree), path_directory(child), path, true, &place, error), fd;

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

	for (size_t i = 0; i < 2; i++)
		if (archive->unpacked[i].fd >= 0)
			close(archive->unpacked[i].fd);
	name_map_free(&archive->index);
	path_index_free(&archive->beside);
	zip_close(archive->zip);
	if (tree->fd >= 0)
		close(tree->fd);
	free(tree);
}

static int open_archive(const struct archive *what, struct tree **out, struct error *error)
{
	static const struct tree_operations operations = {
	        .children = children,
	        .read = read_file,
	        .exists = exists,
	        .is_file = is_file,
	        .has_stem = has_stem,
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
	struct archive archive = {.tree = {.kind = ROOT_ZIP, .stamp = stamp, .fd = fd}};
	int code = zip_open(fd, path, &zip, error);

	archive.zip = zip;
	if (code == 0)
		code = open_archive(&archive, out, error);
	if (code == 0) {
		zip = NULL;
		owned = -1;
	}
	return code;
}

int tree_open_memory(const struct tree_file *files, size_t count, struct tree **out,
                     struct error *error)
{
	const struct archive archive = {
	        .tree = {.kind = ROOT_ARCHIVE, .fd = -1}, .files = files, .count = count};

	return open_archive(&archive, out, error);
}
