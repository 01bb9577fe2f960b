/*
 * parts.c - Parts: are the parts of a metadata module still what they were?
 *
 * They are (namespaces, places, attributes). namespaces: of (dict, (key, value, key, value,
 * ...)), all that is in it, in this order, an Ellipsis for any value; places: of (dict, key,
 * value), an Ellipsis where there was none; attributes: of (object, name, value).
 *
 * Asked before each answer, so all is compared by identity, and a namespace in one pass:
 * a dict keeps its order while values are replaced and put back. What is noticed that
 * way may be harmless; _metadata_module.py then looks at it anew. And where all dicts can be
 * watched, a comparison stands for as long as none of them changes: but for the attributes,
 * which are in no dict, and are pinned down, each to one pointer.
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

struct parts {
	PyObject_HEAD PyObject *compared;
	/* Where all dicts are watched; both arrays point into what is compared. */
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

static bool is_same_attribute(PyObject *part)
{
	PyObject *found = PyObject_GetAttr(PyTuple_GetItem(part, 0), PyTuple_GetItem(part, 1));

	Py_XDECREF(found); /* its owner holds it, or it is not the same */
	return found == PyTuple_GetItem(part, 2);
}

static bool all_of(PyObject *parts, bool (*is_same)(PyObject *part))
{
	Py_ssize_t count = PyTuple_Size(parts);

	for (Py_ssize_t i = 0; i < count; i++)
		if (!is_same(PyTuple_GetItem(parts, i)))
			return false;
	return true;
}

static bool compare(PyObject *compared)
{
	bool same = all_of(PyTuple_GetItem(compared, 0), is_same_namespace) &&
	            all_of(PyTuple_GetItem(compared, 1), is_same_place) &&
	            all_of(PyTuple_GetItem(compared, 2), is_same_attribute);

	PyErr_Clear();
	return same;
}

/* --- what stands as long as nothing changes --- */

static void *pointer_of(const struct pin *pin)
{
	return pin->is_class ? PyType_GetSlot((PyTypeObject *)pin->owner, Py_tp_bases)
	                     : PyFunction_GetCode(pin->owner);
}

static bool all_pinned(const struct parts *parts)
{
	for (size_t i = 0; i < parts->pin_count; i++)
		if (pointer_of(&parts->pins[i]) != parts->pins[i].value)
			return false;
	return true;
}

static bool add_pin(struct parts *parts, struct pin pin)
{
	struct pin *pins = PyMem_Realloc(parts->pins, (parts->pin_count + 1) * sizeof(*pins));

	if (!pins)
		return false;
	pins[parts->pin_count++] = pin;
	parts->pins = pins;
	return true;
}

/* All classes of an order whose bases could be others. */
static bool pin_order(struct parts *parts, PyObject *order)
{
	bool done = true;

	for (Py_ssize_t i = 0; done && i < PyTuple_Size(order); i++) {
		PyObject *kind = PyTuple_GetItem(order, i);
		struct pin pin = {.owner = kind, .is_class = true};

		pin.value = pointer_of(&pin);
		if (PyType_GetFlags((PyTypeObject *)kind) & Py_TPFLAGS_HEAPTYPE)
			done = add_pin(parts, pin);
	}
	return done;
}

static bool pin_attributes(struct parts *parts)
{
	PyObject *attributes = PyTuple_GetItem(parts->compared, 2);
	bool done = PyFunction_GetCode != NULL;

	for (Py_ssize_t i = 0; done && i < PyTuple_Size(attributes); i++) {
		PyObject *part = PyTuple_GetItem(attributes, i);
		PyObject *owner = PyTuple_GetItem(part, 0), *value = PyTuple_GetItem(part, 2);

		done = PyType_Check(owner) ? pin_order(parts, value)
		                           : add_pin(parts, (struct pin){owner, value, false});
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

/* False where it cannot be done. */
static bool watch(struct parts *parts)
{
	PyObject *namespaces = PyTuple_GetItem(parts->compared, 0);
	PyObject *places = PyTuple_GetItem(parts->compared, 1);
	size_t count = (size_t)(PyTuple_Size(namespaces) + PyTuple_Size(places));

	parts->dicts = PyMem_Calloc(count + 1, sizeof(*parts->dicts));
	return parts->dicts && watch_all(parts, namespaces) && watch_all(parts, places) &&
	       pin_attributes(parts);
}

bool all_same(PyObject *self)
{
	struct parts *parts = (struct parts *)self;
	unsigned long long changes;

	if (!parts->watched)
		return compare(parts->compared);
	changes = watch_changes(parts->watcher, parts->dicts, parts->dict_count);
	if (changes != atomic_load(&parts->stood_at)) {
		if (!compare(parts->compared))
			return false;
		atomic_store(&parts->stood_at, changes);
	}
	return all_pinned(parts);
}

/* --- Parts --- */

PyObject *make_parts(const struct state *state, PyObject *compared)
{
	allocfunc allocate = (allocfunc)PyType_GetSlot(state->parts, Py_tp_alloc);
	struct parts *parts = (struct parts *)allocate(state->parts, 0);

	if (!parts)
		return NULL;
	parts->compared = Py_NewRef(compared);
	parts->watcher = state->watcher;
	parts->watched = watch(parts);
	return (PyObject *)parts;
}

PyDoc_STRVAR(same_doc, "same()\n--\n\nAre all of them as they were?");

static PyObject *parts_same(PyObject *self, PyObject *Py_UNUSED(unused))
{
	return PyBool_FromLong(all_same(self));
}

static int parts_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((struct parts *)self)->compared);
	return 0;
}

static void parts_dealloc(PyObject *self)
{
	struct parts *parts = (struct parts *)self;
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	PyObject_GC_UnTrack(self);
	Py_CLEAR(parts->compared);
	PyMem_Free(parts->dicts);
	PyMem_Free(parts->pins);
	release(self);
	Py_DECREF(type);
}

static PyMethodDef parts_methods[] = {
        {"same", parts_same, METH_NOARGS, same_doc},
        {0},
};

PyDoc_STRVAR(parts_doc, "The parts of a metadata module, as they were when it was recognised.");

static PyType_Slot parts_slots[] = {
        {Py_tp_doc, (void *)parts_doc},
        {Py_tp_traverse, (void *)parts_traverse},
        {Py_tp_dealloc, (void *)parts_dealloc},
        {Py_tp_methods, (void *)parts_methods},
        {0, NULL},
};

PyType_Spec parts_spec = {
        .name = "entrydb._native.Parts",
        .basicsize = sizeof(struct parts),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = parts_slots,
};
