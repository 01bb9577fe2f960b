/*
 * Names the command that a hook runs for. No package manager tells its hooks what it was
 * asked to do, so the ancestors of this process are looked at.
 */
#include "indexer/caller.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/slice.h"
#include "db/base/small_file.h"
#include "db/base/text.h"

#define COMMAND_LINE_READ (64 * 1024) /* bytes of /proc/PID/cmdline that are looked at */
#define ANCESTORS_MAX     64          /* processes */
#define NAME_MAX_SHOWN    64          /* bytes of a program's or a package's name */

/* --- which words are harmless --- */

/* Shells, and what dpkg's hook runs entrydb by. */
static const char shells[] = "ash bash dash fish ksh sh timeout zsh";
static const char interpreters[] = "ash bash dash ksh perl pypy ruby sh python";
static const char verbs[] = "add autoremove build configure del develop dist-upgrade distupgrade "
                            "downgrade erase full-upgrade i in install lock pip purge reinstall "
                            "remove swap sync tool uninstall unpack up update upgrade";
/* Options without an argument: a package may follow them. */
static const char flags[] = "-U -e -f -q -v -vv -y --assumeyes --dev --editable --force --no-deps "
                            "--no-index --noconfirm --pre --quiet --system --upgrade --user "
                            "--verbose --yes";
/* Of these programs an option is the verb: dpkg -i, rpm -Uvh, pacman -Syu. */
static const char by_option[] = "dpkg pacman rpm";

/* Nothing that could be an address, or a secret in one. */
static bool is_plain(struct slice word, const char *others)
{
	return text_is_plain(word, others) && word.len <= NAME_MAX_SHOWN;
}

static struct slice base_name(struct slice path)
{
	const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;

	return slash ? slice_from(path, (size_t)(slash - path.ptr) + 1) : path;
}

/*
 * "pip" of /usr/bin/pip3.11, pip.pyz and pip/__main__.py, "python" of python3, "dnf" of dnf-3,
 * "bash" of a login shell's -bash.
 */
static struct slice program_name(const char *path)
{
	static const struct slice suffixes[] = {
	        {"/__main__.py", 12},
	        {".pyz", 4},
	        {".py", 3},
	};
	struct slice name = slice_of(path);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (slice_ends(name, suffixes[i]))
			name.len -= suffixes[i].len;
	name = base_name(name);
	if (slice_starts(name, SLICE("-")))
		name = slice_from(name, 1);
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

/* Of an interpreter what it runs, if that can be told: the module of -m, or the script. */
static struct slice take_program(struct words *words)
{
	struct slice name = program_name(next_word(words));
	const char *word = NULL;

	while (text_has_word(interpreters, name) && (word = next_word(words)) && word[0] == '-') {
		char last = word[strlen(word) - 1];

		if (word[1] == '-')
			continue;
		if (last == 'c')
			return name;
		if (last != 'm' && last != 'W' && last != 'X')
			continue;
		word = next_word(words); /* the option's argument */
		if (last == 'm' || !word)
			break;
	}
	return word ? program_name(word) : name;
}

/* Is it what the program is to do? Of some it is an option. */
static bool is_verb(struct slice program, struct slice word)
{
	if (text_has_word(verbs, word))
		return true;
	if (!text_has_word(by_option, program))
		return false;
	return slice_starts(word, SLICE("--"))
	               ? text_has_word(verbs, slice_from(word, 2))
	               : slice_starts(word, SLICE("-")) && is_plain(word, "-");
}

/* Behind the verb each name, name==1.0, name[extra], or name of the file that holds the package. */
static void put_words(FILE *stream, struct slice program, struct words words)
{
	bool has_verb = false, may_be_argument = false; /* of the option before */
	const char *word;

	while ((word = next_word(&words))) {
		struct slice all = slice_of(word), name = base_name(all);
		bool is_option = word[0] == '-';

		if (!has_verb && is_verb(program, all)) {
			has_verb = true;
			fprintf(stream, " %s", word);
		} else if (has_verb) {
			if (!is_option && !may_be_argument && !strpbrk(word, ":@") &&
			    is_plain(name, "._+-=<>!~[],"))
				fprintf(stream, " %.*s", (int)name.len, name.ptr);
			may_be_argument =
			        is_option && !text_has_word(flags, all) && !strchr(word, '=');
		}
	}
}

char *caller_words(const char *text, size_t len)
{
	struct words words = {text, text + len};
	struct slice program = take_program(&words);
	char *out = NULL;
	size_t size;
	FILE *stream = open_memstream(&out, &size);

	if (!stream)
		return NULL;
	if (is_plain(program, "._+-"))
		fprintf(stream, "%.*s", (int)program.len, program.ptr);
	else if (program.len > 0)
		fputc('?', stream);
	put_words(stream, program, words);
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

/* In stat the parent follows the program's name, which may hold anything, and the state. */
static bool look_at(pid_t pid, struct process *out)
{
	CLEANUP(cleanup_free) char *text = NULL;
	const char *behind = NULL;
	struct stat status;
	char path[64];
	long parent;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (stat(path, &status) == 0 &&
	    small_file_read(path, COMMAND_LINE_READ, &text, &out->len, NULL) > 0)
		behind = strrchr(text, ')');
	if (!behind || sscanf(behind + 1, " %*c %ld", &parent) != 1)
		return false;
	out->parent = (pid_t)parent;
	out->uid = status.st_uid;
	snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
	return small_file_read(path, COMMAND_LINE_READ, &out->words, &out->len, NULL) > 0;
}

static bool is_shell(const struct process *process)
{
	return process->len == 0 || text_has_word(shells, program_name(process->words));
}

char *caller_find(void)
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
	if (first.parent > 1 && look_at(first.parent, &above) && !is_shell(&above) &&
	    above.uid == first.uid)
		words = caller_words(above.words, above.len);
	return words && strchr(words, ' ') ? take(words) : caller_words(first.words, first.len);
}
