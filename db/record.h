/*
 * record.h - the model: roots, the distributions in them, their entry points.
 *
 * A scan of the disk makes these records, the writer puts them into the
 * database, the reader brings them back. The memory of a root and all below it
 * belongs to one arena; slices made by a scan end in a NUL that they do not
 * count. Null slices are facts too: a distribution without a version has none.
 */
#ifndef DB_RECORD_H
#define DB_RECORD_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/slice.h"

/* See the identifiers in schema.sql. A root, a distribution, a row begin with theirs. */
#define DISTRIBUTION_ID_SHIFT 20
#define ENTRY_POINT_ID_SHIFT  24
#define PLUGIN_ID_BIT         ((int64_t)1 << 23) /* of a plugin's number, among entry points' */

#define ROOT_OF_DISTRIBUTION(id) ((id) >> DISTRIBUTION_ID_SHIFT)

#define ROOTS_MAX         ((1u << (63 - ENTRY_POINT_ID_SHIFT - DISTRIBUTION_ID_SHIFT)) - 1)
#define DISTRIBUTIONS_MAX (1u << DISTRIBUTION_ID_SHIFT)      /* in one root */
#define ENTRY_POINTS_MAX  (1u << (ENTRY_POINT_ID_SHIFT - 1)) /* in one distribution */

/* What one stat says about a root; two are the same root, unchanged, if all are equal. */
struct stamp {
	int64_t mtime, ctime; /* nanoseconds since 1970 */
	int64_t inode;        /* not the device, whose number is another one at each mount */
};

static inline bool stamp_equal(struct stamp a, struct stamp b)
{
	return a.mtime == b.mtime && a.ctime == b.ctime && a.inode == b.inode;
}

enum root_kind {
	ROOT_ABSENT,    /* nothing is there, or nothing that could be read */
	ROOT_DIRECTORY, /* a directory */
	ROOT_ZIP,       /* a zip, egg or wheel, read as importlib.metadata reads it on sys.path */
	ROOT_ARCHIVE,   /* a package archive, catalogued; never on sys.path */
};

/* What an entry point leads to. */
enum target_kind {
	TARGET_UNRESOLVED, /* the state says why */
	TARGET_PYTHON,     /* a Python module or package */
	TARGET_NATIVE,     /* a shared object that exports attr and needs no Python */
	TARGET_EXTENSION,  /* a shared object that only Python can open */
	TARGET_BUNDLED,    /* a Python package whose distribution carries the group's plugin */
};

enum target_state {
	TARGET_OK,
	TARGET_MISSING,   /* no such file */
	TARGET_NO_SYMBOL, /* a file, but it does not export attr, or is not a shared object */
	TARGET_AMBIGUOUS, /* several files export the group's symbol */
	TARGET_UNRESOLVED_EDITABLE, /* an editable install, whose files are elsewhere */
	TARGET_WRONG_ARCHITECTURE,  /* a shared object of another machine */
	TARGET_MISSING_DEPENDENCY,  /* a library it needs, or a version of one, is not there */
	TARGET_NEEDS_HOST,          /* symbols that only the program which loads it can give */
	TARGET_NOT_EXAMINED,        /* a shared object that was too large, or too deep, to read */
};

/* The target of an entry point, where it is worth a row of its own. */
struct target_record {
	enum target_kind kind;
	enum target_state state;
	struct slice object;   /* the file, relative to the root; null where there is none */
	struct slice symbol;   /* what to look up in a native or bundled object; else null */
	struct slice build_id; /* hexadecimal; null where there is none */
	struct slice sha256;   /* of the object, "sha256=..." as in RECORD; null where absent */
	int machine;           /* EM_... of a shared object; 0 otherwise */
	int64_t size;          /* of the object, in bytes; 0: not known */
	/* What the dynamic linker would find (linkage.h); null where there is nothing to tell. */
	struct slice glibc, glibcxx; /* the newest versions that are asked for */
	struct slice missing;        /* libraries and versions, a space between two */
	struct slice undefined;      /* symbols, a space between two; the first few */
	struct slice python_by;      /* the needed library by which Python is needed */
};

/* The texts of a target but for its kind and state. */
#define TARGET_TEXTS 9

/* Pointers to them, in an order that is the same for every target. */
void target_texts(struct target_record *target, struct slice *texts[TARGET_TEXTS]);

