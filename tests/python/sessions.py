"""Compares programs that wrap and patch the functions involved, with and without entrydb.

Two processes of an interpreter, one with ENTRYDB=0, make the same moves in the same environment
(session_worker.py), which differential.py changes and indexes in between. Any difference in what they
observe is reported: an answer, a warning, or a call of a wrapper.
"""

import collections
import json
import os
import subprocess

import package
import reference
from program import LIB

HERE = os.path.dirname(os.path.abspath(__file__))
MOVES = 6              # per environment and stage
MOVES_SHOWN = 30       # before a difference
SHOWN = 700            # characters of an observation

# importlib_metadata: version and level of freshness.
VERSIONS = {"6.11.0": "roots", "8.9.0": "exact", "10.2.0": "roots"}


def start(options, found):
    wrapt = package.wrapt(found[-1])
    levels = ("roots", "exact", "roots")
    pairs = [Pair(each, levels[at % 2], options, wrapt=each is found[-1] and wrapt)
             for at, each in enumerate(found)]
    if len(pairs) == 1:  # as with mutants.py
        pairs.append(Pair(found[0], "exact", options))
    for version in filter(VERSIONS.get, options.versions):
        directory = package.importlib_metadata(version, found)
        if directory:
            pairs.append(Pair(found[-1], VERSIONS[version], options, version, directory))
    return pairs


class Side(reference.Worker):
    """One of the two processes; the sessions are its children."""

    def __init__(self, interpreter, fresh, arguments, on):
        self.label = f"{interpreter.version} with ENTRYDB={on}"
        command = [interpreter.executable, "-s", "-S", "-X", "utf8", f"{HERE}/session_worker.py",
                   json.dumps(arguments)]
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("ENTRYDB", "PYTHON"))}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=dict(env, ENTRYDB_FRESH=fresh, ENTRYDB=on,
                                                 PYTHONHASHSEED="0"))
        self.read()

    def write(self, request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()


class Pair:
    """A worker of differential.py that compares two processes."""

    calls = MOVES

    def __init__(self, interpreter, fresh, options, version=None, directory=None, wrapt=None):
        self.label = " ".join(filter(None, [interpreter.version, fresh, "wrapped and patched",
                                            version and f"importlib_metadata {version}"]))
        self.fresh = fresh
        self.known = True
        self.counts = collections.Counter()
        arguments = {"package": options.package, "helpers": [HERE, LIB],
                     "importlib_metadata": directory, "wrapt": wrapt}
        self.plain = Side(interpreter, fresh, {**arguments, "mutant": None}, "0")
        self.fast = Side(interpreter, fresh, {**arguments, "mutant": options.mutant}, "1")
        self.histories = {}

    def send(self, request):
        """Ask both sides concurrently; differences are reported like those of face_worker.py."""
        request = {**request, "end": False}
        for side in (self.plain, self.fast):
            side.write(request)
        replies = zip(request["environments"], self.plain.read(), self.fast.read())
        return [self.compare(each["root"], *sides) for each, *sides in replies]

    def compare(self, root, plain, fast):
        history = self.histories.setdefault(root, [])
        counts = collections.Counter(fast["counts"], calls=0, filled=0, raised=0)
        if history is None:  # the two have made different moves
            return {"counts": counts, "differences": []}
        for own, ours in zip(plain["moves"], fast["moves"]):
            history.append(own[0])
            counts["calls"] += bool(own[1])
            counts["filled"] += "EntryPoint" in own[1]
            counts["raised"] += "['raised', " in own[1]
            if own != ours:
                self.histories[root] = None
                return {"counts": counts, "differences": [difference(history, own, ours)]}
        if "ended" in plain or "ended" in fast:
            self.histories[root] = None
            ended = [["ended early" if "ended" in each else "lives on", ""] for each in (plain, fast)]
            return {"counts": counts, "differences": [difference(history, *ended)]}
        return {"counts": counts, "differences": []}

    def end_batch(self):
        self.histories.clear()
        for side in (self.plain, self.fast):
            side.send({"end": True})

    def close(self):
        self.plain.close()
        self.fast.close()


def difference(history, own, ours):
    led = "\n    ".join(["", *history[-MOVES_SHOWN:]])
    if own[0] != ours[0]:
        return {"call": led, "where": "the move", "python": own[0],
                "entrydb": f"{ours[0]} {ours[1][:SHOWN]}"}
    at = len(os.path.commonprefix([own[1], ours[1]]))
    begin = max(0, at - SHOWN // 4)
    return {"call": led, "where": f"character {at} of what was seen",
            "python": own[1][begin:begin + SHOWN], "entrydb": ours[1][begin:begin + SHOWN]}
