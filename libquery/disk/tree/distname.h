/*
 * distname.h - derives the names of distributions from file names, as Python does.
 *
 * Python finds a distribution by its file name in a path entry, orders those of one entry by a
 * look-up key, and lets the first of equal normalized names shadow the others. The three names
 * follow three rules, which differ for unusual spellings; the order and the result of
 * entry_points() depend on keeping them apart. File names are bytes, UTF-8 where possible.
 */
#ifndef LIBQUERY_DISK_TREE_DISTNAME_H
#define LIBQUERY_DISK_TREE_DISTNAME_H

#include "db/base/arena.h"
#include "db/base/slice.h"
#include "db/base/unicode.h"

/* The most bytes of a key or normalized name of @n bytes. */
#define DISTNAME_ROOM(n) UNICODE_LOWER_ROOM(n)

/* Is @child the name of a distribution: *.dist-info or *.egg-info in any case? */
bool distname_is_info(struct slice child);

/*
 * @path up to and including its first component that names a distribution; null if there is none.
 */
struct slice distname_first_info(struct slice path);

/* Is @child EGG-INFO in any case, a distribution where distname_is_egg_base() is true? */
bool distname_is_egg_info(struct slice child);

/* Is the last component of @path_entry, as spelled, *.egg in any case? False for "x.egg/". */
bool distname_is_egg_base(struct slice path_entry);

/*
 * The key by which Python groups the distributions of one path entry: @child in lower case up to
 * its last '.', of that the part before the first '-', normalized. Writes at most @room bytes, at
 * least DISTNAME_ROOM(child.len); returns their number.
 */
size_t distname_lookup_key(struct slice child, char *out, size_t room);

/*
 * The same for an egg's own metadata, from the last component of its path entry as spelled; and for
 * a @name to search for: Python's older rule, which does not merge separators.
 */
size_t distname_egg_key(struct slice path_entry, char *out, size_t room);
size_t distname_legacy(struct slice name, char *out, size_t room);

/*
 * The distribution name in the file name @child: without leading directories (in an archive) and
 * the extension, up to the first '-'; part of @child. False if METADATA must be read: the extension
 * is not exactly .dist-info or .egg-info, or the name is empty.
 */
bool distname_stem(struct slice child, struct slice *stem);

/*
 * The normalized form of @name, which determines shadowing: runs of '-', '_' and '.' become one
 * '_', in lower case. Writes at most @room bytes, at least DISTNAME_ROOM(name.len); returns their
 * number.
 */
size_t distname_normalize(struct slice name, char *out, size_t room);

/* The same in @arena; null, with *failed set, if out of memory. */
struct slice distname_normalize_in(struct arena *arena, struct slice name, bool *failed);

#endif
