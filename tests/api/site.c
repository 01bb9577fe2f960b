/*
 * site.c - a scratch directory with site directories for the tests of the library.
 */
#include "site.h"

#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

#include "../unit/scratch.h"

#define ARGUMENTS_MAX 16

extern char **environ;

struct site_string {
	struct site_string *next;
	char text[];
};

/* --- the scratch directory --- */

int site_setup(void **state)
{
	struct site *site = calloc(1, sizeof(*site));

	if (!site)
		return -1;
	*state = site;
	scratch_enter();
	site->top = scratch_top();
	site->program = getenv("ENTRYDB");
	return 0;
}

int site_teardown(void **state)
{
	struct site *site = *state;
	struct site_string *next;

	entrydb_set_free(site->set);
	entrydb_target_free(site->target);
	entrydb_path_free(site->described);
	entrydb_error_clear(&site->error);
	entrydb_close(site->db);
	scratch_leave();
	for (struct site_string *string = site->strings; string; string = next) {
		next = string->next;
		free(string);
	}
	free(site);
	return 0;
}

const char *site_text(struct site *site, const char *format, ...)
{
	struct site_string *string;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	string = malloc(sizeof(*string) + (size_t)length + 1);
	if (!string)
		abort();
	va_start(arguments, format);
	vsnprintf(string->text, (size_t)length + 1, format, arguments);
	va_end(arguments);
	string->next = site->strings;
	site->strings = string;
	return string->text;
}

const char *site_path(struct site *site, const char *path)
{
	return site_text(site, "%s/%s", site->top, path);
}

/* --- its contents --- */

void site_write_bytes(struct site *site, const char *path, const void *bytes, size_t length)
{
	(void)site;
	scratch_write(path, bytes, length);
}

void site_write(struct site *site, const char *path, const char *text)
{
	site_write_bytes(site, path, text, strlen(text));
}

void site_remove(struct site *site, const char *path)
{
	(void)site;
	scratch_remove(path);
}

void site_distribution(struct site *site, const char *where, const char *directory,
                       const char *name, const char *version, const char *entry_points)
{
	if (version)
		site_write(site, site_text(site, "%s/%s/METADATA", where, directory),
		           site_text(site, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name,
		                     version));
	site_write(site, site_text(site, "%s/%s/entry_points.txt", where, directory), entry_points);
}

void site_plugin(struct site *site, const char *plugin, const char *path)
{
	size_t length;
	char *bytes = scratch_plugin(plugin, &length);

	unlink(site_path(site, path)); /* a loaded one must not be overwritten */
	scratch_write(path, bytes, length);
	free(bytes);
}

/* --- the program --- */

void site_run(struct site *site, const char *verb, ...)
{
	char *arguments[ARGUMENTS_MAX] = {site->program, (char *)verb, (char *)"--quiet"};
	size_t count = 3;
	va_list list;
	pid_t child;
	int status;

	assert_non_null(site->program);
	va_start(list, verb);
	do {
		assert_true(count < ARGUMENTS_MAX);
		arguments[count] = va_arg(list, char *);
	} while (arguments[count++]);
	va_end(list);
	assert_int_equal(posix_spawn(&child, site->program, NULL, NULL, arguments, environ), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

void site_sleep(int milliseconds)
{
	struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

	nanosleep(&pause, NULL);
}

/* --- the handle --- */

void site_close(struct site *site)
{
	entrydb_close(site->db);
	site->db = NULL;
}

void site_open(struct site *site, const entrydb_options *options, ...)
{
	const char *path[ARGUMENTS_MAX];
	size_t count = 0;
	va_list list;

	va_start(list, options);
	while ((path[count] = va_arg(list, const char *))) {
		path[count] = site_path(site, path[count]);
		assert_true(++count < ARGUMENTS_MAX);
	}
	va_end(list);
	site_close(site);
	assert_int_equal(entrydb_open(path, count, options, &site->db, &site->error), 0);
}

static const char *last_part(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

static const char *tell(struct site *site, const entrydb_entry_point *entry)
{
	const char *winner = entrydb_entry_point_shadowed_by(entry);

	return site_text(site, "%s=%s@%s%s%s", entrydb_entry_point_name(entry),
	                 entrydb_entry_point_value(entry),
	                 last_part(entrydb_entry_point_file(entry)), winner ? "<" : "",
	                 winner ? last_part(winner) : "");
}

static const char *tell_all(struct site *site)
{
	const char *text = "";

	for (size_t i = 0; i < entrydb_set_count(site->set); i++)
		text = site_text(site, "%s%s%s", text, i ? " " : "",
		                 tell(site, entrydb_set_get(site->set, i)));
	return text;
}

static void drop_set(struct site *site)
{
	entrydb_set_free(site->set);
	site->set = NULL;
}

const char *site_select(struct site *site, const char *group, const char *name)
{
	drop_set(site);
	if (entrydb_select(site->db, group, name, &site->set, &site->error) < 0)
		fail_msg("%s", entrydb_error_message(&site->error));
	return tell_all(site);
}

const char *site_explain(struct site *site, const char *group, const char *name)
{
	drop_set(site);
	if (entrydb_explain(site->db, group, name, &site->set, &site->error) < 0)
		fail_msg("%s", entrydb_error_message(&site->error));
	return tell_all(site);
}

const entrydb_path_entry *site_path_entry(struct site *site, size_t index)
{
	entrydb_path_free(site->described);
	site->described = NULL;
	if (entrydb_describe_path(site->db, &site->described, &site->error) < 0)
		fail_msg("%s", entrydb_error_message(&site->error));
	assert_true(index < entrydb_path_count(site->described));
	return entrydb_path_get(site->described, index);
}

enum entrydb_path_state site_state(struct site *site, size_t index)
{
	return entrydb_path_entry_state(site_path_entry(site, index));
}

int site_call(void *symbol)
{
	int (*function)(void);

	memcpy(&function, &symbol, sizeof(function));
	return function();
}
