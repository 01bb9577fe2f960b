/*
 * guard.c - see guard.h.
 */
#include "libquery/guard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/sha256.h"
#include "db/base/text.h"
#include "libquery/disk/elf/elf_file.h"
#include "libquery/layout.h"

int guard_directory(char **out, struct error *error)
{
	return layout_quarantine(out) < 0 ? error_nomem(error) : 0;
}

static int hash(int fd, const char *object, char **id, struct error *error)
{
	uint8_t digest[SHA256_SIZE];
	char text[SHA256_HEX_SIZE + 1];

	if (lseek(fd, 0, SEEK_SET) != 0 || sha256_of_file(fd, NULL, digest) != 0)
		return error_errno(error, errno, "cannot read %s", object);
	sha256_hex(digest, text);
	*id = text_format("sha256-%s", text);
	return *id ? 0 : error_nomem(error);
}

int guard_identify(const char *object, char **id, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, object, 0);
	struct elf_facts facts = {0};
	struct error own = {0};
	int code;

	if (fd < 0)
		return error_errno(error, errno, "cannot read %s", object);
	code = elf_examine(fd, (struct slice){0}, (struct slice){0}, &facts, &own);
	if (error_is_failure(code))
		return error_move(error, &own);
	error_clear(&own);
	if (code < 0 || !facts.build_id[0])
		return hash(fd, object, id, error);
	*id = text_format("build-id-%s", facts.build_id);
	return *id ? 0 : error_nomem(error);
}

/* *directory is NULL where nothing is set aside, which takes no look at the object. */
static int find_directory(char **directory, struct error *error)
{
	int exists = 0, code = guard_directory(directory, error);

	if (code == 0 && *directory)
		exists = access(*directory, F_OK);
	if (exists != 0)
		free(take(*directory));
	return code;
}

int guard_check(const char *object, const char *distribution, struct error *error)
{
	CLEANUP(cleanup_free) char *directory = NULL;
	CLEANUP(cleanup_free) char *id = NULL;
	CLEANUP(cleanup_free) char *reason = NULL;
	int code = find_directory(&directory, error);

	if (code < 0 || !directory)
		return code;
	code = guard_identify(object, &id, error);
	if (code == 0)
		code = quarantine_find(directory, id, &reason, error);
	if (code <= 0)
		return code;
	return error_set(error, ERROR_SET_ASIDE,
	                 "%s (of %s) is set aside: %s; to try it again, run: entrydb quarantine "
	                 "--clear %s",
	                 object, distribution, reason, id);
}

/* Where what is to be said of an object is kept, and under which name: 1; 0: nowhere. */
static int find_record(const char *object, char **directory, char **id, struct error *error)
{
	int code = guard_directory(directory, error);

	if (code < 0 || !*directory)
		return code;
	code = guard_identify(object, id, error);
	return code < 0 ? code : 1;
}

int guard_begin(const char *object, struct quarantine_watch *watch, struct error *error)
{
	CLEANUP(cleanup_free) char *directory = NULL;
	CLEANUP(cleanup_free) char *id = NULL;
	int code = find_record(object, &directory, &id, error);

	return code > 0 ? quarantine_watch_begin(directory, id, object, watch, error) : code;
}

int guard_set_aside(const char *object, const char *reason, struct error *error)
{
	CLEANUP(cleanup_free) char *directory = NULL;
	CLEANUP(cleanup_free) char *id = NULL;
	int code = find_record(object, &directory, &id, error);

	return code > 0 ? quarantine_add(directory, id, object, reason, error) : code;
}
