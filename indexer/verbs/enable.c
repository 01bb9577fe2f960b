/*
 * enable.c - the verbs enable and disable: change one line of a policy file and keep all others.
 * The file is published like a database (db/publish.h): under a lock, atomically.
 */
#include "indexer/verbs/enable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/entry_points_txt.h"
#include "db/publish.h"
#include "indexer/databases.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/layout.h"
#include "libquery/policy.h"

#define FILE_MODE 0644 /* all programs that load plugins read it */

/* --- the text --- */

const struct policy_rule *policy_edit_find(const struct policy_rules *rules,
                                           const struct policy_rule *rule)
{
	for (size_t i = rules->count; i > 0; i--) {
		const struct policy_rule *line = &rules->items[i - 1];

		if (line->action != POLICY_UNCLEAR && slice_equal(line->group, rule->group) &&
		    slice_equal(line->name, rule->name) &&
		    slice_equal(line->distribution, rule->distribution) &&
		    slice_equal(line->program, rule->program))
			return line;
	}
	return NULL;
}

/* The position of @rule, or, if it is NULL, of a new line in @group. */
struct place {
	const char *begin, *end; /* of the line, including its end */
	bool in_group;
};

static struct place find_place(struct slice text, const struct policy_rule *rule,
                               struct slice group)
{
	struct place place = {text.ptr + text.len, text.ptr + text.len, false};
	struct entry_points_txt txt;
	struct entry_points_line line;
	int next;

	entry_points_txt_begin(&txt, text);
	while ((next = entry_points_txt_next(&txt, &line, NULL)) != 0) {
		bool is_it = rule && txt.number == rule->number;

		if (!is_it && (rule || !slice_equal(txt.group, group)))
			continue;
		place = (struct place){txt.rest.ptr, txt.rest.ptr, true};
		if (!is_it)
			continue;
		place.begin = line.name.ptr;
		while (place.begin > text.ptr &&
		       (place.begin[-1] == ' ' || place.begin[-1] == '\t'))
			place.begin--;
		break;
	}
	return place;
}

static void put_rule(FILE *stream, const struct policy_rule *rule)
{
	fprintf(stream, "%.*s =", (int)rule->name.len, rule->name.ptr);
	if (rule->action != POLICY_SILENT)
		fputs(rule->action == POLICY_ENABLE ? " enable" : " disable", stream);
	if (rule->has_priority)
		fprintf(stream, " priority=%d", rule->priority);
	if (!slice_is_null(rule->distribution))
		fprintf(stream, " distribution=%.*s", (int)rule->distribution.len,
		        rule->distribution.ptr);
	if (!slice_is_null(rule->program))
		fprintf(stream, " program=%.*s", (int)rule->program.len, rule->program.ptr);
	fputc('\n', stream);
}

static int compose(struct slice text, const struct place *place, const struct policy_rule *rule,
                   char **out)
{
	size_t size;
	FILE *stream = open_memstream(out, &size);
	const char *end = text.ptr + text.len;
	bool is_empty = rule->action == POLICY_SILENT && !rule->has_priority;

	if (!stream)
		return ERROR_NOMEM;
	fwrite(text.ptr, 1, (size_t)(place->begin - text.ptr), stream);
	if (!is_empty && place->begin > text.ptr && place->begin[-1] != '\n')
		fputc('\n', stream);
	if (!is_empty && !place->in_group)
		fprintf(stream, "[%.*s]\n", (int)rule->group.len, rule->group.ptr);
	if (!is_empty)
		put_rule(stream, rule);
	fwrite(place->end, 1, (size_t)(end - place->end), stream);
	return text_close(stream, out) ? 0 : ERROR_NOMEM;
}

int policy_edit(struct slice text, const struct policy_rule *wanted, char **out,
                struct error *error)
{
	CLEANUP(policy_rules_free) struct policy_rules rules = {0};
	CLEANUP(policy_rules_free) struct policy_rules written = {0};
	CLEANUP(cleanup_free) char *made = NULL;
	struct policy_rule rule = *wanted;
	const struct policy_rule *line;
	struct place place;
	int code = policy_rules_read(text, &rules, error);

