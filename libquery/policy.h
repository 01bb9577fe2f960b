/*
 * policy.h - decides whether an entry point may be loaded, and its priority. Private to libquery/
 * and the program.
 *
 * Without a matching rule everything is allowed. The first layer (policy_file.h) with a matching
 * rule decides. Of several matching rules in it the most specific one counts: by name, then
 * distribution, then program, then group; of equally specific rules the last.
 */
#ifndef LIBQUERY_POLICY_H
#define LIBQUERY_POLICY_H

#include "libquery/handle.h"
#include "libquery/result.h"

/* The entry point to decide on; null slices: unknown. */
struct policy_subject {
	struct slice group, name;
	struct slice distribution; /* normalized */
	struct slice program;
	struct slice prefix; /* of its environment; "": none */
};

struct policy_verdict {
	bool allowed;
	int priority;                   /* higher ones come first; 0 by default */
	const char *origin;             /* the file of the deciding rule; NULL: none */
	struct slice word;              /* in ENTRYDB_DISABLE, or null */
	const struct policy_rule *rule; /* in a file, or NULL */
	const struct error *why;        /* why the deciding rules are unknown; or NULL */
};

/* A pure function of its arguments. */
struct policy_verdict policy_decide(const struct policy *policy,
                                    const struct policy_subject *subject);

/*
 * The deciding rule and its location in one line: "ENTRYDB_DISABLE names GROUP/NAME", "FILE, line
 * 3: [GROUP] NAME = disable". malloc'd; NULL if out of memory.
 */
char *policy_reason(const struct policy_verdict *verdict);

#define POLICY_AGE ((int64_t)1000000000) /* nanoseconds; for queries, but not for loads */

/*
 * Before the first use of a handle whose verdicts are published: neither the user's own rules count
 * nor those in files that @readers cannot read.
 */
void policy_publish(struct entrydb *db, struct readers readers);

/* Read the policy files of the handle, unless that was done less than @age ago. */
int policy_refresh(struct entrydb *db, int64_t age, struct error *error);

/*
 * 0 if @entry_point may be loaded; ERROR_DISABLED with the rule in the message; or an error if the
 * rules are unknown.
 */
int policy_allows(struct entrydb *db, const struct entrydb_entry_point *entry_point,
                  struct error *error);

/*
 * entrydb_check_policy() by rules read less than @age ago, for many entry points: each file is not
 * read for each of them.
 */
int policy_check(struct entrydb *db, const struct entrydb_entry_point *entry_point, int64_t age,
                 struct entrydb_verdict **out, struct error *error);

/*
 * Drop disabled entry points from the set and set the priority of the others, by the rules last
 * read. Entry points whose rules are unknown are reported as problems of the set, and dropped
 * unless @keep_unknown.
 */
int policy_apply(const struct entrydb *db, struct entrydb_set *set, bool keep_unknown,
                 struct error *error);

#endif
