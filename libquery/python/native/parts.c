/*
 * parts.c - are the parts of a metadata module still what they were?
 *
 * They are (namespaces, places, pinned). namespaces: of (dict, (key, value, key, value, ...)), all
 * that is in it, in this order, an Ellipsis for any value; places: of (dict, key, value), an
 * Ellipsis where there was none; pinned: of (function, its code) and (class, its order).
 *
 * Asked before each answer, so all is compared by identity, and a namespace in one pass:
 * a dict keeps its order while values are replaced and put back. What is noticed that
 * way may be harmless; _metadata_module.py then looks at it anew. And where all dicts can be
 * watched, a comparison stands for as long as none of them changes: but for what is pinned,
 * which is in no dict, and is one pointer each.
 */
#include <stdatomic.h>

#include "libquery/python/native/native.h"

/* A function and its code, or a class and its bases: by which all comes into the order in
 * which attributes are looked for. */
struct pin {
	PyObject *owner;
	void *value;
	bool is_class;
};

/* Of one module; all pointers are into what is compared. */
struct parts {
	PyObject **dicts;
	struct pin *pins;
	size_t dict_count, pin_count;
	int watcher;
	bool watched;
	atomic_ullong stood_at; /* after how many changes was all the same? 0: never */
};

extern PyObject *PyFunction_GetCode(PyObject *function) __attribute__((weak));

/* --- comparison --- */

static bool is_any(PyObject *value)
{
	return value == Py_Ellipsis;
}

/* Does @dict hold these keys and values, (key, value, key, value, ...), and no others? */
static bool holds_in_order(PyObject *dict, PyObject *items)
{
	Py_ssize_t position = 0, at = 0, count = PyTuple_Size(items);
	PyObject *key, *value;

	while (PyDict_Next(dict, &position, &key, &value)) {
		PyObject *expected;

		if (at >= count || PyTuple_GetItem(items, at) != key)
			return false;
		expected = PyTuple_GetItem(items, at + 1);
		if (expected != value && !is_any(expected))
			return false;
		at += 2;
	}
	return at == count;
}

static bool is_same_namespace(PyObject *part)
{
	PyObject *dict = PyTuple_GetItem(part, 0);
	bool same;

	BEGIN_CRITICAL_SECTION(dict);
	same = holds_in_order(dict, PyTuple_GetItem(part, 1));
	END_CRITICAL_SECTION();
	return same;
}

static bool is_same_place(PyObject *part)
{
	PyObject *expected = PyTuple_GetItem(part, 2), *found;
	bool same;

	BEGIN_CRITICAL_SECTION(PyTuple_GetItem(part, 0));
	found = PyDict_GetItemWithError(PyTuple_GetItem(part, 0), PyTuple_GetItem(part, 1));
	same = found ? found == expected : is_any(expected);
	END_CRITICAL_SECTION();
	return same;
}

static bool all_of(PyObject *parts, bool (*is_same)(PyObject *part))
{
	Py_ssize_t count = PyTuple_Size(parts);

	for (Py_ssize_t i = 0; i < count; i++)
		if (!is_same(PyTuple_GetItem(parts, i)))
			return false;
	return true;
}

static void *pointer_of(const struct pin *pin)
{
	if (pin->is_class)
		return PyType_GetSlot((PyTypeObject *)pin->owner, Py_tp_bases);
	return PyFunction_GetCode ? PyFunction_GetCode(pin->owner) : NULL;
}

static bool all_pinned(const struct parts *parts)
{
	for (size_t i = 0; i < parts->pin_count; i++)
		if (pointer_of(&parts->pins[i]) != parts->pins[i].value)
			return false;
	return true;
}

#define SELF "entrydb._native.parts" /* of the capsule with them */

bool all_same(PyObject *self)
{
	PyObject *compared = PyTuple_GetItem(self, 0);
	struct parts *parts = PyCapsule_GetPointer(PyTuple_GetItem(self, 1), SELF);
	unsigned long long changes = 0;
	bool is = true;

	if (parts->watched)
		changes = watch_changes(parts->watcher, parts->dicts, parts->dict_count);
	if (!changes || changes != atomic_load(&parts->stood_at)) {
		is = all_of(PyTuple_GetItem(compared, 0), is_same_namespace) &&
		     all_of(PyTuple_GetItem(compared, 1), is_same_place);
		PyErr_Clear();
		if (is)
			atomic_store(&parts->stood_at, changes);
	}
	return is && all_pinned(parts);
}

