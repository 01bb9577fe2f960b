"""Answers queries as importlib.metadata does; runs inside an interpreter under test.

reference.py starts it as `python -I -S -X utf8 reference_worker.py [DIRECTORY]`. If DIRECTORY is
given, it holds importlib_metadata and its dependencies, which are used instead. It reads one JSON
request per line and writes one JSON answer per line. It serves many requests, since starting Python
takes far longer than a query, and clears the caches of importlib.metadata in between.
"""

import contextlib
import itertools
import json
import os
import sys
import warnings

# sys.path is replaced during a query: import here what importlib.metadata imports lazily.
for late in ("csv", "inspect", "zipfile", "zlib", "bz2", "lzma", "textwrap", "email.parser",
             "email.message", "email.header", "email.policy", "encodings.cp437"):
    with contextlib.suppress(ImportError):
        __import__(late)


def load_module(directory):
    if not directory:
        import importlib.metadata as module
        return module
    sys.path.insert(0, directory)
    import importlib_metadata as module
    import importlib_metadata._adapters
    import zipp.compat.overlay
    return module


class Reference:
    def __init__(self, module):
        self.module = module
        self.sorts = hasattr(module, "SelectableGroups")
        # Later versions sort distributions without metadata last, in entry_points() only.
        self.prefers = "_prefer_valid" in module.entry_points.__code__.co_names

    def answer(self, request):
        os.chdir(request["cwd"])
        own, sys.path[:] = sys.path[:], request["path"]
        try:
            self.module.FastPath.__new__.cache_clear()
            return self.answer_queries(request["queries"])
        finally:
            sys.path[:] = own

    def answer_queries(self, queries):
        facts = {}
        answers, salvaged = [], None
        for params in queries:
            try:
                found, broken, raised = self.listing(params), [], None
            except Exception as error:
                salvaged = salvaged or self.salvage()
                found = [ep for ep in salvaged[0] if matches(ep, params)]
                broken, raised = salvaged[1], type(error).__name__
            rows = [self.row(ep, facts) for ep in found]
            answers.append({"rows": rows, "broken": broken, "raised": raised})
        return answers

    def listing(self, params):
        result = self.module.entry_points(**params)
        if isinstance(result, dict):
            return list(itertools.chain.from_iterable(dict.values(result)))
        return list(result)

    def salvage(self):
        """What importlib.metadata would return if the broken distributions had no entry points."""
        found, broken, seen = [], [], set()
        for dist in self.in_order(broken):
            try:
                key = dist._normalized_name
                if key in seen:
                    continue
                seen.add(key)
                found.extend(list(dist.entry_points))
            except Exception as error:
                broken.append([str(dist._path), repr(error)])
        if self.sorts:
            found.sort(key=lambda ep: ep.group)
        return found, broken

    def in_order(self, broken):
        every = list(self.module.distributions())
        if not self.prefers:
            return every
        first, last = [], []
        for dist in every:
            try:
                (first if dist._has_metadata() else last).append(dist)
            except Exception as error:
                broken.append([str(dist._path), repr(error)])
        return first + last

    def row(self, ep, facts):
        dist = ep.dist
        if id(dist) not in facts:
            # Keep a reference to the object: its id could be reused otherwise.
            facts[id(dist)] = dist, name_and_version(dist), str(dist._path)
        _, (name, version), path = facts[id(dist)]
        return [ep.group, ep.name, ep.value, *value_parts(ep), name, version, path]


def matches(ep, params):
    return all(getattr(ep, key) == value for key, value in params.items())


def value_parts(ep):
    """Module, attribute, extras; module is None if the value is invalid."""
    try:
        return [ep.module, ep.attr, list(ep.extras)]
    except Exception:
        return [None, None, None]


def name_and_version(dist):
    """Name and Version of METADATA; None if absent, False if unreadable."""
    try:
        metadata = dist.metadata
    except (UnicodeDecodeError, RuntimeError):
        return False, False
    except FileNotFoundError:
        return None, None
    except OSError:
        return False, False
    except Exception:
        return None, None
    return header(metadata, "Name"), header(metadata, "Version")


def header(metadata, key):
    try:
        value = metadata[key]
    except KeyError:
        return None
    return value if value is None else str(value)


def main():
    warnings.simplefilter("ignore")
    reference = Reference(load_module(sys.argv[1] if len(sys.argv) > 1 else None))
    print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3]}), flush=True)
    for line in sys.stdin:
        print(json.dumps(reference.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
