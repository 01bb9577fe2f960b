/*
 * hook.c - see hook.h. The manager is looked for among the ancestors of this
 * process, since no manager tells its hooks what it was asked to do: the topmost one
 * that is a package manager is what the user, or a script, has run (apt-get rather
 * than the dpkg that it runs).
 */
#include "hook.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "command.h"

#define HOOK_NAME_MAX      32          /* bytes */
#define HOOK_COMMAND_MAX   300         /* bytes of the manager's command line that are kept */
#define HOOK_INPUT_TIMEOUT 10000       /* milliseconds; how long the caller may take to send */
#define DRAIN_CHUNK        (64 * 1024) /* bytes */
#define COMMAND_LINE_READ  (64 * 1024) /* bytes of /proc/PID/cmdline that are looked at */
#define ANCESTORS_MAX      64          /* processes */

/* --- the command line --- */

const char *hook_asked(int argc, char *const *argv)
{
	static const char option[] = "--hook";

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strncmp(argv[i], option, sizeof(option) - 1) != 0)
			continue;
		if (argv[i][sizeof(option) - 1] == '=')
			return argv[i] + sizeof(option);
		if (argv[i][sizeof(option) - 1] == '\0')
			return i + 1 < argc ? argv[i + 1] : "";
	}
	return NULL;
}

bool hook_name_is_valid(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-')
			return false;
	return len > 0 && len <= HOOK_NAME_MAX && name[0] != '-';
}

/* --- the caller's input --- */

/*
 * These send nothing. What they leave on standard input is their own caller's, such
 * as the rest of a script that is being piped into a shell: not ours to read.
 */
