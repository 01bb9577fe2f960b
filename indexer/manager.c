/*
 * manager.c - see manager.h. No manager tells its hooks what it was asked to do, so it
 * is looked for among the ancestors of this process: the topmost one that is a package
 * manager is what the user, or a script, has run (apt-get rather than the dpkg that it
 * runs).
 */
#include "indexer/manager.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/slice.h"

#define COMMAND_LINE_READ (64 * 1024) /* bytes of /proc/PID/cmdline that are looked at */
#define ANCESTORS_MAX     64          /* processes */

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

char *manager_find(size_t *len)
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
