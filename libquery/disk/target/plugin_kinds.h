/*
 * plugin_kinds.h - kinds of native plugins, and by which symbols they are told.
 *
 * The text that describes them is explained in libquery/plugin-kinds.txt, which is
 * compiled in. What is asked of each symbol of each shared object must be cheap: most
 * are dismissed by their first byte.
 */
#ifndef LIBQUERY_DISK_TARGET_PLUGIN_KINDS_H
#define LIBQUERY_DISK_TARGET_PLUGIN_KINDS_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"

#define PLUGIN_KINDS_TEXT_MAX ((size_t)1 << 20) /* bytes of a site's or a host's text */
#define PLUGIN_RULES_MAX      ((size_t)256)     /* lines "symbol" in all */
#define PLUGIN_SYMBOLS_MAX    ((size_t)1024)    /* symbols in these */
#define PLUGIN_RULE_SYMBOLS   ((size_t)16)      /* symbols in one of these */

/* The text that is compiled in. */
extern const char plugin_kinds_text[];

/* A site's own kinds, as opposed to those that are compiled in. */
#define PLUGIN_KINDS_FILE "/etc/entrydb/plugin-kinds.conf"

struct plugin_kinds;

/* No kinds at all; NULL: no memory. */
struct plugin_kinds *plugin_kinds_create(void);
void plugin_kinds_free(struct plugin_kinds *kinds); /* NULL is accepted */

static inline void cleanup_plugin_kinds(struct plugin_kinds **kinds) /* for CLEANUP() */
{
	plugin_kinds_free(*kinds);
}

/*
 * Those that this machine knows: compiled in, and the site's own. The caller frees *@out.
 * @sysroot: where the file is looked for, or NULL. A file that is wrong, or that others than root
 * and the caller could have written, is left out, and @problem (which may be NULL) says why. Each
 * error that is returned is a failure.
 */
int plugin_kinds_load(const char *sysroot, struct plugin_kinds **out, struct error *problem,
                      struct error *error);

/*
 * Add what @text says; it is copied. A kind takes the place of one of the same name that
 * was added before. ERROR_FORMAT: a line that is none, with its number; ERROR_LIMIT: too
 * many; ERROR_NOMEM. After an error, no more than before is known.
 */
int plugin_kinds_add(struct plugin_kinds *kinds, struct slice text, struct error *error);

/*
 * The symbol of that one of the kinds that are compiled in whose plugins entry points of
 * @group announce by their package; null: there is none.
 */
struct slice plugin_kinds_symbol_of(struct slice group);

/* Differs whenever other kinds might be found; never 0. */
int64_t plugin_kinds_digest(const struct plugin_kinds *kinds);

/* May a file of that name be a plugin of some kind? @name: without directories. */
bool plugin_kinds_want(const struct plugin_kinds *kinds, struct slice name);

/*
 * What kinds of plugin an object is, while its symbols are told. Zeros, then
 * plugin_match_begin(); nothing is to be freed.
 */
struct plugin_match {
	const struct plugin_kinds *kinds;
	struct slice name; /* of the file */
	bool asks_all;     /* some pattern that begins with its star is for such a file */
	uint32_t found[PLUGIN_RULES_MAX];     /* which of the rule's symbols have been told */
	struct slice first[PLUGIN_RULES_MAX]; /* the one to be looked up; the teller's */
};

void plugin_match_begin(struct plugin_match *match, const struct plugin_kinds *kinds,
                        struct slice name);

/* The object exports @symbol, which must stay as long as the match. */
void plugin_match_symbol(struct plugin_match *match, struct slice symbol);

/* A kind that the object is. Texts are the kinds', the name's or the symbol's. */
struct plugin_found {
	struct slice kind, name, symbol;
};

/* The next of them, each kind once; begin with *at 0. False when there is no more. */
bool plugin_match_next(const struct plugin_match *match, size_t *at, struct plugin_found *out);

#endif
