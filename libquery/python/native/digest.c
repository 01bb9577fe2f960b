/*
 * digest.c - what do the parts of a metadata module do that make its answers? See own.h.
 *
 * A number for the names that each of them uses: the same for all releases that answer
 * alike, another one where something was added, which may answer differently.
 */
#include <string.h>

#include "libquery/python/native/own.h"

#define NAMES_MAX 7 /* parts of one class */

#define FNV_BASIS 0xcbf29ce484222325
#define FNV_PRIME 0x100000001b3

/* Where (a class, or "" for the module itself) and what. */
static const struct part {
	const char *place, *names[NAMES_MAX + 1];
} parts[] = {
        {"", {"entry_points", "distributions", "unique_everseen"}},
        {"Sectioned", {"section_pairs", "read", "valid"}},
        {"EntryPoint", {"__init__", "_for", "matches"}},
        {"EntryPoints", {"select", "_from_text_for", "_from_text", "_parse_groups"}},
        {"SelectableGroups", {"load", "_all", "select"}},
        {"Distribution",
         {"discover", "_discover_resolvers", "_prefer_valid", "entry_points", "_normalized_name"}},
        {"FastPath",
         {"__init__", "joinpath", "children", "zip_children", "search", "mtime", "lookup"}},
        {"Lookup", {"__init__", "search"}},
        {"Prepared", {"__init__", "normalize", "legacy_normalize"}},
        {"MetadataPathFinder", {"find_distributions", "_search_paths"}},
        {"PathDistribution",
         {"__init__", "read_text", "_normalized_name", "_name_from_stem", "_has_metadata"}},
};

#define PARTS (sizeof(parts) / sizeof(*parts))

struct digest {
	struct own *own;
	unsigned long long hash;
	bool begun;
	const char *place;
	PyObject *used; /* a set of the names that parts use */
};

/* --- words --- */

static void add_bytes(struct digest *digest, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		digest->hash = (digest->hash ^ (unsigned char)bytes[i]) * FNV_PRIME;
}

/* With a space before each but the first. */
static bool add_word(struct digest *digest, PyObject *word)
{
	Py_ssize_t length;
	const char *text = word ? PyUnicode_AsUTF8AndSize(word, &length) : NULL;

	if (!text)
		return false;
	if (digest->begun)
		add_bytes(digest, " ", 1);
	digest->begun = true;
	add_bytes(digest, text, (size_t)length);
	return true;
}

/* A word that is given up. */
static bool take_word(struct digest *digest, PyObject *word)
{
	bool done = add_word(digest, word);

	Py_XDECREF(word);
	return done;
}

static bool take_sorted(struct digest *digest, PyObject *words)
{
	bool done = words && PyList_Sort(words) == 0;

	for (Py_ssize_t i = 0; done && i < PyList_Size(words); i++)
		done = add_word(digest, PyList_GetItem(words, i));
	Py_XDECREF(words);
	return done;
}

/* --- functions --- */

/* The names that a code object uses, and those that are in it. */
static bool collect_names(const struct digest *digest, PyObject *code, PyObject *names)
{
	PyObject *names_used = get(digest->own, code, NAMES);
	PyObject *constants = names_used ? get(digest->own, code, CONSTANTS) : NULL;
	bool done = constants != NULL;

	for (Py_ssize_t i = 0; done && i < PyTuple_Size(names_used); i++)
		done = PySet_Add(names, PyTuple_GetItem(names_used, i)) == 0 &&
		       PySet_Add(digest->used, PyTuple_GetItem(names_used, i)) == 0;
	for (Py_ssize_t i = 0; done && i < PyTuple_Size(constants); i++)
		if (Py_TYPE(PyTuple_GetItem(constants, i)) == Py_TYPE(code))
			done = collect_names(digest, PyTuple_GetItem(constants, i), names);
	Py_XDECREF(constants);
	Py_XDECREF(names_used);
	return done;
}

static bool remember(const struct digest *digest, PyObject *function, PyObject *code)
{
	PyObject *item = Py_BuildValue("(OOs)", function, code, digest->place);
	bool done = item && PyList_Append(digest->own->functions, item) == 0;

	Py_XDECREF(item);
	return done;
}

