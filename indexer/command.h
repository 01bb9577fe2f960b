/*
 * command.h - what the verbs of the program share: options, statuses, messages.
 *
 * One file per verb; verbs.c has the table of them, options.c that of the options. Results go to
 * stdout, messages to stderr, one line each, beginning with "entrydb: ".
 */
#ifndef INDEXER_COMMAND_H
#define INDEXER_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "db/base/error.h"
#include "db/base/slice.h"
#include "indexer/terminal.h"
#include "libquery/entrydb.h"
#include "libquery/site_kinds.h"
#include "libquery/sites.h"

enum status {
	STATUS_DONE = 0,      /* done, or found */
	STATUS_NOT_FOUND = 1, /* not found, or differences found */
	STATUS_USAGE = 2,
	STATUS_COULD_NOT = 3,
};

struct options {
	const char *command;      /* the whole command line, for the audit trail */
	const char *database;     /* --db, or NULL */
	const char *sysroot;      /* --root, or NULL */
	const char *group;        /* --group, or NULL */
	const char *hook;         /* --hook, or NULL: see hook.h */
	bool sealed;              /* --sealed: see seal.h */
	const char *prefix;       /* --prefix, or NULL */
	const char *distribution; /* --distribution, or NULL */
	const char *program;      /* --program, or NULL */
	const char *priority;     /* --priority, or NULL: a number */
	unsigned timeout;         /* --timeout, in seconds; 0: not given */
	const char *sarif;        /* --sarif, or NULL */
	const char *baseline;     /* --baseline, or NULL */
	const char *facts;        /* --facts, or NULL */
	const char *fail_on;      /* --fail-on, or NULL: the name of a level */
	const char *since;        /* --since, or NULL */
	const char **path;        /* --path, each of them */
	size_t path_count;
	const char *python;       /* --python, or NULL: "3.11", "im10" */
	enum entrydb_rules rules; /* what it means */
	enum entrydb_fresh fresh; /* --fresh; DEFAULT where it is not given */
	bool json, quiet, help, version, user, allowed, print, clear, explain;
	unsigned given;         /* which of them the command line has; see options.h */
	const char **arguments; /* what is not an option */
	size_t argument_count;
};

typedef enum status command_function(const struct options *options);

command_function command_add;
command_function command_audit;
command_function command_disable;
command_function command_enable;
command_function command_export;
command_function command_forget;
command_function command_groups;
command_function command_list;
command_function command_log;
command_function command_probe;
command_function command_quarantine;
command_function command_push;
command_function command_run;
command_function command_plugins;
command_function command_update;
command_function command_verify;
command_function command_why;

/* A line on stderr, after "entrydb: ". */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same unless --quiet. */
void note(const struct options *options, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* A line on stdout, escaped as a whole (escape.h), as messages are. */
void print_line(enum style style, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Has some line of print_line() been lost, since there was no memory for it? */
bool results_were_lost(void);

/* Print the error's message, clear it, and return STATUS_COULD_NOT. */
enum status fail(struct error *error);

/* Has Ctrl-C, or a request to terminate, come in? Long work asks, and stops cleanly. */
bool interrupted(void);

/* @for_good: not only the first of them, after which the next one ends the program as usual. */
void catch_signals(bool for_good);

/* The path entries that are searched where the options name none. */
int default_sites(const struct options *options, struct sites *out, struct error *error);

/* A handle as the options ask: on --path, else on --db alone, else on the default path. */
int open_handle(const struct options *options, entrydb **out, struct error *error);

/* Open such a handle and select on it; both are the caller's to close and free. */
int select_by(const struct options *options, const char *group, const char *name, entrydb **db,
              entrydb_set **set, struct error *error);

/* An error of the library's as one of the program's; returns @code. */
int take_error(int code, entrydb_error *from, struct error *to);

/*
 * What the entry point leads to, which the caller frees; NULL where that cannot be told,
 * which is an answer. Each error is a failure (error.h).
 */
int find_target(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **target,
                struct error *error);

/*
 * Print the problems of a set, one line each. Called once per run, by whoever has
 * the widest set.
 */
void report_problems(const entrydb_set *set);

/*
 * The kinds of plugins to look for; the caller frees *@out. A site's file that is wrong is
 * told of, and left out.
 */
int load_kinds(const struct options *options, struct plugin_kinds **out, struct error *error);

#endif