	if (code < 0)
		return code;
	line = policy_edit_find(&rules, &rule);
	if (line && line->has_priority && !rule.has_priority) {
		rule.priority = line->priority;
		rule.has_priority = true;
	}
	place = find_place(text, line, rule.group);
	if (compose(text, &place, &rule, &made) < 0)
		return error_nomem(error);
	/* Does it read back as intended? */
	code = policy_rules_read(slice_of(made), &written, error);
	if (code < 0)
		return code;
	line = policy_edit_find(&written, &rule);
	if (line ? line->action != rule.action : rule.action != POLICY_SILENT || rule.has_priority)
		return error_set(error, ERROR_INVALID,
		                 "a rule about [%.*s] %.*s cannot be written in a policy file",
		                 (int)rule.group.len, rule.group.ptr, (int)rule.name.len,
		                 rule.name.ptr);
	*out = take(made);
	return 0;
}

/* --- the file --- */

static int find_file(const struct options *options, char **out, struct error *error)
{
	CLEANUP(cleanup_free) char *prefix = NULL;
	CLEANUP(cleanup_free) char *inside = NULL;
	struct stat status;

	if (options->prefix) {
		prefix = layout_absolute(options->prefix);
		if (!prefix)
			return error_errno(error, errno, "%s", options->prefix);
		inside = text_format("%s%s", options->sysroot ? options->sysroot : "", prefix);
		if (inside && file_status(AT_FDCWD, inside, &status, NULL) <= 0)
			return error_errno(error, errno, "%s", inside);
	}
	if (options->user && layout_user_config(LAYOUT_USER_POLICY, out) == 0 && !*out)
		return error_set(error, ERROR_NOTFOUND,
		                 "HOME is not set: cannot locate your policy file");
	if (!options->user && (inside || !options->prefix))
		*out = layout_policy(options->sysroot,
		                     slice_of(prefix && strcmp(prefix, "/") != 0 ? prefix : ""));
	return *out ? 0 : error_nomem(error);
}

/* --- the rule --- */

/* GROUP, or GROUP/NAME. */
static struct policy_rule rule_of(const struct options *options, struct arena *arena, bool *failed)
{
	struct slice words = slice_of(options->arguments[0]);
	const char *slash = memchr(words.ptr, '/', words.len);
	struct policy_rule rule = {
	        .group = slash ? slice_between(words.ptr, slash) : words,
	        .name = slash ? slice_between(slash + 1, words.ptr + words.len) : SLICE("*"),
	        .program = slice_of(options->program),
	};

	if (options->distribution)
		rule.distribution =
		        distname_normalize_in(arena, slice_of(options->distribution), failed);
	if (options->priority) {
		rule.has_priority = true;
		rule.priority = (int)strtol(options->priority, NULL, 10);
	}
	return rule;
}

/* *disables: does a line disable exactly this? *forbids: do the rules in the text forbid it? */
static int ask(struct slice text, const struct policy_rule *rule, bool *disables, bool *forbids,
               struct error *error)
{
	CLEANUP(policy_rules_free) struct policy_rules rules = {0};
	int code = policy_rules_read(text, &rules, error);
	struct policy_layer layer = {.path = "", .rules = rules};
	struct policy policy = {.layers = &layer, .count = 1};
	struct policy_subject subject = {
	        .group = rule->group,
	        .name = rule->name,
	        .distribution = rule->distribution,
	        .program = rule->program,
	};
	const struct policy_rule *line;

	if (code < 0)
		return code;
	line = policy_edit_find(&rules, rule);
	*disables = line && line->action == POLICY_DISABLE;
	*forbids = !policy_decide(&policy, &subject).allowed;
	return 0;
}

/* --- the change --- */

struct change {
	const struct options *options;
	char *file;
	const char *sysroot;
	struct policy_rule rule;
};

/* Do the system's rules, which rank below the user's and the environment's, forbid it? */
static int ask_system(const struct change *change, bool *forbids, struct error *error)
{
	CLEANUP(cleanup_free) char *file = layout_policy(change->options->sysroot, SLICE(""));
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length = 0;
	bool disables;
	int code;

	*forbids = false;
	if (!file)
		return error_nomem(error);
	if (strcmp(file, change->file) == 0)
		return 0;
	code = small_file_read(file, POLICY_TEXT_MAX + 1, &text, &length, error);
	return code <= 0 ? code
	                 : ask((struct slice){text, length}, &change->rule, &disables, forbids,
	                       error);
}

/*
 * Enabling removes the disabling line. If there is none, or another rule still forbids it, it adds
 * an enabling line.
 */
