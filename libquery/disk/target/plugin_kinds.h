/*
 * plugin_kinds.h - recognizes kinds of native plugins by exported symbols and file names.
 *
 * The kinds are defined in text, as described in libquery/plugin-kinds.txt, which is compiled in.
 * Matching one symbol must be cheap, since every symbol of every shared object is matched: most are
 * rejected by their first byte.
 */
#ifndef LIBQUERY_DISK_TARGET_PLUGIN_KINDS_H
#define LIBQUERY_DISK_TARGET_PLUGIN_KINDS_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"

#define PLUGIN_KINDS_TEXT_MAX ((size_t)1 << 20) /* bytes of a text */
#define PLUGIN_RULES_MAX      ((size_t)256)     /* "symbol" lines in all */
#define PLUGIN_SYMBOLS_MAX    ((size_t)1024)    /* symbols in all */
#define PLUGIN_RULE_SYMBOLS   ((size_t)16)      /* symbols in one line */

/* The built-in kinds. */
extern const char plugin_kinds_text[];

/* The local kinds, in addition to the built-in ones. */
#define PLUGIN_KINDS_FILE "/etc/entrydb/plugin-kinds.conf"

struct plugin_kinds;

/* Create an empty list of kinds; NULL if out of memory. */
struct plugin_kinds *plugin_kinds_create(void);
void plugin_kinds_free(struct plugin_kinds *kinds); /* NULL is accepted */

static inline void cleanup_plugin_kinds(struct plugin_kinds **kinds) /* for CLEANUP() */
{
	plugin_kinds_free(*kinds);
}

/*
 * Load the built-in kinds and those of PLUGIN_KINDS_FILE in @sysroot (or NULL). The caller frees
 * *out. If the file is invalid, or others than root and the caller can write it, it is ignored, and
 * @problem (may be NULL) says why. Returned errors are transient failures.
 */
int plugin_kinds_load(const char *sysroot, struct plugin_kinds **out, struct error *problem,
                      struct error *error);

/*
 * Add the kinds in @text, which is copied. A kind replaces one of the same name added before.
 * ERROR_FORMAT: a syntax error, with the line number; ERROR_LIMIT: too many; ERROR_NOMEM. After an
 * error nothing is added.
 */
int plugin_kinds_add(struct plugin_kinds *kinds, struct slice text, struct error *error);

/*
 * The symbol of the built-in kind whose plugins are announced by packages in entry points of
 * @group; null if there is none.
 */
struct slice plugin_kinds_symbol_of(struct slice group);

/* A digest that differs for different kinds; never 0. */
int64_t plugin_kinds_digest(const struct plugin_kinds *kinds);

/* May a file of that name be a plugin of any kind? @name: without directories. */
bool plugin_kinds_want(const struct plugin_kinds *kinds, struct slice name);

/*
 * The state of matching one object while its symbols are enumerated. Initialise with
 * plugin_match_begin(); needs no cleanup.
 */
struct plugin_match {
	const struct plugin_kinds *kinds;
	struct slice name;                /* of the file */
	bool asks_all;                    /* some pattern for such a file starts with its star */
	uint32_t found[PLUGIN_RULES_MAX]; /* bits: which of the rule's symbols exist */
	struct slice first[PLUGIN_RULES_MAX]; /* the symbol to look up; borrowed */
};

void plugin_match_begin(struct plugin_match *match, const struct plugin_kinds *kinds,
                        struct slice name);

/* The object exports @symbol, which must be valid as long as the match. */
void plugin_match_symbol(struct plugin_match *match, struct slice symbol);

/* A kind that the object matches. Texts belong to the kinds, the name or the symbol. */
struct plugin_found {
	struct slice kind, name, symbol;
};

/* The next matching kind, each once; start with *at 0. False at the end. */
bool plugin_match_next(const struct plugin_match *match, size_t *at, struct plugin_found *out);

#endif
