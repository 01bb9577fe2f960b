/*
 * parts.c - is a metadata module still what it was?
 *
 * Asked before each answer, and as often as there are distributions by whoever walks over all. All
 * that was looked at stands in dicts, and CPython can tell whether one has changed: since 3.12 it
 * calls whoever watches a dict; before, each dict had the number of its last change (PEP 509),
 * and numbers only grew. Neither is in the limited API: so both are asked for as they may be
 * there, and where nothing is, or all watchers are taken, no module is known. What has changed may
 * be harmless; _metadata_module.py then looks at all anew.
 *
 * In no dict are the code of a function and the bases of a class: they are pinned, and compared.
 *
 * A change is told before it is made. Without Python's lock another thread may look in between;
 * but whoever changes a dict holds the dict's own lock meanwhile. So whoever takes the number first
 * and then looks, with that lock, sees either the change, or next time another number.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libquery/python/native/native.h"

#define WATCHERS_SINCE 12 /* minor version */

#ifdef Py_LIMITED_API
typedef int PyDict_WatchEvent;
typedef int (*PyDict_WatchCallback)(PyDict_WatchEvent event, PyObject *dict, PyObject *key,
                                    PyObject *value);
#endif

extern int PyDict_AddWatcher(PyDict_WatchCallback callback) __attribute__((weak));
extern int PyDict_Watch(int watcher, PyObject *dict) __attribute__((weak));
extern PyObject *PyFunction_GetCode(PyObject *function) __attribute__((weak));

static atomic_ullong changes = 1; /* of all dicts that are watched, in any interpreter */

static int count_change(PyDict_WatchEvent Py_UNUSED(event), PyObject *Py_UNUSED(dict),
                        PyObject *Py_UNUSED(key), PyObject *Py_UNUSED(value))
{
	atomic_fetch_add(&changes, 1);
	return 0;
}

/* "3.13.0 (main, ...". */
long minor_version(void)
{
	return strtol(Py_GetVersion() + strlen("3."), NULL, 10);
}

static bool has_watchers(void)
{
	return minor_version() >= WATCHERS_SINCE;
}

int watch_begin(void)
{
	int watcher = -1;

	if (has_watchers() && PyDict_AddWatcher && PyDict_Watch)
		watcher = PyDict_AddWatcher(count_change);
	PyErr_Clear(); /* all are taken */
	return watcher;
}

bool watch_dict(int watcher, PyObject *dict)
{
	return !has_watchers() || (watcher >= 0 && PyDict_Watch(watcher, dict) == 0);
}

/* How a dict began in the versions that number changes. */
static unsigned long long number_of(PyObject *dict)
{
	const struct {
		PyObject_HEAD Py_ssize_t used;
		uint64_t number;
	} *numbered = (const void *)dict;

	return numbered->number;
}

unsigned long long last_change(void)
{
	unsigned long long number;
	PyObject *newest;

	if (has_watchers())
		return atomic_load(&changes);
	newest = PyDict_New(); /* that is a change, too */
	number = newest ? number_of(newest) : 0;
	Py_XDECREF(newest);
	return number;
}

/* None of these dicts, an array in bytes; or of all that are watched, where it is None. */
static bool have_not_changed(PyObject *dicts, unsigned long long since)
{
	PyObject *const *at, *const *end;

	if (dicts == Py_None)
		return atomic_load(&changes) == since;
	at = (void *)PyBytes_AsString(dicts);
	end = at + PyBytes_Size(dicts) / (Py_ssize_t)sizeof(*at);
	while (at < end && number_of(*at) <= since)
		at++;
	return at == end;
}

/* Borrowed. */
static PyObject *pinned(PyObject *owner)
{
	if (Py_TYPE(owner) == &PyFunction_Type)
		return PyFunction_GetCode ? PyFunction_GetCode(owner) : NULL;
	return PyType_GetSlot((PyTypeObject *)owner, Py_tp_bases);
}

bool pin(PyObject *pins, PyObject *owner)
{
	PyObject *value = pinned(owner);

	return value && PyDict_SetItem(pins, owner, value) == 0;
}

struct pin {
	PyObject *owner, *value;
};

bool all_same(PyObject *self)
{
	const struct pin *pins = (const void *)PyBytes_AsString(PyTuple_GetItem(self, 1));
	const struct pin *end =
	        pins + PyBytes_Size(PyTuple_GetItem(self, 1)) / (Py_ssize_t)sizeof(*pins);
	bool are = have_not_changed(PyTuple_GetItem(self, 0),
	                            PyLong_AsUnsignedLongLong(PyTuple_GetItem(self, 2)));

	for (; are && pins < end; pins++)
		are = pinned(pins->owner) == pins->value;
	return are;
}

static PyObject *same(PyObject *self, PyObject *Py_UNUSED(unused))
{
	return PyBool_FromLong(all_same(self));
}

PyDoc_STRVAR(same_doc, "same()\n--\n\nAre all parts of a metadata module as they were?");

static PyMethodDef same_method = {"same", same, METH_NOARGS, same_doc};

/* The list, or the dict, in an array, which takes less time. */
static PyObject *array_of_list(PyObject *list)
{
	Py_ssize_t count = PyList_Size(list);
	PyObject *array = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(list));

	for (Py_ssize_t i = 0; array && i < count; i++)
		((PyObject **)(void *)PyBytes_AsString(array))[i] = PyList_GetItem(list, i);
	return array;
}

static PyObject *array_of(PyObject *pins)
{
	Py_ssize_t position = 0, size = PyDict_Size(pins) * (Py_ssize_t)sizeof(struct pin);
	PyObject *array = PyBytes_FromStringAndSize(NULL, size);
	struct pin *at = array ? (void *)PyBytes_AsString(array) : NULL;

	while (array && PyDict_Next(pins, &position, &at->owner, &at->value))
		at++;
	return array;
}

PyObject *make_same(PyObject *dicts, PyObject *pins, unsigned long long since)
{
	PyObject *self =
	        Py_BuildValue("(NNKOO)", has_watchers() ? Py_NewRef(Py_None) : array_of_list(dicts),
	                      array_of(pins), since, pins, dicts);
	PyObject *function = self ? PyCFunction_New(&same_method, self) : NULL;

	Py_XDECREF(self);
	return function;
}
