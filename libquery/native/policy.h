/*
 * policy.h - may this entry point be loaded, and before which others?
 *
 * A pure decision over rules and a subject: it asks nobody, and changes nothing. What
 * no rule speaks of is allowed. The rules stand in layers, one for each text they come
 * from, in the order in which they count:
 *
 *     ENTRYDB_DISABLE > the user's file > those of the environments > the system's
 *
 * The first layer that has a rule for the subject decides. Of several rules in it, the
 * one that says most about the subject does: its name, then its distribution, then the
 * program, then its group; of two that say as much, the later. libquery/policy_text.h reads the
 * rules; where they are, libquery/rules.h knows.
 */
#ifndef LIBQUERY_NATIVE_POLICY_H
#define LIBQUERY_NATIVE_POLICY_H

#include <stdbool.h>

#include "db/base/slice.h"

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

struct policy_layer {
	const char *origin; /* the file */
	const struct policy_rule *rules;
	size_t count;
};

struct policy {
	struct slice disabled; /* what ENTRYDB_DISABLE says: GROUP or GROUP/NAME, comma-separated */
	const struct policy_layer *layers; /* the one that counts most comes first */
	size_t layer_count;
};

/* What is asked about; null slices: not known. */
struct policy_subject {
	struct slice group, name;
	struct slice distribution; /* normalized */
	struct slice program;
};

struct policy_verdict {
	bool allowed;
	int priority;                   /* higher ones come first; 0 where no rule gives one */
	const char *origin;             /* of the rule that decided; NULL: none did */
	struct slice word;              /* of ENTRYDB_DISABLE, or null */
	const struct policy_rule *rule; /* of a file, or NULL */
};

struct policy_verdict policy_decide(const struct policy *policy,
                                    const struct policy_subject *subject);

/* Is there a rule at all? Without one, everything is allowed. */
bool policy_is_empty(const struct policy *policy);

/*
 * The rule that decided and where it stands, in one line: "ENTRYDB_DISABLE names
 * GROUP/NAME", "FILE, line 3: [GROUP] NAME = disable". malloc'd; NULL without memory.
 */
char *policy_reason(const struct policy_verdict *verdict);

#endif