/* --- as they are --- */

static bool add_pin(struct parts *parts, PyObject *owner, void *value)
{
	struct pin *pins = PyMem_Realloc(parts->pins, (parts->pin_count + 1) * sizeof(*pins)), *pin;

	if (!pins)
		return false;
	parts->pins = pins;
	pin = &pins[parts->pin_count++];
	*pin = (struct pin){owner, value, PyType_Check(owner)};
	if (pin->is_class)
		pin->value = pointer_of(pin);
	return true;
}

/* All classes of an order whose bases could be others. */
static bool pin_order(struct parts *parts, PyObject *order)
{
	bool done = true;

	for (Py_ssize_t i = 0; done && i < PyTuple_Size(order); i++) {
		PyTypeObject *kind = (PyTypeObject *)PyTuple_GetItem(order, i);

		if (PyType_GetFlags(kind) & Py_TPFLAGS_HEAPTYPE)
			done = add_pin(parts, (PyObject *)kind, NULL);
	}
	return done;
}

static bool pin_all(struct parts *parts, PyObject *pinned)
{
	bool done = true;

	for (Py_ssize_t i = 0; done && i < PyTuple_Size(pinned); i++) {
		PyObject *pair = PyTuple_GetItem(pinned, i);
		PyObject *owner = PyTuple_GetItem(pair, 0), *value = PyTuple_GetItem(pair, 1);

		done = PyType_Check(owner) ? pin_order(parts, value) : add_pin(parts, owner, value);
	}
	return done;
}

static bool watch_all(struct parts *parts, PyObject *list)
{
	bool done = true;

	for (Py_ssize_t i = 0; done && i < PyTuple_Size(list); i++) {
		PyObject *dict = PyTuple_GetItem(PyTuple_GetItem(list, i), 0);

		done = watch_dict(parts->watcher, dict);
		parts->dicts[parts->dict_count++] = dict;
	}
	return done;
}

static bool init(struct parts *parts, int watcher, PyObject *compared)
{
	PyObject *namespaces = PyTuple_GetItem(compared, 0), *places = PyTuple_GetItem(compared, 1);
	size_t count = (size_t)(PyTuple_Size(namespaces) + PyTuple_Size(places));

	parts->watcher = watcher;
	parts->dicts = PyMem_Calloc(count + 1, sizeof(*parts->dicts));
	if (!parts->dicts || !pin_all(parts, PyTuple_GetItem(compared, 2)))
		return false;
	parts->watched = watch_all(parts, namespaces) && watch_all(parts, places);
	return true;
}

static void destroy(PyObject *capsule)
{
	struct parts *parts = PyCapsule_GetPointer(capsule, SELF);

	PyMem_Free(parts->dicts);
	PyMem_Free(parts->pins);
	PyMem_Free(parts);
}

static PyObject *same(PyObject *self, PyObject *Py_UNUSED(unused))
{
	return PyBool_FromLong(all_same(self));
}

PyDoc_STRVAR(same_doc, "same()\n--\n\nAre all parts of a metadata module as they were?");

static PyMethodDef same_method = {"same", same, METH_NOARGS, same_doc};

PyObject *make_same(int watcher, PyObject *compared)
{
	struct parts *parts = PyMem_Calloc(1, sizeof(*parts));
	PyObject *capsule = parts ? PyCapsule_New(parts, SELF, destroy) : PyErr_NoMemory();
	PyObject *self = capsule ? PyTuple_Pack(2, compared, capsule) : NULL, *function = NULL;

	if (!capsule)
		PyMem_Free(parts);
	if (self && init(parts, watcher, compared))
		function = PyCFunction_New(&same_method, self);
	Py_XDECREF(capsule);
	Py_XDECREF(self);
	return function;
}
