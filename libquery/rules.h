/*
 * rules.h - the rules about what may be loaded that apply to a handle. Private to
 * libquery/.
 *
 * They stand in text files (policy_text.h): the user's, those of the environments
 * whose path entries the handle has, the system's; layout.h says where. A file is read
 * again when its times have changed. With a sysroot, the user's file does not count;
 * in a privileged process, only the system's does.
 *
 * A file is believed if root, the effective user or, for that of an environment, the owner
 * of the prefix has written it, and nobody else could. One that cannot be believed, read
 * or understood as a whole is an error of whoever wants to load: what it might forbid is
 * not known. What could not be read for now (a failure, error.h) stays as it was.
 */
#ifndef LIBQUERY_RULES_H
#define LIBQUERY_RULES_H

#include <stdint.h>

#include "db/base/error.h"
#include "libquery/native/policy.h"
#include "libquery/path_entry.h"

/* What decides which files count. */
struct rules_scope {
	const struct path_entry *entries;
	size_t entry_count;
	const char *sysroot; /* or NULL */
};

struct rules {
	struct rules_file *files; /* in the order of the layers */
	struct policy_layer *layers;
	size_t count, room;
	bool listed;    /* the files are known */
	int64_t looked; /* when, by a clock of its own */
};

/* Read what has changed since. The scope stays the same. With the handle's lock, as all of these.
 */
int rules_look(struct rules *rules, const struct rules_scope *scope, struct error *error);

/* The same, at most once a second. */
int rules_look_at_times(struct rules *rules, const struct rules_scope *scope, struct error *error);

/* The rules as of the last look. Borrowed, until the next. */
struct policy rules_policy(const struct rules *rules);

void rules_free(struct rules *rules);

#endif
