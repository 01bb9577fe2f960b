-- The schema of a database of entry points, defined only here.
--
-- The tables hold raw facts: names as in the directory, values as in the files, errors
-- for distributions that could not be read. Queries decide which distribution shadows
-- which. The views and the names of the tables are a contract: they may be queried with
-- sqlite3.
--
-- A database is recognized by the text of its statements, comments included
-- (identity.h): after a change inside a statement, existing databases are set aside and
-- rebuilt.
--
-- Identifiers contain those of their parents, so that the rows of a root, and of a
-- distribution, are adjacent and need no further index:
--
--     root.id         1 to 524,287
--     distribution.id root.id << 20 | n                     up to 1,048,576 in a root
--     entry_point.id  distribution.id << 24 | n             up to 8,388,608 in a distribution
--     plugin.id       distribution.id << 24 | 1 << 23 | n   up to 8,388,608 in a distribution
--     startup.id      root.id << 20 | n                     up to 65,536 in a root
--
-- Paths are relative to the prefix of the database, or absolute if it has none. Times are
-- nanoseconds since 1970.

PRAGMA application_id = 1162888265; -- "EPDI"
PRAGMA user_version = 1;

-- A directory, zip or egg for sys.path, or a catalogued archive.
CREATE TABLE root (
	id            INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 524287),
	path          TEXT NOT NULL UNIQUE,
	kind          TEXT NOT NULL CHECK (kind IN ('directory', 'zip', 'archive', 'absent')),
	mtime         INTEGER NOT NULL,
	ctime         INTEGER NOT NULL,
	inode         INTEGER NOT NULL, -- no device number: it changes with each mount
	settled       INTEGER NOT NULL, -- 0: it changed while it was read, or just before
	distributions INTEGER NOT NULL  -- number of rows
	              CHECK (distributions BETWEEN 0 AND 1048576),
	broken        INTEGER NOT NULL, -- number of rows with an error
	watched       INTEGER NOT NULL, -- number of rows compared with the disk at each query
	size          INTEGER,          -- bytes of a zip
	kinds         INTEGER NOT NULL  -- digest of the kinds of plugins that were looked for
) STRICT;

-- A file or directory in a root that is named like metadata.
CREATE TABLE distribution (
	id              INTEGER PRIMARY KEY,
	root            INTEGER NOT NULL GENERATED ALWAYS AS (id >> 20) VIRTUAL,
	directory       TEXT NOT NULL,    -- as the directory, or archive, names it
	position        INTEGER NOT NULL, -- the order in which Python sees them; has gaps
	normalized_name TEXT,             -- compared to find shadowed rows; NULL: no name
	contested       INTEGER NOT NULL DEFAULT 0, -- 1: another row has the same normalized_name
	name            TEXT,             -- METADATA's Name and Version
	version         TEXT,
	has_metadata    INTEGER NOT NULL, -- METADATA or PKG-INFO exists, or directory is a file
	watched         INTEGER NOT NULL, -- 1: editable, or in a source tree; 2: just installed
	error           TEXT,             -- why importlib.metadata would raise; NULL: none
	settled         INTEGER NOT NULL, -- 0: it changed while it was read
	directory_stamp INTEGER NOT NULL, -- digest of the directory's times and size
	files_stamp     INTEGER NOT NULL, -- digest of those of entry_points.txt and METADATA
	-- To recognize the files in copies and images, which preserve only times of
	-- modification (carried.h); NULL: there is no such file.
	entry_points_size  INTEGER, -- bytes
	entry_points_mtime INTEGER,
	metadata_size      INTEGER, -- of METADATA, PKG-INFO or an egg-info file
	metadata_mtime     INTEGER,
	record_sha256   TEXT,             -- of entry_points.txt, as RECORD writes it
	source          TEXT              -- of a package index: the version of the page that was read
) STRICT;
CREATE INDEX distribution_name ON distribution (normalized_name);
CREATE INDEX distribution_error ON distribution (id) WHERE error IS NOT NULL;

-- One line of an entry_points.txt.
CREATE TABLE entry_point (
	id           INTEGER PRIMARY KEY,
	distribution INTEGER NOT NULL GENERATED ALWAYS AS (id >> 24) VIRTUAL,
	group_name   TEXT NOT NULL,
	name         TEXT NOT NULL,
	value        TEXT NOT NULL, -- as written; if it cannot be parsed, module is NULL
	module       TEXT,
	attr         TEXT,
	extras       TEXT           -- comma-separated
) STRICT;
CREATE INDEX entry_point_name ON entry_point (group_name, name);

