-- The database of entry points: what stands in the published file.
--
-- This file is the only place where the schema is written down. The tables keep
-- raw facts (names as the directory gives them, values as the files give them,
-- errors where a distribution could not be read); which distribution shadows
-- which is decided by whoever asks. The four views, and the tables' names, are a
-- contract: they may be queried with sqlite3.
--
-- Identifiers carry their parents, so that the rows of one root, and of one
-- distribution, lie side by side and need no further index:
--
--     root.id         a small number
--     distribution.id root.id << 20 | n           up to 1,048,576 in a root
--     entry_point.id  distribution.id << 24 | n   up to 16,777,216 in one
--
-- Paths are relative to the prefix that the file belongs to, or absolute where
-- there is none. Times are nanoseconds since 1970.

PRAGMA application_id = 1162888265; -- "EPDI"
PRAGMA user_version = 1;

-- A directory, zip or egg that can stand on sys.path, or a catalogued archive.
CREATE TABLE root (
	id            INTEGER PRIMARY KEY,
	path          TEXT NOT NULL UNIQUE,
	kind          TEXT NOT NULL CHECK (kind IN ('directory', 'zip', 'archive', 'absent')),
	mtime         INTEGER NOT NULL,
	ctime         INTEGER NOT NULL,
	dev           INTEGER NOT NULL,
	settled       INTEGER NOT NULL, -- 0: it changed while, or just as, it was read
	distributions INTEGER NOT NULL, -- how many rows below, how many of them broken,
	broken        INTEGER NOT NULL, -- and how many compared one by one at each query
	watched       INTEGER NOT NULL
) STRICT;

-- Any child of a root whose name says that it is metadata.
CREATE TABLE distribution (
	id              INTEGER PRIMARY KEY,
	root            INTEGER NOT NULL GENERATED ALWAYS AS (id >> 20) VIRTUAL,
	directory       TEXT NOT NULL,    -- as the directory, or archive, names it
	position        INTEGER NOT NULL, -- orders stock's enumeration of the root; has gaps
	normalized_name TEXT,             -- what shadowing compares; NULL: it has no name
	contested       INTEGER NOT NULL DEFAULT 0, -- 1: another row has the same normalized_name
	name            TEXT,             -- METADATA's Name and Version
	version         TEXT,
	has_metadata    INTEGER NOT NULL, -- METADATA or PKG-INFO exists, or it is itself a file
	watched         INTEGER NOT NULL, -- 1: editable, in a source tree, or just installed
	error           TEXT,             -- why stock would raise on it; NULL: it is sound
	settled         INTEGER NOT NULL, -- 0: it changed as it was read
	directory_stamp INTEGER NOT NULL, -- digests of times and sizes: of the directory,
	files_stamp     INTEGER NOT NULL, -- and of entry_points.txt and METADATA
	record_sha256   TEXT              -- of entry_points.txt, as RECORD writes it
) STRICT;
CREATE INDEX distribution_name ON distribution (normalized_name);
CREATE INDEX distribution_error ON distribution (id) WHERE error IS NOT NULL;

-- One line of an entry_points.txt.
CREATE TABLE entry_point (
	id           INTEGER PRIMARY KEY,
	distribution INTEGER NOT NULL GENERATED ALWAYS AS (id >> 24) VIRTUAL,
	group_name   TEXT NOT NULL,
	name         TEXT NOT NULL,
	value        TEXT NOT NULL, -- as written; module is NULL where it cannot be parsed
	module       TEXT,
	attr         TEXT,
	extras       TEXT           -- comma-separated
) STRICT;
CREATE INDEX entry_point_name ON entry_point (group_name, name);

-- What a value leads to, where that is anything but a Python module at hand.
CREATE TABLE target (
	entry_point INTEGER PRIMARY KEY,
	kind        TEXT NOT NULL CHECK (kind IN ('native', 'extension', 'bundled', 'unresolved')),
	state       TEXT NOT NULL, -- ok missing no-symbol ambiguous unresolved-editable
	object      TEXT,          -- the shared object, relative to the root
	symbol      TEXT,
	machine     INTEGER,       -- ELF e_machine
	build_id    TEXT,
	sha256      TEXT           -- as RECORD writes it
) STRICT;

-- What an update, or a hook, saw happen.
CREATE TABLE event (
	id           INTEGER PRIMARY KEY,
	time         INTEGER NOT NULL, -- seconds since 1970
	action       TEXT NOT NULL,    -- index install upgrade change remove forget repair
	root         TEXT NOT NULL,
	distribution TEXT,
	old_version  TEXT,
	version      TEXT,
	detail       TEXT,
	command      TEXT,
	uid          INTEGER NOT NULL
) STRICT;

CREATE VIEW entry_points AS
SELECT r.path AS root, coalesce(d.name, d.directory) AS distribution, d.version AS version,
       e.group_name, e.name, e.value, e.module, e.attr, e.extras,
       coalesce(t.kind, 'python') AS kind, t.object, t.symbol, coalesce(t.state, 'ok') AS state
  FROM entry_point e
  JOIN distribution d ON d.id = e.distribution
  JOIN root r ON r.id = d.root
  LEFT JOIN target t ON t.entry_point = e.id
 ORDER BY r.path, d.position, e.id;

-- Names that more than one distribution of a root claims.
CREATE VIEW conflicts AS
SELECT r.path AS root, e.group_name, e.name, count(DISTINCT d.id) AS claims,
       group_concat(coalesce(d.name, d.directory) || ' ' || coalesce(d.version, '?')
                    || ' (' || e.value || ')', '; ') AS distributions
  FROM entry_point e
  JOIN distribution d ON d.id = e.distribution
  JOIN root r ON r.id = d.root
 GROUP BY r.id, e.group_name, e.name
HAVING count(DISTINCT d.id) > 1
 ORDER BY r.path, e.group_name, e.name;

-- Distributions that stock would fail on, and entry points that lead nowhere.
CREATE VIEW broken AS
SELECT r.path AS root, d.directory, NULL AS group_name, NULL AS name, d.error AS error
  FROM distribution d JOIN root r ON r.id = d.root
 WHERE d.error IS NOT NULL
UNION ALL
SELECT r.path, d.directory, e.group_name, e.name, t.state || ': ' || e.value
  FROM target t
  JOIN entry_point e ON e.id = t.entry_point
  JOIN distribution d ON d.id = e.distribution
  JOIN root r ON r.id = d.root
 WHERE t.state <> 'ok'
 ORDER BY 1, 2, 3, 4;

CREATE VIEW history AS
SELECT datetime(time, 'unixepoch') AS time, action, root, distribution, old_version, version,
       detail, command, uid
  FROM event
 ORDER BY id;
