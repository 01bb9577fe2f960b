/*
 * watch.c - keep the databases in step while this runs.
 *
 *     for ever
 *       wait until inotify reports a change, and then until there are no more for a moment
 *       set the watches for what is on the disk now
 *       update, as a hook would
 *
 * This keeps databases warm; it is not relied on: readers notice what it misses. The
 * update checks all distributions, so no event has to be interpreted, and none can be
 * lost: a change before the watches are set is seen by the update; a later one is an
 * event, and causes another update.
 *
 * Watched are the site directories, the metadata directories in them, and the
 * directories above them, in which a site directory may appear or disappear.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/libc.h"
#include "db/base/text.h"
#include "indexer/databases.h"
#include "libquery/layout.h"

#define WATCH_QUIET    500               /* milliseconds without a change, before an update */
#define WATCH_PATIENCE 5000              /* milliseconds of changes without end, before one */
#define WATCH_SETTLE   2500              /* milliseconds after which all is old enough to believe */
#define WATCH_POLL     5000              /* milliseconds between two looks without inotify */
#define WATCH_BACK_OFF 6                 /* times that the wait after a failure is doubled */
#define ABOVE          3                 /* directories above a root that are watched at least */
#define NEVER          INT64_MAX         /* on the clock of milliseconds_now() */
#define EVENTS_READ    ((size_t)1 << 16) /* bytes */

#define COME_OR_GO  (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define ITSELF      (IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB)
#define ABOVE_MASK  (COME_OR_GO | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD)
#define WATCH_GONE  (IN_IGNORED | IN_UNMOUNT | IN_MOVE_SELF | IN_DELETE_SELF)
#define INSIDE_MASK (COME_OR_GO | ITSELF | IN_CLOSE_WRITE | IN_MASK_ADD)

/* Of an inotify watch descriptor. */
struct watched {
	int wd;
	bool inside; /* a root, or in one; else above */
	unsigned round;
};

struct watch {
	const struct options *options;
	int fd;
	struct watched *items; /* by wd */
	size_t count, room;
	unsigned round;    /* of setting watches; what was not met in the last one is let go */
	int lacking;       /* why some watch could not be set in this round, an errno, or 0 */
	bool said_lacking; /* once is enough */
	unsigned failures; /* updates in a row that failed */
	int64_t first;     /* when the oldest change came that no update has seen, or NEVER */
	int64_t due;       /* when to update */
	sigset_t waiting;  /* the signals that are let through while waiting */
};

/* --- the watches --- */

static struct watched *find(const struct watch *watch, int wd)
{
	size_t low = 0, high = watch->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (watch->items[middle].wd < wd)
			low = middle + 1;
		else
			high = middle;
	}
	return watch->items ? watch->items + low : NULL;
}

/* The kernel counts upwards: a new one nearly always comes last. */
static struct watched *insert(struct watch *watch, int wd)
{
	struct watched *at;

	if (!array_grow(&watch->items, watch->count, sizeof(*watch->items), &watch->room))
		return NULL;
	at = find(watch, wd);
	if (at < watch->items + watch->count && at->wd == wd)
		return at;
	memmove(at + 1, at, (size_t)(watch->items + watch->count - at) * sizeof(*at));
	watch->count++;
	*at = (struct watched){.wd = wd};
	return at;
}

/* False where there is nothing at @path, or nothing that an update could read either. */
static bool add_watch(struct watch *watch, const char *path, uint32_t mask)
{
	int wd = watch->fd < 0 ? -1 : inotify_add_watch(watch->fd, path, mask);
	struct watched *item = wd < 0 ? NULL : insert(watch, wd);

	if (!item) {
		if (wd >= 0 || errno == ENOSPC || errno == ENOMEM)
			watch->lacking = errno;
		return access(path, F_OK) == 0;
	}
	item->inside = (item->inside && item->round == watch->round) || mask == INSIDE_MASK;
	item->round = watch->round;
	return true;
}

/* Remove the watches not set again in this round: of what was moved, or is no longer wanted. */
static void let_go(struct watch *watch)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->count; i++)
		if (watch->items[i].round == watch->round)
			watch->items[kept++] = watch->items[i];
		else
			inotify_rm_watch(watch->fd, watch->items[i].wd);
	watch->count = kept;
}

static bool is_metadata(const char *name)
{
	static const char *const endings[] = {".dist-info", ".egg-info", ".egg", "EGG-INFO"};
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t end = strlen(endings[i]);

		if (len >= end && strcasecmp(name + len - end, endings[i]) == 0)
			return true;
	}
	return false;
}