struct entry_point_record {
	struct slice group, name, value;    /* of a plugin, group is the kind */
	struct slice module, attr, extras;  /* null where absent; extras comma-separated */
	const struct target_record *target; /* NULL: a Python module at hand, or not resolved */
};

/* What is kept of a file when it is carried elsewhere; see carried.h. */
struct outline {
	bool exists;
	int64_t size;  /* bytes */
	int64_t mtime; /* nanoseconds since 1970; 0 in what is sealed */
};

/* What a database says of its own file. */
struct publication_record {
	int64_t inode, time; /* as it was published; nanoseconds since 1970 */
	bool sealed;         /* made to be carried, without any times */
};

/* Is a distribution compared at each query, and why? Just for its age: WATCHED_YOUNG. */
enum watched { WATCHED_NOT, WATCHED_ALWAYS, WATCHED_YOUNG };

struct distribution_record {
	int64_t id;             /* of its row; 0 while it has none */
	struct slice directory; /* the child of the root, raw */
	uint32_t position;      /* grows in the order in which importlib.metadata lists the root */
	struct slice normalized_name;
	struct slice name, version;
	struct slice error;
	struct slice record_sha256;
	struct slice source; /* of a package index; see indexer/package_index/catalogue.c */
	uint32_t watched;    /* of enum watched */
	bool has_metadata, settled;
	bool has_headers; /* name and version have been asked for */
	bool reused;      /* the row with this id is still right: nothing was read */
	bool unread;      /* nor were its entry points: another one shadows it, it seems */
	int64_t directory_stamp, files_stamp;
	struct outline entry_points_txt, metadata;
	struct entry_point_record *entry_points;
	size_t entry_point_count;
	struct entry_point_record *plugins; /* known by a symbol: a kind, a name and a target */
	size_t plugin_count;
};

/* How code comes to run at the start of Python; see indexer/update/startup.h. */
enum startup_kind {
	STARTUP_IMPORT, /* a line of a .pth file */
	STARTUP_ENTRY,  /* a line of a .start file */
	STARTUP_MODULE, /* sitecustomize or usercustomize */
};

#define STARTUPS_MAX 65536u /* in one root */

/* The words for these enums, by their numbers, in the database and in all output. */
struct words {
	const char *const *all;
	unsigned count;
};

extern const struct words root_kinds, target_kinds, target_states, startup_kinds;

/* What @word means, an enum's number; false, with *out untouched, if it is none of @words. */
bool words_find(const struct words *words, struct slice word, unsigned *out);

/* A line of code that Python runs at each start. */
struct startup_record {
	struct slice file, code; /* the file: a child of the root */
	int64_t line;            /* from 1; 0: of a module, or the file was not read */
	enum startup_kind kind;
};

struct root_record {
	int64_t id;
	struct slice path; /* as the database spells it */
	enum root_kind kind;
	struct stamp stamp;
	int64_t size; /* bytes of a zip; 0 of others */
	bool settled;
	uint32_t broken, watched; /* how many of the distributions */
	int64_t kinds; /* a digest of the kinds of plugins that were looked for; 0: of none */
	struct distribution_record *distributions; /* in importlib.metadata's order */
	size_t distribution_count;
	struct startup_record *startups; /* by file and line */
	size_t startup_count;
	struct arena arena;
};

/* Called for each root of a database, without its distributions; non-zero ends the walk. */
typedef int root_each(void *payload, const struct root_record *root);

/* Put the distributions in the order of their positions. */
void root_record_sort(struct root_record *root);

/* Do two roots have the same start-up code, in the same lines? */
bool startups_equal(const struct root_record *a, const struct root_record *b);

/* Release the records; the struct itself is the caller's. */
void root_record_free(struct root_record *root);

/* What an update, or a verb, has done. */
struct event_record {
	int64_t time; /* seconds since 1970 */
	int64_t uid;
	struct slice action, root, distribution, old_version, version, detail, command;
};

/* A row of a selection: the entry point and what is needed to judge it. */
struct reader_row {
	int64_t id; /* of the entry point */
	int64_t root;
	uint32_t ordinal;
	bool contested; /* another row of the file has the same normalized name */
	struct entry_point_record entry_point;
	struct distribution_record distribution;
};

#endif
