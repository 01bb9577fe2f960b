/*
 * policy_file.h - policy files: what they say, and which of them apply to a handle.
 * Private to libquery/ and to the verbs enable and disable.
 *
 * A policy file has the format of entry_points.txt, with rules for values:
 *
 *     [torch.backends]
 *     torch_spyre = disable
 *     vendor      = disable distribution=vendor-plugin
 *
 *     [vllm.general_plugins]
 *     *    = disable program=vllm     # this program loads
 *     good = enable program=vllm      # no other one
 *     fast = priority=10
 *
 *     [*]
 *     *    = disable distribution=abandoned
 *
 * A group is a section, a name is a name: whatever an entry_points.txt can say can be named
 * here. The value is a list of words, of which "disable" and "enable" exclude each other;
 * '#' begins a comment. A rule may be repeated: the last one counts. A line that cannot be
 * understood disables what it names; one without '=' disables its group.
 *
 * The files form layers, in the order in which they count:
 *
 *     ENTRYDB_DISABLE > the user's file > those of the environments > the system's
 *
 * layout.h says where they are. An environment's file is for the entry points of that
 * environment alone: the owner of one environment decides nothing about another. With a
 * sysroot, the user's file does not count; in a privileged process, only the system's does.
 *
 * A file counts if root, the effective user or, for an environment's, the owner of the prefix
 * wrote it and nobody else could. One that cannot be trusted, read or understood as a whole
 * is an error for callers that load, since what it disables is not known. If reading
 * fails for now (a failure, error.h), the rules stay as they were.
 */
#ifndef LIBQUERY_POLICY_FILE_H
#define LIBQUERY_POLICY_FILE_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/slice.h"

#define POLICY_TEXT_MAX         ((size_t)64 << 10) /* bytes of a policy file */
#define POLICY_DISABLE_VARIABLE "ENTRYDB_DISABLE"

enum policy_action {
	POLICY_SILENT, /* a priority only */
	POLICY_ENABLE,
	POLICY_DISABLE,
	POLICY_UNCLEAR, /* the line cannot be understood: what it names is not loaded */
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
	struct arena arena; /* normalized names; everything else points into the text */
};

/*
 * Read the rules of @text, which must outlive them. ERROR_FORMAT: it is not strict UTF-8;
 * ERROR_LIMIT: it is larger than POLICY_TEXT_MAX; ERROR_NOMEM.
 */
int policy_rules_read(struct slice text, struct policy_rules *rules, struct error *error);
void policy_rules_free(struct policy_rules *rules);

/* The rules of one file. */
struct policy_layer {
	char *path;
	char *place;        /* of the environment whose entry points it is for; NULL: for all */
	const char *prefix; /* the same without the sysroot */
	struct policy_rules rules;
	char *text;       /* what the rules point into */
	bool known;       /* the rules are those of a look that did not fail */
	struct error why; /* of an environment: they are not known, and nothing of it is allowed */
};

struct policy {
	struct slice disabled;       /* $ENTRYDB_DISABLE: GROUP or GROUP/NAME, comma-separated */
	struct policy_layer *layers; /* the one that counts most comes first */
	size_t count, room;
	int64_t looked; /* when all were read; a clock of this module; 0: not yet */
};

/* Is there no rule at all? Then everything is allowed. As of the last look. */
bool policy_is_empty(const struct policy *policy);

void policy_free(struct policy *policy);

#endif
