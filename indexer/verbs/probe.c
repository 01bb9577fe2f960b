/*
 * probe: loads an entry point in a child process and reports the outcome.
 *
 * Opening a shared object runs its constructors, which may crash or hang the process. The child
 * loads it through the library as any host would, or has Python import it; the parent waits with a
 * time-out. Objects that crashed or hung are quarantined.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "db/base/libc.h"
#include "db/base/text.h"
#include "indexer/interpreter.h"
#include "indexer/verb.h"
#include "libquery/layout.h"
#include "libquery/load.h"
#include "libquery/native/quarantine.h"

#define TIMEOUT     30   /* seconds; the default of --timeout */
#define MESSAGE_MAX 4096 /* bytes of the child's message */

/* Exit statuses of a child that could report; a plugin may exit with any other. */
enum { CHILD_LOADED = 111, CHILD_FAILED = 112 };

struct probe {
	const struct options *options;
	entrydb *db;
	const entrydb_entry_point *entry_point;
	entrydb_target *target;
	char *interpreter; /* for a Python module; else NULL */
	const char *outcome;
	bool is_loaded, is_harmful; /* it crashed or hung */
	char reason[MESSAGE_MAX + 1];
};

static void probe_free(struct probe *probe)
{
	entrydb_target_free(probe->target);
	free(probe->interpreter);
}

/* --- the child --- */

static const char importer[] =
        INTERPRETER_BEGIN "try:\n"
                          "    __import__(module)\n"
                          "    found = sys.modules[module]\n"
                          "    for part in filter(None, attribute.split('.')):\n"
                          "        found = getattr(found, part)\n"
                          "except BaseException as error:\n"
                          "    text = f'{type(error).__name__}: {error}'\n"
                          "    with open(3, 'w', errors='replace') as stream:\n"
                          "        stream.write(' '.join(text.split()))\n"
                          "    raise SystemExit(112)\n"
                          "raise SystemExit(111)\n";

enum { MESSAGE_FD = 3 }; /* for the interpreter's message */

/* Write the message and exit. */
static _Noreturn void end_failed(int fd, const char *text)
{
	file_write(fd, text, strnlen(text, MESSAGE_MAX));
	_exit(CHILD_FAILED);
}

static _Noreturn void import_it(const struct probe *probe, int fd)
{
	const char *attribute = entrydb_entry_point_attr(probe->entry_point);
	const char *const words[] = {probe->interpreter,
	                             "-c",
	                             importer,
	                             entrydb_entry_point_path(probe->entry_point),
	                             entrydb_entry_point_module(probe->entry_point),
	                             attribute ? attribute : "",
	                             NULL};

	if (fd == MESSAGE_FD || dup2(fd, MESSAGE_FD) >= 0) {
		fcntl(MESSAGE_FD, F_SETFD, 0);
		interpreter_execute(words);
	}
	end_failed(fd, errno_text(errno));
}

/* The plugin's output goes to stderr, and an expected crash leaves no core. */
static _Noreturn void run_child(const struct probe *probe, int fd)
{
	const struct rlimit none = {0, 0};
	entrydb_error error = ENTRYDB_ERROR_INIT;
	void *symbol;

	setpgid(0, 0);
	setrlimit(RLIMIT_CORE, &none);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	if (probe->interpreter)
		import_it(probe, fd);
	if (entrydb_load(probe->db, probe->entry_point, &symbol, &error) == 0)
		_exit(CHILD_LOADED);
	end_failed(fd, entrydb_error_message(&error));
}

/* --- the parent --- */

/* Wait until the child and all its descendants have closed the pipe, or until the time-out. */
static bool wait_for_end(int fd, unsigned seconds, char *text)
{
	int64_t end = milliseconds_now() + (int64_t)seconds * 1000, left;
	size_t length = 0;
	char rest[256];

	while ((left = end - milliseconds_now()) > 0 && !interrupted()) {
		struct pollfd waiting = {.fd = fd, .events = POLLIN};
		bool is_kept = length < MESSAGE_MAX;
		ssize_t got;

		if (poll(&waiting, 1, left > 1000 ? 1000 : (int)left) <= 0)
			continue;
		got = is_kept ? read(fd, text + length, MESSAGE_MAX - length)
		              : read(fd, rest, sizeof(rest));
		if (got == 0 || (got < 0 && errno != EINTR))
			return true;
		length += is_kept && got > 0 ? (size_t)got : 0;
	}
	return false;
}

