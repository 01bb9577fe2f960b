"""One mutant: runs the real program and falsifies its answer. cli/mutants.py writes the wrappers that call it.

It is started once for each call of the program and therefore imports little.
"""

import itertools
import json
import os
import subprocess
import sys


# --- changes of the rows ---

def blocks(rows):
    """The rows of each distribution, which importlib.metadata lists together."""
    return [list(rows) for _, rows in itertools.groupby(rows, key=lambda row: row["file"])]


def reverse_readdir(rows):
    return [row for block in reversed(blocks(rows)) for row in block]


def sort_by_name(rows):
    return sorted(rows, key=lambda row: (row["file"] or "").lower())


def drop_egg_info(rows):
    return [row for row in rows if not row["file"].rstrip("/").lower().endswith("egg-info")]


def reverse_in_file(rows):
    return [row for block in blocks(rows) for row in reversed(block)]


def drop_repeated(rows):
    seen = set()
    return [row for row in rows if not ((row["group"], row["name"]) in seen
                                        or seen.add((row["group"], row["name"])))]


def lose_case(rows):
    return [dict(row, name=row["name"].lower()) for row in rows]


def strip_group(rows):
    return [dict(row, group=row["group"].strip()) for row in rows]


def first_extra(rows):
    return [dict(row, extras=(row["extras"] or [])[:1]) for row in rows]


ROW_MUTANTS = {each.__name__.replace("_", "-"): each for each in (
    reverse_readdir, sort_by_name, drop_egg_info, reverse_in_file, drop_repeated, lose_case,
    strip_group, first_extra)}


# --- changes of the call ---

def run(arguments):
    return subprocess.run([os.environ["REAL_PROGRAM"], *arguments], capture_output=True)


def take_paths(arguments):
    """The arguments without their path entries, and the entries."""
    rest, entries, words = [], [], iter(arguments)
    for word in words:
        if word == "--path":
            entries.append(next(words))
        else:
            rest.append(word)
    return rest, entries


def with_option(arguments, option, value):
    at = arguments.index(option) if option in arguments else None
    return arguments if at is None else [*arguments[:at + 1], value, *arguments[at + 2:]]


def run_unshadowed(arguments):
    """Query each path entry alone, so that no distribution shadows another."""
    rest, entries = take_paths(arguments)
    done = [run([rest[0], "--path", entry, *rest[1:]]) for entry in entries]
    out = b"".join(each.stdout for each in done)
    return subprocess.CompletedProcess(arguments, 0 if out else 1, out, done[-1].stderr)


def run_stale(arguments):
    """Repeat the first answer for ever, despite --fresh."""
    key = with_option(with_option(arguments, "--fresh", ""), "--db", "")
    key = [word for word in key if word not in ("--fresh", "--db", "")]
    import hashlib
    name = hashlib.sha256(os.fsencode("\0".join([os.getcwd(), *key]))).hexdigest()
    place = f"{os.environ['MUTANT_SCRATCH']}/{name}"
    if not os.path.exists(place):
        done = run(arguments)
        with open(place, "w") as stream:
            json.dump([done.returncode, done.stdout.hex(), done.stderr.hex()], stream)
    with open(place) as stream:
        status, out, error = json.load(stream)
    return subprocess.CompletedProcess(arguments, status, bytes.fromhex(out), bytes.fromhex(error))


def run_silent(arguments):
    done = run(arguments)
    return subprocess.CompletedProcess(arguments, done.returncode, done.stdout, b"")


def run_reversed(arguments):
    rest, entries = take_paths(arguments)
    options = [word for entry in reversed(entries) for word in ("--path", entry)]
    return run([rest[0], *options, *rest[1:]])


def run_with_status_0(arguments):
    done = run(arguments)
    return subprocess.CompletedProcess(arguments, 0, done.stdout, done.stderr)


CALL_MUTANTS = {
    "un-shadow": run_unshadowed,
    "stale": run_stale,
    "silent-about-broken": run_silent,
    "rules-always-3.12": lambda words: run(with_option(words, "--python", "3.12")),
    "rules-always-3.10": lambda words: run(with_option(words, "--python", "3.10")),
    "rules-always-im10": lambda words: run(with_option(words, "--python", "im10")),
    "path-reversed": run_reversed,
    "always-status-0": run_with_status_0,
}


# --- the program ---

def spoil(name, out):
    rows = [json.loads(line.decode("utf-8", "surrogateescape")) for line in out.split(b"\n") if line]
    spoilt = ROW_MUTANTS[name](rows)
    return b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n"
                    for row in spoilt)


def main(name, arguments):
    listing = arguments[:1] == ["list"]
    done = CALL_MUTANTS.get(name, run)(arguments) if listing else run(arguments)
    out = spoil(name, done.stdout) if listing and name in ROW_MUTANTS else done.stdout
    sys.stdout.buffer.write(out)
    sys.stderr.buffer.write(done.stderr)
    return done.returncode
