/*
 * watch.c - has one of these dicts changed, without a look into them?
 *
 * To compare all that a metadata module consists of takes microseconds, and whoever walks over
 * all distributions asks as often as there are any. CPython can tell at once: since 3.12 it
 * calls whoever watches a dict; before, each dict had the number of its last change (PEP 509),
 * and numbers only grew. Neither is in the limited API: so both are asked for as they may be
 * there, and where nothing is, or all watchers are taken, dicts cannot be watched.
 *
 * A change is told before it is made. Without Python's lock another thread may look in between;
 * but whoever changes a dict holds the dict's own lock meanwhile. So whoever takes the number first
 * and then compares, with that lock, sees either the change, or next time another number.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libquery/python/native/native.h"

#define WATCHERS_SINCE 12 /* minor versions */
#define NUMBERS_UNTIL  11

#ifdef Py_LIMITED_API
typedef int PyDict_WatchEvent;
typedef int (*PyDict_WatchCallback)(PyDict_WatchEvent event, PyObject *dict, PyObject *key,
                                    PyObject *value);
#endif

extern int PyDict_AddWatcher(PyDict_WatchCallback callback) __attribute__((weak));
extern int PyDict_Watch(int watcher, PyObject *dict) __attribute__((weak));

static atomic_ullong changes = 1; /* of all dicts that are watched, in any interpreter */

static int count_change(PyDict_WatchEvent Py_UNUSED(event), PyObject *Py_UNUSED(dict),
                        PyObject *Py_UNUSED(key), PyObject *Py_UNUSED(value))
{
	atomic_fetch_add(&changes, 1);
	return 0;
}

/* How a dict began in the versions that number changes. */
struct numbered_dict {
	PyObject_HEAD Py_ssize_t used;
	uint64_t number;
};

/* "3.13.0 (main, ...". */
long minor_version(void)
{
	return strtol(Py_GetVersion() + strlen("3."), NULL, 10);
}

int watch_begin(void)
{
	int watcher = -1;

	if (minor_version() >= WATCHERS_SINCE && PyDict_AddWatcher && PyDict_Watch)
		watcher = PyDict_AddWatcher(count_change);
	PyErr_Clear(); /* all are taken */
	return watcher;
}

bool watch_dict(int watcher, PyObject *dict)
{
	bool done = minor_version() <= NUMBERS_UNTIL;

	if (watcher >= 0)
		done = PyDict_Watch(watcher, dict) == 0;
	PyErr_Clear();
	return done;
}

unsigned long long watch_changes(int watcher, PyObject *const *dicts, size_t count)
{
	unsigned long long last = 0;

	if (watcher >= 0)
		return atomic_load(&changes);
	for (size_t i = 0; i < count; i++) {
		const struct numbered_dict *dict = (const struct numbered_dict *)dicts[i];

		if (dict->number > last)
			last = dict->number;
	}
	return last;
}