static bool is_egg(const char *name)
{
	size_t len = strlen(name);

	return len >= 4 && strcasecmp(name + len - 4, ".egg") == 0;
}

/* The metadata directories in @path, and those in the eggs in it. Files need no watch. */
static void watch_children(struct watch *watch, const char *path, bool in_egg)
{
	CLEANUP(cleanup_closedir) DIR *directory = opendir(path);

	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		CLEANUP(cleanup_free) char *child = NULL;

		if (!is_metadata(entry->d_name) || entry->d_type == DT_REG)
			continue;
		child = text_format("%s/%s", path, entry->d_name);
		if (child && add_watch(watch, child, INSIDE_MASK) && !in_egg &&
		    is_egg(entry->d_name))
			watch_children(watch, child, true);
	}
}

/* Some levels, and on until there is one that exists: what is gone may come back there. */
static void watch_above(struct watch *watch, const char *path)
{
	CLEANUP(cleanup_free) char *above = strdup(path);
	bool found = false;
	char *slash;

	for (int level = 0; above && (slash = strrchr(above, '/')) && slash != above; level++) {
		if (found && level >= ABOVE)
			break;
		*slash = '\0';
		found |= add_watch(watch, above, ABOVE_MASK);
	}
}

static void watch_root(struct watch *watch, const char *path)
{
	watch_above(watch, path);
	if (add_watch(watch, path, INSIDE_MASK))
		watch_children(watch, path, false);
}

/* Where the first site directory of another Python would appear. */
static void watch_prefixes(struct watch *watch)
{
	static const char *const libraries[] = {"/usr/lib", "/usr/lib64", "/usr/local/lib"};
	const char *sysroot = watch->options->sysroot ? watch->options->sysroot : "";

	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		CLEANUP(cleanup_free)
		char *path = text_format("%s%s/python3", sysroot, libraries[i]);

		if (path)
			watch_above(watch, path);
	}
}

static int set_watches(struct watch *watch, struct error *error)
{
	CLEANUP(databases_free) struct databases databases = {0};
	int code = databases_of_arguments(watch->options, true, &databases, error);

	if (code < 0)
		return code;
	watch->round++;
	watch->lacking = watch->fd < 0 ? watch->lacking : 0;
	for (size_t i = 0; i < databases.count; i++)
		for (size_t j = 0; j < databases.items[i].root_count; j++)
			watch_root(watch, databases.items[i].roots[j].path);
	if (watch->options->argument_count == 0)
		watch_prefixes(watch);
	let_go(watch);
	return 0;
}

/* --- the events --- */

/* Above the roots many files come and go; few of them have to do with packages. */
static bool leads_to_packages(const char *name)
{
	static const char *const beginnings[] = {"lib",           "python", "pypy", "site-packages",
	                                         "dist-packages", ".local", "3."};

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

/* Is @name one of the steps of a path that the caller gave? */
static bool is_on_the_way(const struct options *options, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < options->argument_count; i++)
		for (const char *at = options->arguments[i]; (at = strstr(at, name)); at++)
			if ((at == options->arguments[i] || at[-1] == '/') &&
			    (at[len] == '/' || at[len] == '\0'))
				return true;
	return false;
}

/* The database itself may lie in a site directory, with --db. */
static bool is_own(const struct options *options, const char *name)
{
	const char *slash = options->database ? strrchr(options->database, '/') : NULL;
	const char *file = slash ? slash + 1 : options->database;

	return file && strncmp(name, file, strlen(file)) == 0;
}

static bool matters(const struct watch *watch, const struct inotify_event *event)
{
	const char *name = event->len ? event->name : "";
	const struct watched *item = find(watch, event->wd);

	if (event->mask & IN_Q_OVERFLOW) /* some were lost: everything is checked anyway */
		return true;
	if (!item || item == watch->items + watch->count || item->wd != event->wd)
		return false; /* no longer watched */
	if (event->mask & WATCH_GONE)
		return true;
	if (!item->inside)
		return leads_to_packages(name) || is_on_the_way(watch->options, name);
	return !is_own(watch->options, name);
}

/* An update is due when changes have stopped for a moment, or have gone on for too long. */
static void note_change(struct watch *watch)
{
	int64_t now = milliseconds_now();

	if (watch->first == NEVER)
		watch->first = now;
	watch->due = now + WATCH_QUIET;
	if (watch->due > watch->first + WATCH_PATIENCE)
		watch->due = watch->first + WATCH_PATIENCE;
}

