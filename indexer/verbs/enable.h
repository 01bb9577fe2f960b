/*
 * enable.h - edits a rule in the text of a policy file (libquery/policy_file.h).
 */
#ifndef INDEXER_VERBS_ENABLE_H
#define INDEXER_VERBS_ENABLE_H

#include "libquery/policy_file.h"

/*
 * The rule with the same group, name, distribution and program as @rule, spelled the same; the last
 * of several, which takes effect. NULL if there is none.
 */
const struct policy_rule *policy_edit_find(const struct policy_rules *rules,
                                           const struct policy_rule *rule);

/*
 * Put @rule into @text: in place of the line with the same group, name, distribution and program,
 * else at the end of the group. With POLICY_SILENT and no priority the line is removed. Everything
 * else is unchanged. *out is malloc'd. ERROR_INVALID: the rule cannot be expressed in the format.
 */
int policy_edit(struct slice text, const struct policy_rule *rule, char **out, struct error *error);

#endif