static bool sends_nothing(const char *name)
{
	static const char *const names[] = {"dpkg", "pip",  "uv",      "conda", "mamba", "poetry",
	                                    "pdm",  "pixi", "systemd", "spack", "nix"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Only a pipe breaks; a file's place may be shared, and a terminal has no end. */
static bool is_pipe(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

static long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* To the end of the file, or as long as is reasonable: somebody may hold the pipe open. */
static void drain(int fd)
{
	static char buffer[DRAIN_CHUNK];
	long end = milliseconds() + HOOK_INPUT_TIMEOUT;
	struct pollfd input = {.fd = fd, .events = POLLIN};
	ssize_t got = 1;

	for (long left; got > 0 && (left = end - milliseconds()) > 0 && !interrupted();)
		if (poll(&input, 1, (int)left) > 0)
			got = read(fd, buffer, sizeof(buffer));
}

void hook_begin(const char *name)
{
	catch_signals(true);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file too large is an error like a full disk */
	if (!sends_nothing(name) && is_pipe(STDIN_FILENO))
		drain(STDIN_FILENO);
}

/* --- which programs are package managers --- */

static const char *const managers[] = {
        "apk",
        "apt",
        "apt-get",
        "aptd",
        "aptitude",
        "conda",
        "conda-env",
        "dnf",
        "dpkg",
        "easy_install",
        "emerge",
        "hatch",
        "mamba",
        "microdnf",
        "micromamba",
        "nala",
        "pacman",
        "packagekitd",
        "pamac",
        "paru",
        "pdm",
        "pip",
        "pipenv",
        "pipx",
        "pixi",
        "poetry",
        "rpm",
        "rpm-ostree",
        "rye",
        "spack",
        "synaptic",
        "tdnf",
        "transactional-update",
        "unattended-upgrade",
        "unattended-upgrades",
        "uv",
        "uvx",
        "xbps-install",
        "xbps-remove",
        "yay",
        "yum",
        "zypper",
};

/* What runs a script that may be a manager. */
static const char *const interpreters[] = {"ash",  "bash", "dash", "ksh",    "perl",
                                           "pypy", "ruby", "sh",   "python", "zsh"};

static bool is_among(struct slice name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (slice_equal(name, slice_of(names[i])))
			return true;
	return false;
}

#define IS_AMONG(name, names) is_among(name, names, sizeof(names) / sizeof(*(names)))

/* "pip" of /usr/bin/pip3.11 and pip.pyz, "python" of python3, "dnf" of dnf-3. */
static struct slice program_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct slice name = slice_of(slash ? slash + 1 : path);

	if (slice_ends(name, SLICE(".pyz")))
		name.len -= 4;
	else if (slice_ends(name, SLICE(".py")))
		name.len -= 3;
	while (name.len > 1 && strchr("0123456789.-", name.ptr[name.len - 1]))
		name.len--;
	return name;
}

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
	CLEANUP(cleanup_free) char *package = NULL;
	struct slice name;

	if (!slice_ends(whole, slice_of(main_file)))
		return program_name(path);
	package = strndup(path, whole.len - sizeof(main_file) + 1);
	if (!package)
		return (struct slice){0};
	name = program_name(package);
	return (struct slice){path + (name.ptr - package), name.len};
}

/* What an interpreter runs: the module of -m, or the script; null for -c and the like. */
static struct slice interpreted(struct words words)
{
	const char *word;

	while ((word = next_word(&words)) && word[0] == '-') {
		char last = word[strlen(word) - 1];

		if (word[1] == '-')
			continue;
		if (last == 'c')
			return (struct slice){0};
		if (last != 'm' && last != 'W' && last != 'X')
			continue;
		word = next_word(&words); /* the option's argument */
		if (last == 'm' || !word)
			return word ? program_name(word) : (struct slice){0};
	}
	return word ? script_name(word) : (struct slice){0};
}

static bool is_manager(struct words words)
{
	const char *first = next_word(&words);
	struct slice name;

	if (!first)
		return false;
	name = program_name(first[0] == '-' ? first + 1 : first);
	if (IS_AMONG(name, interpreters))
		name = interpreted(words);
	return !slice_is_null(name) && IS_AMONG(name, managers);
}

/* --- the ancestors --- */

/* A file of /proc, with a NUL behind it; NULL if it cannot be read. malloc'd. */
static char *read_proc(pid_t pid, const char *file, size_t *len)
{
	CLEANUP(cleanup_free) char *text = calloc(1, COMMAND_LINE_READ + 1);
	CLEANUP(cleanup_close) int fd = -1;
	char path[64];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	*len = 0;
	while (text && fd >= 0 && *len < COMMAND_LINE_READ &&
	       (got = read(fd, text + *len, COMMAND_LINE_READ - *len)) > 0)
		*len += (size_t)got;
	return fd >= 0 ? take(text) : NULL;
}

/* In stat it follows the program's name, which may hold anything, and the state. */
static pid_t parent_of(pid_t pid)
{
	size_t len;
	CLEANUP(cleanup_free) char *text = read_proc(pid, "stat", &len);
	const char *behind = text ? strrchr(text, ')') : NULL;
	long parent;

	return behind && sscanf(behind + 1, " %*c %ld", &parent) == 1 ? (pid_t)parent : 0;
}

/* The command line of the topmost manager; its words end in NULs. malloc'd, or NULL. */
static char *find_manager(size_t *len)
{
	char *found = NULL;
	pid_t pid = getppid();

	for (int i = 0; i < ANCESTORS_MAX && pid > 0; i++, pid = parent_of(pid)) {
		size_t length;
		CLEANUP(cleanup_free) char *text = read_proc(pid, "cmdline", &length);

		if (!text || !is_manager((struct words){text, text + length}))
			continue;
		free(found);
		found = take(text);
		*len = length;
	}
	return found;
}

/* --- what is written of them --- */

/* The audit trail can be read by all: the user and password of an address stay out of it. */
static void put_word(FILE *stream, const char *word)
{
	const char *host = strstr(word, "://"), *at = NULL;

	if (host) {
		host += 3;
		at = memrchr(host, '@', strcspn(host, "/?#"));
	}
	if (at)
		fprintf(stream, " %.*s***%s", (int)(host - word), word, at);
	else
		fprintf(stream, " %s", word);
}

/* No longer than is allowed, and not cut within a character of UTF-8. */
static void shorten(char *text, size_t limit)
{
	size_t len = limit;

	if (strlen(text) <= limit)
		return;
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	memcpy(text + len, "...", 4);
}

char *hook_command(const char *name)
{
	size_t length, size;
	CLEANUP(cleanup_free) char *manager = find_manager(&length);
	char *text = NULL;
	FILE *stream = manager ? open_memstream(&text, &size) : NULL;

	if (!stream)
		return strdup(name);
	fprintf(stream, "%s:", name);
	for (struct words words = {manager, manager + length}; words.at < words.end;)
		put_word(stream, next_word(&words));
	fputs("   ", stream); /* room to shorten in */
	if (fclose(stream) != 0) {
		free(text);
		return strdup(name);
	}
	text[size - 3] = '\0';
	shorten(text, strlen(name) + 2 + HOOK_COMMAND_MAX);
	return text;
}
