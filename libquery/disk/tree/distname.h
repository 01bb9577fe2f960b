/*
 * distname.h - the names of distributions, as Python derives them from file names.
 *
 * Python finds a distribution by the name of a child of a path entry, orders those of
 * one entry by a look-up key, and lets the first of equal normalized names hide the
 * others. The three names are made by three rules, which disagree on odd spellings;
 * the order and the winners of entry_points() depend on keeping them apart. File
 * names are bytes, UTF-8 where they can be.
 */
#ifndef LIBQUERY_DISK_TREE_DISTNAME_H
#define LIBQUERY_DISK_TREE_DISTNAME_H

#include "db/base/arena.h"
#include "db/base/slice.h"
#include "db/base/unicode.h"

/* Bytes that a key or a normalized name made from @n bytes may need. */
#define DISTNAME_ROOM(n) UNICODE_LOWER_ROOM(n)

/* Whether @child, a name in a directory, is a distribution: *.dist-info or *.egg-info, any case. */
bool distname_is_info(struct slice child);

/* @path up to and including its first component that is a distribution; null if none is. */
struct slice distname_first_info(struct slice path);

/* Whether @child is EGG-INFO, any case: a distribution where distname_is_egg_base() holds. */
bool distname_is_egg_info(struct slice child);

/* Whether @path_entry, as spelled, has a last component *.egg, any case. False for "x.egg/". */
bool distname_is_egg_base(struct slice path_entry);

/*
 * The key by which Python groups the children of one path entry: @child in lower case
 * up to its last '.', of that what stands before the first '-', normalized. Writes at
 * most @room bytes, which must be at least DISTNAME_ROOM(child.len); returns how many.
 */
size_t distname_lookup_key(struct slice child, char *out, size_t room);

/*
 * The same for an egg's own metadata, by the last component of its path entry, as spelled; and of
 * a @name that is looked for: Python's older rule, which joins nothing.
 */
size_t distname_egg_key(struct slice path_entry, char *out, size_t room);
size_t distname_legacy(struct slice name, char *out, size_t room);

/*
 * The name that @child itself gives to its distribution: without the directories that it
 * lies in, in an archive, and its extension, up to the first '-'; part of @child. False when it
 * gives none and METADATA must be asked: the extension is not exactly .dist-info or .egg-info, or
 * the name is empty.
 */
bool distname_stem(struct slice child, struct slice *stem);

/*
 * The normalized form of @name, by which distributions hide one another: runs of '-',
 * '_' and '.' become one '_', and all is in lower case. Writes at most @room bytes,
 * which must be at least DISTNAME_ROOM(name.len); returns how many.
 */
size_t distname_normalize(struct slice name, char *out, size_t room);

/* The same in @arena; null and *@failed set without memory, else *@failed is left alone. */
struct slice distname_normalize_in(struct arena *arena, struct slice name, bool *failed);

#endif
