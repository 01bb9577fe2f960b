/*
 * enable.h - changes one rule in the text of a policy file (libquery/policy_file.h).
 */
#ifndef INDEXER_VERBS_ENABLE_H
#define INDEXER_VERBS_ENABLE_H

#include "libquery/policy_file.h"

/*
 * The rule about the same group, name, distribution and program as @rule, in the same words;
 * of several the last, which is the one that counts. NULL: there is none.
 */
const struct policy_rule *policy_edit_find(const struct policy_rules *rules,
                                           const struct policy_rule *rule);

/*
 * @text with @rule in it: in place of the line about the same group, name, distribution and
 * program, if there is one, else at the end of the group. With the action POLICY_SILENT and
 * no priority, the line is removed. Everything else stays as it is. *@out is malloc'd.
 * ERROR_INVALID: the rule cannot be written so that it is read again.
 */
int policy_edit(struct slice text, const struct policy_rule *rule, char **out, struct error *error);

#endif
