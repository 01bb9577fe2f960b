/*
 * command.h - what a command is given: its options; and the function of each. See commands.c.
 */
#ifndef INDEXER_COMMAND_H
#define INDEXER_COMMAND_H

#include <stddef.h>

#include "indexer/message.h"

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
	const char *html;         /* --html, or NULL */
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
command_function command_status;
command_function command_plugins;
command_function command_update;
command_function command_verify;
command_function command_why;

/* A line on stderr, after "entrydb: ", unless --quiet. */
#define note(options, ...) ((options)->quiet ? (void)0 : message(__VA_ARGS__))

#endif
