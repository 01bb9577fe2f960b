/*
 * record.h - the data model: roots, their distributions, and their entry points.
 *
 * A scan of the disk creates these records, the writer stores them in the database, the reader
 * loads them. One arena owns the memory of a root and everything below it; slices made by a scan
 * are followed by a NUL. A null slice means that the fact is absent, such as the version of a
 * distribution without one.
 */
#ifndef DB_RECORD_H
#define DB_RECORD_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/slice.h"

/*
 * The layout of identifiers, see schema.sql. The structs of roots, distributions and rows start
 * with theirs.
 */
#define DISTRIBUTION_ID_SHIFT 20
#define ENTRY_POINT_ID_SHIFT  24
#define PLUGIN_ID_BIT                                                                              \
	((int64_t)1 << 23) /* set in the id of a plugin, clear in an entry point's                 \
	                    */

#define ROOT_OF_DISTRIBUTION(id) ((id) >> DISTRIBUTION_ID_SHIFT)

#define ROOTS_MAX         ((1u << (63 - ENTRY_POINT_ID_SHIFT - DISTRIBUTION_ID_SHIFT)) - 1)
#define DISTRIBUTIONS_MAX (1u << DISTRIBUTION_ID_SHIFT)      /* in one root */
#define ENTRY_POINTS_MAX  (1u << (ENTRY_POINT_ID_SHIFT - 1)) /* in one distribution */

/* The stat fields that identify a version of a root: it is unchanged if all are equal. */
struct stamp {
	int64_t mtime, ctime; /* nanoseconds since 1970 */
	int64_t inode;        /* not the device number, which changes at each mount */
};

static inline bool stamp_equal(struct stamp a, struct stamp b)
{
	return a.mtime == b.mtime && a.ctime == b.ctime && a.inode == b.inode;
}

enum root_kind {
	ROOT_ABSENT,    /* it does not exist or cannot be read */
	ROOT_DIRECTORY, /* a directory */
	ROOT_ZIP,       /* a zip, egg or wheel, read as importlib.metadata reads it on sys.path */
	ROOT_ARCHIVE,   /* a package archive, catalogued; never on sys.path */
};

/* What an entry point refers to; the values equal those of enum entrydb_kind. */
enum target_kind {
	TARGET_UNRESOLVED, /* the state says why */
	TARGET_PYTHON,     /* a Python module or package */
	TARGET_NATIVE,     /* a shared object that exports attr, without Python */
	TARGET_EXTENSION,  /* a Python extension module */
	TARGET_BUNDLED,    /* a Python package whose distribution contains the group's plugin */
};

enum target_state {
	TARGET_OK,
	TARGET_MISSING,             /* no such file */
	TARGET_NO_SYMBOL,           /* the file is no shared object, or does not export attr */
	TARGET_AMBIGUOUS,           /* several files export the group's symbol */
	TARGET_UNRESOLVED_EDITABLE, /* an editable install; files are elsewhere */
	TARGET_WRONG_ARCHITECTURE,  /* built for another machine */
	TARGET_MISSING_DEPENDENCY,  /* a library, or a version of it, is missing */
	TARGET_NEEDS_HOST,          /* needs symbols of its host program */
	TARGET_NOT_EXAMINED,        /* too large or nested too deep, or in a package index */
};

/* The target of an entry point that is not simply an existing Python module. */
struct target_record {
	enum target_kind kind;
	enum target_state state;
	struct slice object;         /* the file, relative to the root; null for none */
	struct slice symbol;         /* to look up in a native or bundled object; else null */
	struct slice build_id;       /* hexadecimal; null for none */
	struct slice sha256;         /* of the object, "sha256=..." as in RECORD; null for none */
	int machine;                 /* EM_... of a shared object; 0 otherwise */
	int64_t size;                /* of the object, in bytes; 0: unknown */
	                             /* The dynamic linker's view (linkage.h); null for none. */
	struct slice glibc, glibcxx; /* the newest versions needed */
	struct slice missing;        /* libraries and versions, space-separated */
	struct slice undefined;      /* the first few symbols, space-separated */
	struct slice python_by;      /* the needed library that itself needs Python */
};

/* The slices of a target. */
#define TARGET_TEXTS 9

/* Set @texts to pointers to them, in the order of enum entrydb_target_field. */
void target_texts(struct target_record *target, struct slice *texts[TARGET_TEXTS]);

