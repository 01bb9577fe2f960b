/*
 * Names the command that a hook runs for. No package manager tells its hooks what it was
 * asked to do, so the ancestors of this process are looked at.
 */
#include "indexer/caller.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/slice.h"
#include "db/base/text.h"

#define COMMAND_LINE_READ (64 * 1024) /* bytes of /proc/PID/cmdline that are looked at */
#define ANCESTORS_MAX     64          /* processes */
#define NAME_MAX_SHOWN    64          /* bytes of a program's or a package's name */

/* --- which words are harmless --- */

static const char *const shells[] = {"ash", "bash", "dash", "fish", "ksh", "sh", "zsh", NULL};
static const char *const interpreters[] = {"ash",  "bash", "dash", "ksh",    "perl",
                                           "pypy", "ruby", "sh",   "python", NULL};
static const char *const verbs[] = {
        "add",         "autoremove", "build",   "configure",    "del",       "develop",
        "distupgrade", "downgrade",  "erase",   "full-upgrade", "i",         "in",
        "install",     "lock",       "pip",     "purge",        "reinstall", "remove",
        "sync",        "uninstall",  "unpack",  "up",           "update",    "upgrade",
        "swap",        "tool",       "upgrade", "dist-upgrade", NULL,
};
/* Options without an argument: a package may follow them. */
static const char *const flags[] = {
        "-U",         "-e",       "-f",        "-q",     "-v",          "-vv",        "-y",
        "--no-deps",  "--quiet",  "--upgrade", "--user", "--assumeyes", "--yes",      "--verbose",
        "--no-index", "--system", "--pre",     "--dev",  "--noconfirm", "--editable", NULL,
};
/* Of these programs an option is the verb: dpkg -i, rpm -Uvh, pacman -Syu. */
static const char *const by_option[] = {"dpkg", "pacman", "rpm", NULL};

static bool is_among(struct slice word, const char *const *list)
{
	for (; *list; list++)
		if (slice_equal(word, slice_of(*list)))
			return true;
	return false;
}

/* Letters, digits and @others alone; nothing that could be an address, or a secret in one. */
static bool is_plain(struct slice word, const char *others)
{
	for (size_t i = 0; i < word.len; i++) {
		char c = word.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      strchr(others, c)))
			return false;
	}
	return word.len > 0 && word.len <= NAME_MAX_SHOWN;
}

static struct slice base_name(struct slice path)
{
	const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;

	return slash ? slice_from(path, (size_t)(slash - path.ptr) + 1) : path;
}

/* "pip" of /usr/bin/pip3.11 and pip.pyz, "python" of python3, "dnf" of dnf-3. */
static struct slice program_name(const char *path)
{
	struct slice name = base_name(slice_of(path));

	if (slice_starts(name, SLICE("-"))) /* a login shell */
		name = slice_from(name, 1);
	if (slice_ends(name, SLICE(".pyz")))
		name.len -= 4;
	else if (slice_ends(name, SLICE(".py")))
		name.len -= 3;
	while (name.len > 1 && strchr("0123456789.-", name.ptr[name.len - 1]))
		name.len--;
	return name;
}

/* --- a command line --- */

/* The words of a process; they lie one behind the other, as /proc has them. */
struct words {
	const char *at, *end;
};

static const char *next_word(struct words *words)
{
	const char *word = words->at;

	if (word >= words->end)
		return NULL;
	words->at += strlen(word) + 1;
	return word;
}

/* The package of a script called __main__.py is the directory that it lies in. */
static struct slice script_name(const char *path)
{
	static const char main_file[] = "/__main__.py";
	struct slice whole = slice_of(path);

	if (!slice_ends(whole, slice_of(main_file)))
		return program_name(path);
	return base_name(slice_first(whole, whole.len - sizeof(main_file) + 1));
}

/* What an interpreter runs: the module of -m, or the script; null for -c and the like. */
static struct slice interpreted(struct words *words)
{
	const char *word;

	while ((word = next_word(words)) && word[0] == '-') {
		char last = word[strlen(word) - 1];

		if (word[1] == '-')
			continue;
		if (last == 'c')
			return (struct slice){0};
		if (last != 'm' && last != 'W' && last != 'X')
			continue;
		word = next_word(words); /* the option's argument */
		if (last == 'm' || !word)
			return word ? program_name(word) : (struct slice){0};
	}
	return word ? script_name(word) : (struct slice){0};
}

static struct slice take_program(struct words *words)
{
	const char *first = next_word(words);
	struct slice name = first ? program_name(first) : (struct slice){0};
	struct slice script;