static void read_events(struct watch *watch)
{
	static char buffer[EVENTS_READ] __attribute__((aligned(8)));
	ssize_t got = read(watch->fd, buffer, sizeof(buffer));
	bool changed = false;

	for (ssize_t at = 0; at < got;) {
		const struct inotify_event *event =
		        (const struct inotify_event *)(const void *)(buffer + at);

		changed |= matters(watch, event);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	if (changed)
		note_change(watch);
}

/* --- the work --- */

static void say_lacking(struct watch *watch)
{
	if (watch->lacking && !watch->said_lacking)
		message("cannot watch everything: %s; checking every %d seconds instead "
		        "(see fs.inotify in sysctl)",
		        errno_text(watch->lacking), WATCH_POLL / 1000);
	watch->said_lacking = watch->lacking != 0;
}

static int64_t back_off(const struct watch *watch)
{
	unsigned doubled = watch->failures < WATCH_BACK_OFF ? watch->failures : WATCH_BACK_OFF;

	return (int64_t)WATCH_POLL << doubled;
}

/* Files too new to be settled are settled by another update a little later. */
static int64_t next_update(const struct watch *watch, bool had_changes)
{
	int64_t now = milliseconds_now();

	if (watch->failures > 0 || watch->lacking)
		return now + back_off(watch);
	return had_changes ? now + WATCH_SETTLE : NEVER;
}

static void refresh(struct watch *watch)
{
	struct options how = *watch->options;
	bool had_changes = watch->first != NEVER;
	struct error error = {0};
	enum status status;

	how.hook = how.command = "watch";
	how.quiet = true;
	how.fresh = ENTRYDB_FRESH_EXACT;
	watch->first = NEVER;
	status = set_watches(watch, &error) < 0 ? fail(&error) : STATUS_DONE;
	say_lacking(watch);
	if (status == STATUS_DONE)
		status = command_update(&how);
	watch->failures = status == STATUS_DONE ? 0 : watch->failures + 1;
	watch->due = next_update(watch, had_changes);
}

/* --- the wait --- */

/* Signals are delivered only while waiting, not between interrupted() and the wait. */
static void wait_for_something(struct watch *watch)
{
	struct pollfd events = {.fd = watch->fd, .events = POLLIN};
	int64_t left = watch->due == NEVER ? 0 : watch->due - milliseconds_now();
	struct timespec limit = {.tv_sec = left / 1000, .tv_nsec = (long)(left % 1000 * 1000000)};

	if (left < 0)
		limit = (struct timespec){0};
	if (!interrupted() &&
	    ppoll(&events, 1, watch->due == NEVER ? NULL : &limit, &watch->waiting) > 0)
		read_events(watch);
}

static void watch_until_stopped(struct watch *watch)
{
	sigset_t stops;

	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGHUP);
	while (!interrupted()) {
		if (milliseconds_now() >= watch->due)
			refresh(watch);
		sigprocmask(SIG_BLOCK, &stops, &watch->waiting);
		wait_for_something(watch);
		sigprocmask(SIG_SETMASK, &watch->waiting, NULL);
	}
}

static void watch_end(struct watch *watch)
{
	cleanup_close(&watch->fd);
	free(watch->items);
}

static enum status run(const struct options *options)
{
	CLEANUP(watch_end)
	struct watch watch = {.options = options, .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};

	if (watch.fd < 0)
		watch.lacking = errno;
	signal(SIGPIPE, SIG_IGN);
	watch.first = milliseconds_now();
	refresh(&watch);
	note(options, "watching %zu directories", watch.count);
	watch_until_stopped(&watch);
	return STATUS_DONE;
}

/* Make the paths absolute: the directory they are relative to may be removed and made again. */
enum status command_watch(const struct options *options)
{
	CLEANUP(sites_free) struct sites paths = {0};
	struct options how = *options;

	for (size_t i = 0; i < options->argument_count; i++) {
		CLEANUP(cleanup_free) char *path = layout_absolute(options->arguments[i]);

		if (!path || !sites_add(&paths, path)) {
			message("%s: %s", options->arguments[i], errno_text(errno));
			return STATUS_COULD_NOT;
		}
	}
	how.arguments = (const char **)paths.paths;
	how.argument_count = paths.count;
	return run(&how);
}
