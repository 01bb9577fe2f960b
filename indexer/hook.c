/*
 * Keeps a hook from disturbing the package manager that calls it, and determines the caller's
 * command. Package managers do not pass their command line to hooks, so it is read from the
 * ancestors of this process.
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
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/text.h"
#include "db/base/unicode.h"
#include "indexer/command.h"

#define HOOK_NAME_MAX      32          /* bytes */
#define HOOK_COMMAND_MAX   300         /* bytes of the recorded command */
#define HOOK_INPUT_TIMEOUT 10000       /* milliseconds of waiting for the caller's input */
#define DRAIN_CHUNK        (64 * 1024) /* bytes */
#define COMMAND_LINE_READ  (64 * 1024) /* bytes of /proc/PID/cmdline that are read */
#define ANCESTORS_MAX      64          /* processes */
#define NAME_MAX_SHOWN     64          /* bytes of a program's or a package's name */

/* --- the command line --- */

const char *hook_asked(int argc, char *const *argv)
{
	static const char option[] = "--hook";

	/* What follows "run" belongs to the script. */
	for (int i = 1; i < argc && !text_has_word("-- run", slice_of(argv[i])); i++) {
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
 * Callers that send nothing. Standard input is then their own caller's, such as the rest of a
 * script piped into a shell, and must not be read.
 */
static const char silent[] = "dpkg pip uv conda mamba poetry pdm pixi systemd spack nix";

/* Only a pipe can break; a file's offset may be shared, and a terminal has no end. */
static bool is_pipe(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* Read to the end, with a time limit: another process may keep the pipe open. */
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
	if (!text_has_word(silent, slice_of(name)) && is_pipe(STDIN_FILENO))
		drain(STDIN_FILENO);
}

/* --- harmless words --- */

/* Shells, and the wrapper of dpkg's hook. */
static const char shells[] = "ash bash dash fish ksh sh timeout zsh";
/*
 * Package managers. The arguments of other programs (make install KEY=secret, a vendor's setup) are
 * unknown, as are options with two arguments (nix).
 */
static const char managers[] =
        "apk apt apt-get aptitude conda dnf dpkg easy_install hatch mamba microdnf micromamba nala "
        "pacman paru pdm pip pipenv pipx pixi poetry rpm rye spack unattended-upgrade uv yay yum "
        "zypper";
static const char interpreters[] = "perl pypy python ruby";
static const char verbs[] = "add autoremove build configure del develop dist-upgrade distupgrade "
                            "downgrade erase full-upgrade i in install lock purge reinstall "
                            "remove swap sync uninstall unpack up update upgrade";
static const char families[] = "pip tool"; /* before a verb: uv pip install */
/* Options that take no argument in any of them: a package may follow. */
static const char flags[] =
        "-U -e -q -qq -qy -v -vv -y --allow-downgrades --assume-yes --assumeyes --dev "
        "--disable-pip-version-check --editable --force --no-cache-dir --no-deps --no-index "
        "--no-input --no-install-recommends --noconfirm --pre --quiet --system --upgrade --user "
        "--verbose --yes";
/* Programs whose verb is an option: dpkg -i, rpm -Uvh, pacman -Syu. */
static const char by_option[] = "dpkg pacman rpm";
static const char by_option_verbs[] = "FPRSUeir"; /* their first letters */

/* The base name of @path, or null if any part of @path may belong to an address or a secret. */
static struct slice plain_name(struct slice path)
{
	struct slice name = path_base(path);

	return text_is_plain(path, "._+-/") && name.len <= NAME_MAX_SHOWN ? name
	                                                                  : (struct slice){0};
}

/*
 * "pip" for /usr/bin/pip3.11, pip.pyz and pip/__main__.py, "python" for python3, "dnf" for dnf-3,
 * "bash" for a login shell's -bash; null if it is no name of a program.
 */
static struct slice program_name(const char *path)
{
	static const struct slice suffixes[] = {{"/__main__.py", 12}, {".pyz", 4}, {".py", 3}};
	struct slice name = slice_of(path);

	if (slice_is_null(plain_name(name)))
		return (struct slice){0};
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (slice_ends(name, suffixes[i]))
			name.len -= suffixes[i].len;
	name = path_base(name);
	if (slice_starts(name, SLICE("-")))
		name = slice_from(name, 1);
	while (name.len > 1 && strchr("0123456789.-", name.ptr[name.len - 1]))
		name.len--;
	return name;
}

/* --- a command line --- */

/* The words of a command line, each with a NUL, as in /proc. */
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

/*
 * For an interpreter, the program that it runs, if known: the module of -m, or the script. Options
 * with arguments are known for Python only.
 */
static struct slice take_program(struct words *words)
{
	const char *word = next_word(words);
	struct slice name = word ? program_name(word) : SLICE("");
	bool is_python = text_has_word("pypy python", name);

	word = NULL;
	while (text_has_word(interpreters, name) && (word = next_word(words)) && word[0] == '-') {
		const char *option = word + strcspn(word, "cmWX");

		if (is_python && word[1] && word[1] != '-' && !*option)
			continue;
		/* The program is the argument of -c or -e, or is read from a pipe. */
		if (!is_python || word[1] == '-' || !*option || *option == 'c')
			return name;
		word = option[1] ? option + 1 : next_word(words); /* the option's argument */
		if (*option == 'm' || !word)
			break;
	}
	return word ? program_name(word) : name;
}

/* Is @word the verb? In some programs it is an option. */
static bool is_verb(struct slice program, struct slice word)
{
	if (text_has_word(verbs, word))
		return true;
	if (!text_has_word(by_option, program))
		return false;
	if (slice_starts(word, SLICE("--")))
		return text_has_word(verbs, slice_from(word, 2));
	return word.len > 1 && word.ptr[0] == '-' && strchr(by_option_verbs, word.ptr[1]) &&
	       text_is_plain(word, "-");
}

/*
 * Write the verb and after it each name, or base name of a package file, up to what may be a
 * version (a==1.0, a[b]) or a setting (spack install a cflags=-DKEY=secret). The verb is the first
 * word that is neither an option nor an option's argument; nothing is known about the words after
 * an unknown verb (run, config), or one that may be an argument (-C build).
 */
static void put_words(FILE *stream, struct slice program, struct words words)
{
	bool has_verb = false, is_doubtful = false; /* it may be an option's argument */
	bool may_be_argument = false;               /* of the previous option */
	const char *word;

	while ((word = next_word(&words))) {
		struct slice name =
		        plain_name(slice_first(slice_of(word), strcspn(word, "=<>!~[")));
		bool is_option = word[0] == '-', was_option = may_be_argument;

		may_be_argument =
		        is_option && !text_has_word(flags, slice_of(word)) && !strchr(word, '=');
		if (!has_verb && is_verb(program, slice_of(word)))
			has_verb = true, may_be_argument = false,
			is_doubtful = was_option && !is_option;
		else if (is_option || was_option)
			continue;
		else if (is_doubtful || (!has_verb && !text_has_word(families, slice_of(word))))
			return;
		if (!slice_is_null(name))
			fprintf(stream, " %.*s", (int)name.len, name.ptr);
	}
}

char *hook_caller_words(const char *text, size_t len)
{
	struct words words = {text, text + len};
	struct slice program = take_program(&words);
	char *out = NULL;
	size_t size;
	FILE *stream = open_memstream(&out, &size);

	if (!stream)
		return NULL;
	if (slice_is_null(program))
		fputs(len > 0 && *text ? "?" : "", stream);
	else
		fprintf(stream, "%.*s", (int)program.len, program.ptr);
	if (text_has_word(managers, program))
		put_words(stream, program, words);
	return text_close(stream, &out) ? out : NULL;
}

/* --- the ancestors --- */

struct process {
	char *words;
	size_t len;
	pid_t parent;
};

static void cleanup_process(struct process *process)
{
	free(process->words);
}

/*
 * In /proc/PID/stat the parent's id follows the program name, which may contain anything, and the
 * state. Reading the words accesses the memory of the process, in which another user could make us
 * wait: so only our own processes are read. The directory shows whose it is; the files in it are
 * root's if the process wants that (PR_SET_DUMPABLE).
 */
static bool look_at(pid_t pid, struct process *out)
{
	CLEANUP(cleanup_free) char *text = NULL;
	const char *behind = NULL;
	struct stat status;
	char path[64];
	long parent;

	snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
	if (stat(path, &status) != 0 || status.st_uid != geteuid())
		return false;
	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (small_file_read(path, COMMAND_LINE_READ, &text, &out->len, NULL) > 0)
		behind = strrchr(text, ')');
	if (!behind || sscanf(behind + 1, " %*c %ld", &parent) != 1)
		return false;
	out->parent = (pid_t)parent;
	snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
	return small_file_read(path, COMMAND_LINE_READ, &out->words, &out->len, NULL) > 0;
}

static bool is_shell(const struct process *process)
{
	return process->len == 0 || text_has_word(shells, program_name(process->words));
}

/*
 * The command line of the first ancestor that is no shell, or of its parent if that is a package
 * manager (apt-get, which runs dpkg). NULL if there is none, or out of memory.
 */
static char *find_caller(void)
{
	CLEANUP(cleanup_process) struct process first = {0}, above = {0};
	CLEANUP(cleanup_free) char *words = NULL;
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
	if (first.parent > 1 && look_at(first.parent, &above) && !is_shell(&above))
		words = hook_caller_words(above.words, above.len);
	return words && strchr(words, ' ') ? take(words)
	                                   : hook_caller_words(first.words, first.len);
}

/* --- for the audit trail --- */

/* Truncated at a character boundary. */
char *hook_command(const char *name)
{
	CLEANUP(cleanup_free) char *caller = find_caller();
	struct slice words = slice_of(caller);
	bool is_long = words.len > HOOK_COMMAND_MAX;

	if (!caller)
		return strdup(name);
	return text_format("%s: %.*s%s", name,
	                   (int)(is_long ? utf8_cut(words, HOOK_COMMAND_MAX) : words.len), caller,
	                   is_long ? "..." : "");
}
