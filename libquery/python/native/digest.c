/*
 * digest.c - identifies the behaviour of functions. The digest covers the names that each function
 * uses, so it is equal for releases with equal answers, and differs if something was added.
 */
#include "libquery/python/native/look.h"

#define FNV_BASIS 0xcbf29ce484222325
#define FNV_PRIME 0x100000001b3

static const struct place parts[] = {
        {"", "entry_points distributions unique_everseen"},
        {"Sectioned", "section_pairs read valid"},
        {"EntryPoint", "__init__ _for matches"},
        {"EntryPoints", "select _from_text_for _from_text _parse_groups"},
        {"SelectableGroups", "load _all select"},
        {"Distribution",
         "discover _discover_resolvers _prefer_valid entry_points _normalized_name"},
        {"FastPath", "__init__ joinpath children zip_children search mtime lookup"},
        {"Lookup", "__init__ search"},
        {"Prepared", "__init__ normalize legacy_normalize"},
        {"MetadataPathFinder", "find_distributions _search_paths"},
        {"PathDistribution", "__init__ read_text _normalized_name _name_from_stem _has_metadata"},
        {0},
};

/* Functions that find a distribution by its name, and read name and version. */
static const struct place naming[] = {
        {"", "distribution"},
        {"Distribution", "from_name _prefer_valid metadata name version"},
        {0},
};

/* Add a word to the digest; words are separated by spaces. */
static bool add_word(struct look *look, PyObject *word)
{
	Py_ssize_t length;
	const char *chars = word ? PyUnicode_AsUTF8AndSize(word, &length) : NULL;

	if (!chars)
		return false;
	if (look->begun)
		look->hash = (look->hash ^ ' ') * FNV_PRIME;
	look->begun = true;
	for (Py_ssize_t i = 0; i < length; i++)
		look->hash = (look->hash ^ (unsigned char)chars[i]) * FNV_PRIME;
	return true;
}

static bool add_sorted(struct look *look, PyObject *words)
{
	PyObject *list = words ? hold(look, PySequence_List(words)) : NULL;
	bool done = list && PyList_Sort(list) == 0;

	for (Py_ssize_t i = 0; done && i < PyList_Size(list); i++)
		done = add_word(look, PyList_GetItem(list, i));
	return done;
}

/* The names used by a code object and by the code objects in it. */
static bool collect_names(struct look *look, PyObject *code, PyObject *names)
{
	PyObject *used = get(look, code, "co_names"), *constants = get(look, code, "co_consts");
	bool done = used && constants;

	for (Py_ssize_t i = 0; done && i < PyTuple_Size(used); i++)
		done = PySet_Add(names, PyTuple_GetItem(used, i)) == 0 &&
		       PySet_Add(look->used, PyTuple_GetItem(used, i)) == 0;
	for (Py_ssize_t i = 0; done && i < PyTuple_Size(constants); i++)
		if (Py_TYPE(PyTuple_GetItem(constants, i)) == Py_TYPE(code))
			done = collect_names(look, PyTuple_GetItem(constants, i), names);
	return done;
}

/* Add a function, the original of a replaced one, then the functions in its closure. */
static bool add_function(struct look *look, PyObject *replaced)
{
	PyObject *function = original_of(look, replaced);
	PyObject *code = get(look, function, "__code__"), *names = hold(look, PySet_New(NULL)),
	         *closure = get(look, function, "__closure__");
	bool done = code && names && closure &&
	            is_own_function(look, get(look, function, "__name__"), function);

	if (done && !owner_of(look, get(look, function, "__globals__")))
		return add_word(look, get(look, function, "__qualname__"));
	done = done && pin(look->pins, function) && collect_names(look, code, names) &&
	       add_word(look, text(look, "function")) && add_sorted(look, names);
	for (Py_ssize_t i = 0; done && closure != Py_None && i < PyTuple_Size(closure); i++) {
		PyObject *value = get(look, PyTuple_GetItem(closure, i), "cell_contents");

		done = value && (Py_TYPE(value) != &PyFunction_Type || add_function(look, value));
	}
	return done;
}

static bool add_part(struct look *look, PyObject *part)
{
	PyObject *functions[FUNCTIONS_MAX];
	size_t count = functions_of(look, part, functions);
	bool done = true;

	if (!count)
		return is_plain(look, part) && add_word(look, hold(look, PyObject_Repr(part)));
	if (functions[0] != part)
		done = add_word(look, get(look, (PyObject *)Py_TYPE(part), "__name__"));
	for (size_t i = 0; done && i < count; i++)
		done = add_function(look, functions[i]);
	return done;
}

/* The class of that name; the module for "". */
static const struct owner *owner_named(struct look *look, const char *name)
{
	PyObject *kind = *name ? item(look, look->owners[0].copy, text(look, name)) : look->module;

	return owner_of(look, kind);
}

/* A function of the module itself counts in its original version wherever it is now. */
static bool add_parts(struct look *look, const struct place *of)
{
	const struct owner *owner = owner_named(look, of->owner);
	PyObject *name, *each, *part;
	const char *names = of->names;
	bool done = true;

	while (done && (name = next_name(look, &names))) {
		each = *of->owner ? NULL : item(look, look->replaced, name);
		part = each    ? PyTuple_GetItem(each, 2)
		       : owner ? item(look, owner->copy, name)
		               : NULL;
		done = add_word(look, hold(look, PyUnicode_FromFormat("%s.%U", of->owner, name))) &&
		       add_part(look, part ? part : Py_None);
	}
	return done && !PyErr_Occurred();
}

/* Add the names of plain data that the parts use. */
static bool add_data(struct look *look, const struct place *of)
{
	const struct owner *owner = owner_named(look, of->owner);
	PyObject *words = hold(look, PyList_New(0)), *name, *value;
	Py_ssize_t position = 0;
	bool done = words != NULL;

	while (done && owner && PyDict_Next(owner->copy, &position, &name, &value)) {
		if (!is_plain(look, value) || PySet_Contains(look->used, name) != 1)
			continue;
		name = hold(look, PyUnicode_FromFormat("%s.%U", of->owner, name));
		done = name && PyList_Append(words, name) == 0;
	}
	return done && add_sorted(look, words);
}

/* 0: a part is foreign. */
static unsigned long long digest(struct look *look, const struct place *all, bool with_data)
{
	bool done = true;

	look->hash = FNV_BASIS;
	look->begun = false;
	for (const struct place *of = all; done && of->owner; of++)
		done = add_parts(look, of);
	for (const struct place *of = all; done && with_data && of->owner; of++)
		done = add_data(look, of);
	PyErr_Clear();
	return done ? look->hash : 0;
}

unsigned long long digest_answers(struct look *look)
{
	return digest(look, parts, true);
}

unsigned long long digest_naming(struct look *look)
{
	return digest(look, naming, false);
}