struct entry_point_record {
	struct slice group, name, value;    /* of a plugin, group is the kind */
	struct slice module, attr, extras;  /* null where absent; extras comma-separated */
	const struct target_record *target; /* NULL: an existing Python module, or unresolved */
};

/* The properties of a file that a copy preserves; see carried.h. */
struct outline {
	bool exists;
	int64_t size;  /* bytes */
	int64_t mtime; /* nanoseconds since 1970; 0 in a sealed database */
};

/* A database's record of its publication. */
struct publication_record {
	int64_t inode, time; /* when published; nanoseconds since 1970 */
	bool sealed;         /* made for images: it contains no times */
};

/* Is a distribution checked at each query, and why? WATCHED_YOUNG: only since it is recent. */
enum watched { WATCHED_NOT, WATCHED_ALWAYS, WATCHED_YOUNG };

struct distribution_record {
	int64_t id;             /* of its row; 0 while it has none */
	struct slice directory; /* the file name in the root, raw */
	uint32_t position;      /* increases in the order of importlib.metadata; has gaps */
	struct slice normalized_name;
	struct slice name, version;
	struct slice error;
	struct slice record_sha256;
	struct slice source; /* of a package index; see indexer/package_index/catalogue.c */
	uint32_t watched;    /* of enum watched */
	bool has_metadata, settled;
	bool has_headers; /* name and version were read */
	bool reused;      /* the row with this id is still valid: nothing was read */
	bool unread;      /* entry points were not read either: probably shadowed */
	int64_t directory_stamp, files_stamp;
	int64_t modified; /* the directory, as found; not recorded */
	struct outline entry_points_txt, metadata;
	struct entry_point_record *entry_points;
	size_t entry_point_count;
	struct entry_point_record *plugins; /* native: group is the kind, with a target */
	size_t plugin_count;
};

/* Code that runs at the start of Python; see indexer/update/startup.h. */
enum startup_kind {
	STARTUP_IMPORT, /* a line of a .pth file */
	STARTUP_ENTRY,  /* a line of a .start file */
	STARTUP_MODULE, /* sitecustomize or usercustomize */
};

#define STARTUPS_MAX 65536u /* in one root */

/* The names of enum values, indexed by value, in the database and in all output. */
struct words {
	const char *const *all;
	unsigned count;
};

extern const struct words root_kinds, target_kinds, target_states, startup_kinds;

/* Find the enum value named @word; false, with *out untouched, if there is none. */
bool words_find(const struct words *words, struct slice word, unsigned *out);

/* A line of code that Python runs at each start. */
struct startup_record {
	struct slice file, code; /* the file: a child of the root */
	int64_t line;            /* from 1; 0: a module, or the file was not read */
	enum startup_kind kind;
};

struct root_record {
	int64_t id;
	struct slice path; /* as stored in the database */
	enum root_kind kind;
	struct stamp stamp;
	int64_t size; /* bytes of a zip; else 0 */
	bool settled;
	uint32_t broken, watched; /* numbers of distributions */
	int64_t kinds;            /* a digest of the kinds of plugins searched for; 0: none */
	struct distribution_record *distributions; /* in importlib.metadata's order */
	size_t distribution_count;
	struct startup_record *startups; /* by file and line */
	size_t startup_count;
	struct arena arena;
};

/*
 * Callback for each root of a database, without its distributions; a non-zero result ends the walk.
 */
typedef int root_each(void *payload, const struct root_record *root);

/* Sort the distributions by position. */
void root_record_sort(struct root_record *root);

/* Do two roots have the same start-up code in the same lines? */
bool startups_equal(const struct root_record *a, const struct root_record *b);

/* Free the records; the caller owns the struct. */
void root_record_free(struct root_record *root);

/* An entry of the audit trail. */
struct event_record {
	int64_t time; /* seconds since 1970 */
	int64_t uid;
	struct slice action, root, distribution, old_version, version, detail, command;
};

/* A row of a selection: the entry point and the distribution's columns that shadowing needs. */
struct reader_row {
	int64_t id; /* of the entry point */
	int64_t root;
	uint32_t ordinal;
	bool contested; /* another distribution in the file has the same normalized name */
	struct entry_point_record entry_point;
	struct distribution_record distribution;
};

#endif
