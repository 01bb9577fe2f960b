/*
 * Keeps a hook from disturbing the package manager that calls it.
 */
#include "indexer/hook.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/text.h"
#include "db/base/unicode.h"
#include "indexer/caller.h"
#include "indexer/command.h"

#define HOOK_NAME_MAX      32          /* bytes */
#define HOOK_COMMAND_MAX   300         /* bytes of the caller's command that are kept */
#define HOOK_INPUT_TIMEOUT 10000       /* milliseconds; how long the caller may take to send */
#define DRAIN_CHUNK        (64 * 1024) /* bytes */

/* --- the command line --- */

const char *hook_asked(int argc, char *const *argv)
{
	static const char option[] = "--hook";

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *rest = argv[i] + sizeof(option) - 1;

		if (strncmp(argv[i], option, sizeof(option) - 1) != 0)
			continue;
		if (*rest == '=')
			return rest + 1;
		if (*rest == '\0')
			return i + 1 < argc ? argv[i + 1] : "";
	}
	return NULL;
}

bool hook_name_is_valid(const char *name)
{
	return text_is_plain(slice_of(name), "-") && strlen(name) <= HOOK_NAME_MAX &&
	       name[0] != '-';
}

/* --- the caller's input --- */

/*
 * These send nothing. What they leave on standard input is their own caller's, such
 * as the rest of a script that is being piped into a shell: not ours to read.
 */
static bool sends_nothing(const char *name)
{
	return text_has_word("dpkg pip uv conda mamba poetry pdm pixi systemd spack nix",
	                     slice_of(name));
}

/* Only a pipe breaks; a file's place may be shared, and a terminal has no end. */
static bool is_pipe(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* To the end of the file, with a time limit: another process may keep the pipe open. */
static void drain(int fd)
{
	static char buffer[DRAIN_CHUNK];
	int64_t end = milliseconds_now() + HOOK_INPUT_TIMEOUT;
	struct pollfd input = {.fd = fd, .events = POLLIN};
	ssize_t got = 1;

	for (int64_t left; got > 0 && (left = end - milliseconds_now()) > 0 && !interrupted();)
		if (poll(&input, 1, (int)left) > 0)
			got = read(fd, buffer, sizeof(buffer));
}

void hook_begin(const char *name)
{
	catch_signals(true);
	signal(SIGPIPE, SIG_IGN);
	if (!sends_nothing(name) && is_pipe(STDIN_FILENO))
		drain(STDIN_FILENO);
}

/* --- for the audit trail --- */

/* No longer than is allowed, and not cut within a character of UTF-8. */
char *hook_command(const char *name)
{
	CLEANUP(cleanup_free) char *caller = caller_find();
	struct slice words = slice_of(caller);
	bool is_long = words.len > HOOK_COMMAND_MAX;

	if (!caller)
		return strdup(name);
	return text_format("%s: %.*s%s", name,
	                   (int)(is_long ? utf8_cut(words, HOOK_COMMAND_MAX) : words.len), caller,
	                   is_long ? "..." : "");
}
