/*
 * parts.c - detects changes of a metadata module.
 *
 * This is checked before each answer, and for each distribution in an iteration over all. Almost
 * everything that recognition depends on is stored in dicts, and CPython reports changes of a dict:
 * since 3.12 by callbacks of dict watchers; before, by a version number in each dict, which only
 * grows (PEP 509). Neither is in the limited API, so both are looked up at run time; if there are
 * none, or all watchers are in use, no module is recognized. A change may be harmless;
 * _metadata_module.py then recognizes the module again.
 *
 * The code of a function and the bases of a class are in no dict: they are recorded ("pinned") and
 * compared.
 *
 * Watchers are called before the change. Without the GIL another thread may read the dict between
 * the call and the change; but the change is made under the dict's lock. So a thread that reads the
 * number first, and then the dict under its lock, sees the change or later finds another number.
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

static atomic_ullong changes = 1; /* of all watched dicts, in all interpreters */

static int count_change(PyDict_WatchEvent Py_UNUSED(event), PyObject *Py_UNUSED(dict),
                        PyObject *Py_UNUSED(key), PyObject *Py_UNUSED(value))
{
	atomic_fetch_add(&changes, 1);
	return 0;
}

/* Py_GetVersion() is "3.13.0 (main, ...". */
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
	PyErr_Clear(); /* all are in use */
	return watcher;
}

bool watch_dict(int watcher, PyObject *dict)
{
	return !has_watchers() || (watcher >= 0 && PyDict_Watch(watcher, dict) == 0);
}

/* The version number of a dict, in the layout before 3.12. */
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
	newest = PyDict_New(); /* gets the next number */
	number = newest ? number_of(newest) : 0;
	Py_XDECREF(newest);
	return number;
}

/* Has none of @dicts (an array in a bytes object; None: all watched dicts) changed? */
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

/* The code or the bases, borrowed; NULL if it has neither. */
static PyObject *pinned(PyObject *owner)
{
	if (Py_TYPE(owner) == &PyFunction_Type)
		return PyFunction_GetCode ? PyFunction_GetCode(owner) : NULL;
	return PyType_Check(owner) ? PyType_GetSlot((PyTypeObject *)owner, Py_tp_bases) : NULL;
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

PyDoc_STRVAR(same_doc, "same()\n--\n\nReturn True if no part of the metadata module has changed.");

static PyMethodDef same_method = {"same", same, METH_NOARGS, same_doc};

/* Copy the list, or the dict, to an array, which is faster to compare. */
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