static int make_text(struct slice text, const struct change *change, char **out,
                     struct error *error)
{
	struct policy_rule nothing = change->rule;
	CLEANUP(cleanup_free) char *without = NULL;
	bool disables = false, forbids = true;
	int code = 0;

	if (change->rule.action == POLICY_ENABLE)
		code = ask_system(change, &forbids, error);
	if (code == 0 && !forbids)
		code = ask(text, &change->rule, &disables, &forbids, error);
	if (code == 0 && disables) {
		nothing.action = POLICY_SILENT;
		code = policy_edit(text, &nothing, &without, error);
		if (code == 0)
			code = ask(slice_of(without), &nothing, &disables, &forbids, error);
		if (code == 0 && !forbids) {
			*out = take(without);
			return 0;
		}
	}
	return code < 0 ? code : policy_edit(text, &change->rule, out, error);
}

/* Read the published text through the new file; empty if there is none. malloc'd. */
static int read_text(struct publication *publication, char **text, size_t *length,
                     struct error *error)
{
	struct error own = {0};
	int code = publication_copy(publication, &own);

	if (code < 0 && code != ERROR_NOTFOUND)
		return error_move(error, &own);
	error_clear(&own);
	if (lseek(publication->new_fd, 0, SEEK_SET) != 0)
		return error_errno(error, errno, "cannot read %s", publication->path);
	code = small_file_read_fd(publication->new_fd, publication->path, POLICY_TEXT_MAX + 1, text,
	                          length, error);
	return code < 0 ? code : publication_restart(publication, error);
}

/* Rules where others can write are not read, and nothing of that environment is loaded. */
static int check_place(const struct change *change, struct error *error)
{
	CLEANUP(cleanup_free)
	char *place = strndup(change->file, path_directory(slice_of(change->file)).len);
	CLEANUP(error_clear) struct error own = {0};
	int code =
	        place ? safe_believe_place(place, change->sysroot, false, &own) : error_nomem(&own);

	return code < 0 ? error_set(error, own.code, "%s: rules there would be ignored: %s",
	                            change->file, error_text(&own))
	                : 0;
}

static int change_file(const struct change *change, struct error *error)
{
	CLEANUP(publication_end) struct publication publication = PUBLICATION_INIT;
	CLEANUP(cleanup_free) char *old = NULL;
	CLEANUP(cleanup_free) char *new = NULL;
	size_t length = 0;
	struct publication_wait wait = {
	        .timeout = PUBLISH_LOCK_TIMEOUT,
	        .stopped = interrupted,
	        .sysroot = change->sysroot,
	};
	struct safe_way way;
	int code = safe_path_look(change->file, NULL, change->sysroot, &way, error);

	if (code == 0)
		code = databases_check_owner(change->file, way.uid, change->options->command,
		                             error);
	if (code == 0)
		code = check_place(change, error);
	if (code == 0)
		code = publication_begin(&publication, change->file, &wait, error);
	if (code == 0)
		code = read_text(&publication, &old, &length, error);
	if (code == 0)
		code = make_text((struct slice){old, length}, change, &new, error);
	if (code == 0 && file_write(publication.new_fd, new, strlen(new)) != 0)
		return error_errno(error, errno, "cannot write %s", publication.path);
	return code == 0 ? publication_finish(&publication, FILE_MODE, error) : code;
}

static int run(const struct options *options, enum policy_action action, struct error *error)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	CLEANUP(cleanup_free) char *file = NULL;
	struct change change = {.options = options,
	                        .sysroot = options->user ? NULL : options->sysroot};
	bool failed = false;
	int code;

	if (options->user && options->prefix)
		return usage_error(NULL, "--user and --prefix are mutually exclusive");
	change.rule = rule_of(options, &arena, &failed);
	change.rule.action = action;
	code = failed ? error_nomem(error) : find_file(options, &file, error);
	change.file = file;
	if (code == 0)
		code = change_file(&change, error);
	if (code == ERROR_PERMISSION && !options->user && !options->prefix)
		note(options, "only root can change the system's rules; use --user for your own, "
		              "--prefix for those "
		              "of an environment");
	if (code == 0)
		note(options, "%s: %s %s", file, options->arguments[0],
		     action == POLICY_ENABLE ? "enabled" : "disabled");
	return code;
}

int command_enable(const struct options *options, struct error *error)
{
	return run(options, POLICY_ENABLE, error);
}

int command_disable(const struct options *options, struct error *error)
{
	return run(options, POLICY_DISABLE, error);
}
