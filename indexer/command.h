/*
 * command.h - the options of the command line (options.c) and the commands (commands.c).
 */
#ifndef INDEXER_COMMAND_H
#define INDEXER_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "indexer/message.h"

/* The parsed command line; NULL, 0 or false by default. */
struct options {
	const char *command;  /* the whole command line, or that of the caller of a hook */
	const char *verb;     /* the name of the command */
	const char *database; /* --db */
	const char *sysroot;  /* --root */
	const char *platform; /* of an image: OS/ARCH[/VARIANT] */
	const char *group;
	const char *hook; /* see hook.h */
	const char *prefix, *distribution, *program;
	const char *priority; /* a number */
	unsigned timeout;     /* seconds */
	const char *sarif, *html, *baseline, *facts, *fail_on, *since;
	const char **path; /* --path, each of them */
	size_t path_count;
	const char *python;       /* "3.11", "im10" */
	enum entrydb_rules rules; /* from --python */
	enum entrydb_fresh fresh;
	bool json, quiet, help, version, user, allowed, print, clear, explain, sealed;
	bool index, all, all_versions;     /* add */
	const char *requirements, *script; /* add --requirements, search --command */
	uint64_t given;                    /* bits of the given options; see options.c */
	const char **arguments;            /* everything that is not an option */
	size_t argument_count;
};

/* Returns an enum status, or the code of @error, which the caller prints. */
typedef int command_function(const struct options *options, struct error *error);

command_function command_add, command_audit, command_disable, command_enable, command_export,
        command_forget, command_groups, command_list, command_log, command_probe,
        command_quarantine, command_push, command_run, command_search, command_status,
        command_plugins, command_update, command_verify, command_why;

/* A line on stderr, after "entrydb: ", unless --quiet. */
#define note(options, ...) ((options)->quiet ? (void)0 : message(__VA_ARGS__))

/* --- options.c --- */

/*
 * Parse the command line; options->path has room for all its words. Options may come before and
 * after arguments, up to "--" and the name that "run" starts; the arguments are moved to the front
 * of @argv. Errors are printed.
 */
enum status options_parse(char **argv, struct options *options);

/* The name of a given option that is not in the space-separated @names; NULL if there is none. */
const char *options_not_among(const struct options *options, const char *names);

/*
 * Print the help of the options @names, or of all if NULL. If an explanation begins with @verb and
 * a colon, as in "audit: ...", it is printed without that.
 */
void options_print(const char *names, const char *verb);

/*
 * Returns a copy of the URL, and masks its password and query in the command line, which other
 * users can read and messages quote. NULL: out of memory.
 */
char *options_take_url(char *word);

/*
 * Print a usage error with a pointer to the help of @verb, or, if NULL, of the program. Returns
 * STATUS_USAGE.
 */
enum status usage_error(const char *verb, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* --- commands.c --- */

/* Run the command that the first argument names, or print help or the version. */
enum status commands_run(struct options *options);

/* --- image/kept.c: --root may name an image --- */

/* Is @path an image? */
bool image_is_named(const char *path);

/*
 * Set options->sysroot, which names an added image, to the image's unpacked tree. ERROR_NOTFOUND:
 * it was not added, or is another one. With @with_layers, ERROR_CHANGED unless its layers are those
 * of the file.
 */
int image_enter(struct options *options, bool with_layers, struct error *error);

#endif
