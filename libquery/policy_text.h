/*
 * policy_text.h - a policy file: the format of entry_points.txt, with rules for values.
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
 * A group is a section, a name is a name: what an entry_points.txt can say can be named
 * here. The value is a list of words, of which "disable" and "enable" exclude each other;
 * '#' begins a comment. The same rule may be written again: the last one counts.
 *
 * A line that cannot be understood forbids what it names; one without '=', its group.
 */
#ifndef LIBQUERY_POLICY_TEXT_H
#define LIBQUERY_POLICY_TEXT_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "libquery/native/policy.h"

#define POLICY_TEXT_MAX ((size_t)64 << 10) /* bytes of a policy file */

struct policy_rules {
	struct policy_rule *items;
	size_t count, room;
	struct arena arena; /* normalized names; all else points into the text */
};

/*
 * Read the rules of @text, which must stay. ERROR_FORMAT: it is not strict UTF-8;
 * ERROR_LIMIT: it is larger than POLICY_TEXT_MAX; ERROR_NOMEM.
 */
int policy_text_read(struct slice text, struct policy_rules *rules, struct error *error);
void policy_rules_free(struct policy_rules *rules);

/*
 * The rule about the same group, name, distribution and program as @rule, in the same words;
 * of several the one that counts, which is the last. NULL: there is none.
 */
const struct policy_rule *policy_rules_find(const struct policy_rules *rules,
                                            const struct policy_rule *rule);

/*
 * @text with @rule in it: in place of the line that is about the same group, name,
 * distribution and program, if there is one, else at the end of the group. With the action
 * POLICY_SILENT and no priority, the line is taken out. All else stays as it is. *@out is
 * malloc'd. ERROR_INVALID: the rule cannot be written so that it is read again.
 */
int policy_text_put(struct slice text, const struct policy_rule *rule, char **out,
                    struct error *error);

#endif