static bool add_names(struct digest *digest, PyObject *function)
{
	PyObject *code = get(digest->own, function, CODE);
	PyObject *names = code ? PySet_New(NULL) : NULL;
	bool done = names && remember(digest, function, code) &&
	            collect_names(digest, code, names) &&
	            take_word(digest, PyUnicode_FromString("function")) &&
	            take_sorted(digest, PySequence_List(names));

	Py_XDECREF(names);
	Py_XDECREF(code);
	return done;
}

/* From the outside in; false if one is not the module's own. */
static bool add_function(struct own *own, PyObject *function, void *payload)
{
	struct digest *digest = payload;

	if (is_standard_function(own, function))
		return take_word(digest, get(own, function, QUALNAME));
	return is_own_function(own, function) && add_names(digest, function) &&
	       each_enclosed(own, function, add_function, digest);
}

/* --- parts --- */

static bool add_part(struct digest *digest, PyObject *part)
{
	PyObject *functions[FUNCTIONS_MAX];
	size_t count = functions_of(digest->own, part, functions);
	bool done = true;

	if (!count)
		return is_data(digest->own, part) && take_word(digest, PyObject_Repr(part));
	if (functions[0] != part)
		done = take_word(digest, get(digest->own, (PyObject *)Py_TYPE(part), NAME));
	for (size_t i = 0; done && i < count; i++)
		done = add_function(digest->own, functions[i], digest);
	functions_free(functions, count);
	return done;
}

/* A part as it is, or as it was before acceleration; a new reference. */
static PyObject *find_part(PyObject *home, PyObject *originals, const char *place, const char *name)
{
	PyObject *key = Py_BuildValue("(ss)", place, name);
	PyObject *found = key ? item_of(originals, key) : NULL;

	Py_XDECREF(key);
	if (!found && home)
		found = item_named(home, name);
	return found ? found : Py_NewRef(Py_None);
}

static bool add_parts(struct digest *digest, const struct part *of, PyObject *originals)
{
	PyObject *home = own_home(digest->own, of->place);
	bool done = true;

	digest->place = of->place;
	for (const char *const *name = of->names; done && *name; name++) {
		PyObject *part = find_part(home, originals, of->place, *name);

		done = take_word(digest, PyUnicode_FromFormat("%s.%s", of->place, *name)) &&
		       add_part(digest, part);
		Py_DECREF(part);
	}
	return done;
}

/* Of the names that parts use: those that stand for plain data in the module or its classes. */
static bool add_data(struct digest *digest, const struct part *of)
{
	PyObject *home = own_home(digest->own, of->place);
	PyObject *items = home ? PyDict_Items(home) : NULL, *words = PyList_New(0);
	bool done = words != NULL;

	for (Py_ssize_t i = 0; done && items && i < PyList_Size(items); i++) {
		PyObject *name = PyTuple_GetItem(PyList_GetItem(items, i), 0), *word;

		if (!is_plain_data(digest->own, PyTuple_GetItem(PyList_GetItem(items, i), 1)) ||
		    PySet_Contains(digest->used, name) != 1)
			continue;
		word = PyUnicode_FromFormat("%s.%U", of->place, name);
		done = word && PyList_Append(words, word) == 0;
		Py_XDECREF(word);
	}
	Py_XDECREF(items);
	if (done)
		return take_sorted(digest, words);
	Py_XDECREF(words);
	return false;
}

bool digest_parts(struct own *own, PyObject *originals, unsigned long long *out)
{
	struct digest digest = {.own = own, .hash = FNV_BASIS, .used = PySet_New(NULL)};
	bool done = digest.used != NULL;

	for (size_t i = 0; done && i < PARTS; i++)
		done = add_parts(&digest, &parts[i], originals);
	for (size_t i = 0; done && i < PARTS; i++)
		done = add_data(&digest, &parts[i]);
	Py_XDECREF(digest.used);
	*out = digest.hash;
	return done;
}
