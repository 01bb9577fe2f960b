/*
 * policy.h - may an entry point be loaded, and before which others? Private to libquery/ and
 * to the verbs enable and disable.
 *
 * What no rule is about is allowed. The first layer (policy_file.h) that has a rule about the
 * subject decides. If it has several, the most specific one does: by name, then distribution,
 * then program, then group; of equally specific ones the last.
 */
#ifndef LIBQUERY_POLICY_H
#define LIBQUERY_POLICY_H

#include "libquery/handle.h"
#include "libquery/result.h"

/* What is asked about; null slices: not known. */
struct policy_subject {
	struct slice group, name;
	struct slice distribution; /* normalized */
	struct slice program;
	struct slice prefix; /* of its environment; "": it belongs to none */
};

struct policy_verdict {
	bool allowed;
	int priority;                   /* higher ones come first; 0 where no rule gives one */
	const char *origin;             /* of the rule that decided; NULL: none did */
	struct slice word;              /* of ENTRYDB_DISABLE, or null */
	const struct policy_rule *rule; /* of a file, or NULL */
	const struct error *why;        /* the rules that would decide are not known; or NULL */
};

/* A pure function of its arguments: it looks at no file and changes nothing. */
struct policy_verdict policy_decide(const struct policy *policy,
                                    const struct policy_subject *subject);

/*
 * The rule that decided and where it stands, in one line: "ENTRYDB_DISABLE names
 * GROUP/NAME", "FILE, line 3: [GROUP] NAME = disable". malloc'd; NULL without memory.
 */
char *policy_reason(const struct policy_verdict *verdict);

#define POLICY_AGE ((int64_t)1000000000) /* nanoseconds: of rules that do not guard a load */

/* Read the files that count for the handle, unless that was done less than @age ago. */
int policy_look(struct entrydb *db, int64_t age, struct error *error);

/* 0 if @entry_point may be loaded; ERROR_DISABLED and the rule; or why that is not known. */
int policy_allows(struct entrydb *db, const struct entrydb_entry_point *entry_point,
                  struct error *error);

/*
 * Drop what is disabled, and note what the priority of the others is. As of the last look. Where
 * that is not known, it is a problem of the set's, and dropped unless @keep_unknown.
 */
int policy_apply(const struct entrydb *db, struct entrydb_set *set, bool keep_unknown,
                 struct error *error);

#endif