-- A native plugin without an entry point, found by an exported symbol. Its row in target
-- describes it.
CREATE TABLE plugin (
	id           INTEGER PRIMARY KEY,
	distribution INTEGER NOT NULL GENERATED ALWAYS AS (id >> 24) VIRTUAL,
	plugin_kind  TEXT NOT NULL, -- such as 'adbc'
	name         TEXT NOT NULL  -- by which its host knows it
) STRICT;
CREATE INDEX plugin_name ON plugin (plugin_kind, name);

-- The target of an entry point, unless it is an existing Python module; the shared object of
-- a plugin.
CREATE TABLE target (
	entry_point INTEGER PRIMARY KEY, -- or the plugin's id
	kind        TEXT NOT NULL CHECK (kind IN ('native', 'extension', 'bundled', 'unresolved')),
	state       TEXT NOT NULL CHECK (state IN ('ok', 'missing', 'no-symbol', 'ambiguous',
	                                           'unresolved-editable', 'wrong-architecture',
	                                           'missing-dependency', 'needs-host',
	                                           'not-examined')),
	object      TEXT,          -- the shared object, relative to the root
	symbol      TEXT,
	machine     INTEGER,       -- ELF e_machine
	build_id    TEXT,
	sha256      TEXT,          -- as RECORD writes it
	size        INTEGER,       -- of the object, in bytes
	-- What the dynamic linker would find, needed libraries included; lists are
	-- space-separated:
	glibc       TEXT,          -- the newest version of the C library that is needed
	glibcxx     TEXT,          -- of the C++ library: "3.4.30" is GLIBCXX_3.4.30
	missing     TEXT,          -- missing libraries and versions of libraries
	undefined   TEXT,          -- the first few symbols that only a host can define
	python_by   TEXT           -- the needed library that itself needs Python
) STRICT;

-- Code in a site directory that Python runs at each start.
CREATE TABLE startup (
	id   INTEGER PRIMARY KEY CHECK (id & 1048575 < 65536),
	root INTEGER NOT NULL GENERATED ALWAYS AS (id >> 20) VIRTUAL,
	file TEXT NOT NULL,
	line INTEGER NOT NULL, -- 0: a module, or the file was not read
	kind TEXT NOT NULL CHECK (kind IN ('import', 'start', 'module')), -- see startup.h
	code TEXT NOT NULL
) STRICT;

-- The audit trail: changes seen by updates.
CREATE TABLE event (
	id           INTEGER PRIMARY KEY,
	time         INTEGER NOT NULL, -- seconds since 1970
	action       TEXT NOT NULL,    -- index install upgrade downgrade change remove forget repair
	                               -- entry-point entry-point-gone entry-point-changed
	                               -- startup startup-gone
	root         TEXT NOT NULL,
	distribution TEXT,
	old_version  TEXT,
	version      TEXT,
	detail       TEXT,
	command      TEXT,
	uid          INTEGER NOT NULL
) STRICT;

-- The published file. If it has another inode or time now, it was copied, unpacked or mounted
-- as part of an image, probably together with its trees (carried.h).
CREATE TABLE publication (
	id     INTEGER PRIMARY KEY CHECK (id = 1),
	inode  INTEGER NOT NULL,
	time   INTEGER NOT NULL,
	sealed INTEGER NOT NULL -- 1: made for an image, without times
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

CREATE VIEW plugins AS
SELECT r.path AS root, coalesce(d.name, d.directory) AS distribution, d.version AS version,
       p.plugin_kind AS kind, p.name, t.kind AS object_kind, t.object, t.symbol, t.state, t.build_id, t.size,
       t.glibc, t.glibcxx, t.missing, t.undefined, t.python_by
  FROM plugin p
  JOIN target t ON t.entry_point = p.id
  JOIN distribution d ON d.id = p.distribution
  JOIN root r ON r.id = d.root
 ORDER BY p.plugin_kind, p.name, r.path, d.position, p.id;

-- Entry points of one name in several distributions of a root.
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

-- Distributions on which importlib.metadata would fail, and unresolved entry points.
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
 WHERE t.state NOT IN ('ok', 'needs-host', 'not-examined')
 ORDER BY 1, 2, 3, 4;

CREATE VIEW startup_code AS
SELECT r.path AS root, s.file, s.line, s.kind, s.code
  FROM startup s JOIN root r ON r.id = s.root
 ORDER BY r.path, s.id;

CREATE VIEW history AS
SELECT datetime(time, 'unixepoch') AS time, action, root, distribution, old_version, version,
       detail, command, uid
  FROM event
 ORDER BY id;