static void watch_child(struct probe *probe, pid_t child, int fd)
{
	unsigned seconds = probe->options->timeout ? probe->options->timeout : TIMEOUT;
	bool ended = wait_for_end(fd, seconds, probe->reason);
	int status = 0, how;

	if (!ended)
		kill(-child, SIGKILL);
	TEMP_FAILURE_RETRY(waitpid(child, &status, 0));
	kill(-child, SIGKILL); /* remaining descendants */
	how = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	probe->is_loaded = ended && how == CHILD_LOADED;
	probe->is_harmful = !ended || (how != CHILD_LOADED && how != CHILD_FAILED);
	probe->outcome = !ended                ? "hung"
	                 : how == CHILD_LOADED ? "loaded"
	                 : how == CHILD_FAILED ? "failed"
	                                       : "crashed";
	if (!ended)
		snprintf(probe->reason, sizeof(probe->reason),
		         "it did not return within %u s when it was probed", seconds);
	else if (probe->is_harmful && WIFEXITED(status))
		snprintf(probe->reason, sizeof(probe->reason),
		         "it ended the process with status %d when it was probed", how);
	else if (probe->is_harmful)
		snprintf(probe->reason, sizeof(probe->reason),
		         "it crashed (signal %d, %s) when it was probed", WTERMSIG(status),
		         strsignal(WTERMSIG(status)));
}

static int run_probe(struct probe *probe, struct error *error)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(error, errno, "cannot start a process");
	fflush(NULL);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		run_child(probe, ends[1]);
	}
	close(ends[1]);
	if (child > 0) {
		setpgid(child, child); /* in both processes: either may run first */
		watch_child(probe, child, ends[0]);
	}
	close(ends[0]);
	if (child < 0)
		return error_errno(error, errno, "cannot start a process");
	return interrupted() ? error_set(error, ERROR_IO, "interrupted") : 0;
}

/* --- the report --- */

static const struct column columns[] = {
        {"group", "GROUP", STYLE_PLAIN, FIELD(GROUP)},
        {"name", "NAME", STYLE_NAME, FIELD(NAME)},
        {"distribution", "DISTRIBUTION", STYLE_PLAIN, FIELD(DISTRIBUTION)},
        {"version", "VERSION", STYLE_PLAIN, FIELD(VERSION)},
        {"object", "OBJECT", STYLE_PLAIN, TARGET(OBJECT)},
        COLUMN("outcome", "OUTCOME", STYLE_PLAIN),
        COLUMN("reason", "REASON", STYLE_PLAIN),
};

static int report(const struct probe *probe, struct error *error)
{
	struct output output = OUTPUT_BEGIN(columns, probe->options->json);

	entry_put(&output, probe->entry_point, probe->interpreter ? NULL : probe->target);
	output_string(&output, probe->outcome);
	output_string(&output, probe->reason[0] ? probe->reason : NULL);
	return output_end(&output, error);
}

static int set_aside(const struct probe *probe, struct error *error)
{
	CLEANUP(cleanup_free) char *directory = NULL;
	CLEANUP(cleanup_free) char *id = NULL;
	const char *object = probe->interpreter ? NULL : entrydb_target_object(probe->target);
	int code;

	if (!probe->is_harmful || !object)
		return 0;
	if (layout_user_state(LAYOUT_QUARANTINE, &directory) < 0)
		return error_nomem(error);
	if (!directory)
		return 0;
	code = object_id(object, &id, error);
	return code < 0 ? code : quarantine_add(directory, id, object, probe->reason, error);
}

/* --- the command --- */

static int probe_one(const struct options *options, entrydb *db,
                     const entrydb_entry_point *entry_point)
{
	CLEANUP(probe_free)
	struct probe probe = {.options = options, .db = db, .entry_point = entry_point};
	struct error error = {0};
	int code = find_target(db, entry_point, &probe.target, &error);
	bool has_symbol = probe.target && entrydb_target_symbol(probe.target);

	/* Without a symbol in a shared object, Python imports it. */
	if (code == 0 && !has_symbol && entrydb_entry_point_module(entry_point))
		code = interpreter_find(db, entry_point, &probe.interpreter, &error);
	if (code == 0)
		code = run_probe(&probe, &error);
	if (code == 0)
		code = report(&probe, &error);
	if (code == 0)
		code = set_aside(&probe, &error);
	if (code < 0)
		return fail(&error);
	return probe.is_loaded ? STATUS_DONE : STATUS_COULD_NOT;
}

int command_probe(const struct options *options, struct error *error)
{
	const char *group = options->arguments[0], *name = options->arguments[1];
	CLEANUP(question_free) struct question found = {0};
	int worst = STATUS_DONE;
	int code;

	catch_signals(true);
	signal(SIGCHLD, SIG_DFL); /* else how the child ended is lost, if the caller ignores it */
	code = select_by(options, entrydb_select, group, name, &found, error);
	for (size_t i = 0; code == 0 && i < entrydb_set_count(found.set); i++) {
		int one = probe_one(options, found.db, entrydb_set_get(found.set, i));

		worst = one > worst ? one : worst;
	}
	if (code == 0 && entrydb_set_count(found.set) == 0)
		return say_not_found(options, found.db, group, name);
	return code < 0 ? code : worst;
}