	if (!first || !is_among(name, interpreters))
		return name;
	script = interpreted(words);
	return slice_is_null(script) ? name : script;
}

struct command {
	struct slice program, verb;
	struct words rest; /* behind the verb */
};

static struct command read_command(const char *text, size_t len)
{
	struct command command = {.rest = {text, text + len}};
	struct words words;
	const char *word;
	bool has_options;

	command.program = take_program(&command.rest);
	has_options = is_among(command.program, by_option);
	words = command.rest;
	while (slice_is_null(command.verb) && (word = next_word(&words))) {
		struct slice each = slice_of(word);

		if (is_among(each, verbs) ||
		    (has_options && word[0] == '-' && is_plain(each, "-"))) {
			command.verb = each;
			command.rest = words;
		}
	}
	return command;
}

/* name, name==1.0, name[extra], or the file that holds the package; null: none of these. */
static struct slice package_name(const char *word)
{
	struct slice whole = slice_of(word), name = base_name(whole);

	if (memchr(whole.ptr, ':', whole.len) || memchr(whole.ptr, '@', whole.len) ||
	    !is_plain(name, "._+-=<>!~[],"))
		return (struct slice){0};
	return name;
}

static void put_packages(FILE *stream, struct words words)
{
	bool may_be_argument = false; /* of the option before */
	const char *word;

	while ((word = next_word(&words))) {
		struct slice name = package_name(word);

		if (word[0] == '-') {
			may_be_argument = !is_among(slice_of(word), flags) && !strchr(word, '=');
			continue;
		}
		if (!may_be_argument && !slice_is_null(name))
			fprintf(stream, " %.*s", (int)name.len, name.ptr);
		may_be_argument = false;
	}
}

char *caller_words(const char *text, size_t len)
{
	struct command command = read_command(text, len);
	char *out = NULL;
	size_t size;
	FILE *stream = open_memstream(&out, &size);

	if (!stream)
		return NULL;
	if (is_plain(command.program, "._+-"))
		fprintf(stream, "%.*s", (int)command.program.len, command.program.ptr);
	else if (command.program.len > 0)
		fputc('?', stream);
	if (!slice_is_null(command.verb)) {
		fprintf(stream, " %.*s", (int)command.verb.len, command.verb.ptr);
		put_packages(stream, command.rest);
	}
	return text_close(stream, &out) ? out : NULL;
}

/* --- the ancestors --- */

struct process {
	char *words;
	size_t len;
	uid_t uid;
	pid_t parent;
};

static void cleanup_process(struct process *process)
{
	free(process->words);
}

/* A file of /proc, with a NUL behind it; NULL if it cannot be read. malloc'd. */
static char *read_proc(pid_t pid, const char *file, size_t *len, uid_t *uid)
{
	CLEANUP(cleanup_free) char *text = calloc(1, COMMAND_LINE_READ + 1);
	CLEANUP(cleanup_close) int fd = -1;
	struct stat status;
	char path[64];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	*len = 0;
	if (!text || fd < 0 || fstat(fd, &status) != 0)
		return NULL;
	*uid = status.st_uid;
	while (*len < COMMAND_LINE_READ &&
	       (got = read(fd, text + *len, COMMAND_LINE_READ - *len)) > 0)
		*len += (size_t)got;
	return take(text);
}

/* In stat the parent follows the program's name, which may hold anything, and the state. */
static bool look_at(pid_t pid, struct process *out)
{
	size_t len;
	CLEANUP(cleanup_free) char *text = read_proc(pid, "stat", &len, &out->uid);
	const char *behind = text ? strrchr(text, ')') : NULL;
	long parent;

	if (!behind || sscanf(behind + 1, " %*c %ld", &parent) != 1)
		return false;
	out->parent = (pid_t)parent;
	out->words = read_proc(pid, "cmdline", &out->len, &out->uid);
	return out->words != NULL;
}

static bool is_shell(const struct process *process)
{
	return process->len == 0 || is_among(program_name(process->words), shells);
}

char *caller_find(void)
{
	CLEANUP(cleanup_process) struct process first = {0}, above = {0};
	pid_t pid = getppid();

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++, pid = first.parent) {
		free(take(first.words));
		if (!look_at(pid, &first))
			return NULL;
		if (!is_shell(&first))
			break;
	}
	if (!first.words || is_shell(&first))
		return NULL;
	if (first.parent > 1 && look_at(first.parent, &above) && !is_shell(&above) &&
	    above.uid == first.uid && !slice_is_null(read_command(above.words, above.len).verb))
		return caller_words(above.words, above.len);
	return caller_words(first.words, first.len);
}
