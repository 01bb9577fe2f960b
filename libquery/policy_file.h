/*
 * policy_file.h - parses policy files. Private to libquery/ and the verbs enable and disable.
 *
 * A policy file has the format of entry_points.txt, with rules as values:
 *
 *     [torch.backends]
 *     torch_spyre = disable
 *     vendor      = disable distribution=vendor-plugin
 *
 *     [vllm.general_plugins]
 *     *    = disable program=vllm     # vllm loads only
 *     good = enable program=vllm      # this one
 *     fast = priority=10
 *
 *     [*]
 *     *    = disable distribution=abandoned
 *
 * Sections are groups, and names are those of entry points: whatever is valid in an
 * entry_points.txt can be named here. A value is a list of words, of which "disable" and "enable"
 * exclude each other; '#' starts a comment. A rule may be repeated: the last one counts. A line
 * that cannot be parsed disables the entry point that it names; a line without '=' disables its
 * whole group.
 *
 * The files form layers, in order of precedence:
 *
 *     ENTRYDB_DISABLE > the user's file > those of the environments > the system's
 *
 * Their paths are in layout.h. An environment's file applies only to the entry points of that
 * environment, so that the owner of one environment has no influence on another. With a sysroot,
 * the user's file is ignored, and where $HOME is another user's; in a privileged process, all but
 * the system's are.
 *
 * A file is trusted if only root, the effective user or, for an environment's file, the owner of
 * the prefix can have written it. A file that is untrusted, unreadable or not UTF-8 is an error for
 * callers that load, since what it disables is unknown. After a transient failure (error.h) the
 * previous rules stay.
 */
#ifndef LIBQUERY_POLICY_FILE_H
#define LIBQUERY_POLICY_FILE_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/slice.h"

#define POLICY_TEXT_MAX         ((size_t)64 << 10) /* bytes of a policy file */
#define POLICY_RULES_MAX        2048               /* rules of it: each entry point asks all */
#define POLICY_DISABLE_VARIABLE "ENTRYDB_DISABLE"

enum policy_action {
	POLICY_SILENT, /* a priority only */
	POLICY_ENABLE,
	POLICY_DISABLE,
	POLICY_UNCLEAR, /* the line cannot be parsed: treated as "disable" */
};

/* One line of a policy file. Null slices, and the name and group "*", stand for any. */
struct policy_rule {
	struct slice group, name;
	struct slice distribution; /* normalized */
	struct slice program;
	enum policy_action action;
	bool has_priority;
	int priority;
	size_t number;      /* of the line, from 1 */
	struct slice value; /* as written */
};

struct policy_rules {
	struct policy_rule *items;
	size_t count, room;
	struct arena arena; /* of normalized names; other slices point into the text */
};

/*
 * Parse @text, which must outlive the rules. ERROR_FORMAT: not strict UTF-8; ERROR_LIMIT: larger
 * than POLICY_TEXT_MAX, or more than POLICY_RULES_MAX rules; ERROR_NOMEM.
 */
int policy_rules_read(struct slice text, struct policy_rules *rules, struct error *error);
void policy_rules_free(struct policy_rules *rules);

/* The rules of one file. */
struct policy_layer {
	char *path;
	char *place;        /* the environment that it applies to; NULL: all */
	const char *prefix; /* the same without the sysroot */
	bool is_users;      /* the file below $HOME */
	struct policy_rules rules;
	char *text;       /* that the rules point into */
	bool known;       /* the rules were read without a failure */
	struct error why; /* why an environment's rules are unknown: nothing of it is allowed */
};

struct policy {
	struct slice disabled;       /* $ENTRYDB_DISABLE: GROUP or GROUP/NAME, comma-separated */
	struct policy_layer *layers; /* in order of precedence */
	size_t count, room;
	int64_t last_read; /* when all were read, CLOCK_MONOTONIC_COARSE; 0: not yet */
};

/* Is there no rule at all, as of the last read? Then everything is allowed. */
bool policy_is_empty(const struct policy *policy);

void policy_free(struct policy *policy);

#endif
