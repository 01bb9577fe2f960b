-- The data model of `entrydb audit`: tables that the program fills, and the queries it runs while
-- filling them.
--
-- facts.sql, lists.sql, rules.sql and report.sql form one script. Nothing here is stored in the
-- published database. `entrydb audit --facts FILE` keeps the audit's own database, in which each
-- rule can be queried:
--
--     sqlite3 FILE 'SELECT message FROM "command-hijack"'

-- A site directory.
CREATE TABLE site (
	id       INTEGER PRIMARY KEY,
	path     TEXT NOT NULL,    -- absolute
	prefix   TEXT NOT NULL,    -- of its environment, or ''
	commands TEXT,             -- the directory of its commands, or NULL
	managed  INTEGER NOT NULL, -- 1: maintained by the system's package manager
	is_conda INTEGER NOT NULL  -- 1: in a conda environment
) STRICT;

CREATE TABLE distribution (
	id              INTEGER PRIMARY KEY,
	site            INTEGER NOT NULL,
	directory       TEXT NOT NULL,
	title           TEXT NOT NULL,    -- its name, or its directory if it has none
	normalized_name TEXT,
	version         TEXT,
	error           TEXT,             -- why importlib.metadata raises an exception on it
	installer       TEXT,             -- INSTALLER
	direct_url      TEXT,             -- direct_url.json
	has_record      INTEGER NOT NULL,
	is_info         INTEGER AS (directory GLOB '*.dist-info'),
	url             TEXT AS (iif(direct_url IS NULL, NULL, coalesce(
	                    iif(json_valid(direct_url), CAST(json_extract(direct_url, '$.url') AS TEXT), NULL),
	                    'where direct_url.json does not tell'))) STORED,
	is_editable     INTEGER AS (coalesce(
	                    iif(json_valid(direct_url), json_extract(direct_url, '$.dir_info.editable') = 1, 0), 0)) STORED
) STRICT;
CREATE INDEX distribution_name ON distribution (normalized_name);
CREATE INDEX distribution_title ON distribution (site, title);

CREATE TABLE entry_point (
	id INTEGER PRIMARY KEY, distribution INTEGER NOT NULL, group_name TEXT NOT NULL, name TEXT NOT NULL,
	value TEXT NOT NULL, module TEXT, kind TEXT NOT NULL, state TEXT NOT NULL, object TEXT, missing TEXT,
	is_command INTEGER AS (group_name IN ('console_scripts', 'gui_scripts')) STORED
) STRICT;
CREATE INDEX entry_point_command ON entry_point (name, distribution) WHERE is_command;
CREATE INDEX entry_point_module ON entry_point (module);
CREATE INDEX entry_point_of ON entry_point (distribution);

-- The files of the modules that entry points name, from RECORD, relative to the site. If many
-- distributions list a module, only those whose entry points name it and a few others.
CREATE TABLE owner (module TEXT NOT NULL, distribution INTEGER NOT NULL, file TEXT NOT NULL,
                    has_hash INTEGER NOT NULL) STRICT;
CREATE INDEX owner_module ON owner (module, distribution);
CREATE INDEX owner_file ON owner (file);
CREATE INDEX owner_of ON owner (distribution);

-- Normalized names of required distributions, from METADATA; filled only where a rule needs them.
CREATE TABLE requirement (distribution INTEGER NOT NULL, name TEXT NOT NULL) STRICT;
CREATE INDEX requirement_of ON requirement (distribution, name);

-- import: the file from which Python would import a module or its parent package, if no RECORD
-- lists it. outside: an entry point with a symbolic link out of the environment.
CREATE TABLE import (site INTEGER NOT NULL, module TEXT NOT NULL, file TEXT NOT NULL) STRICT;
CREATE TABLE outside (entry_point INTEGER PRIMARY KEY ON CONFLICT IGNORE, target TEXT NOT NULL) STRICT;

CREATE TABLE startup (site INTEGER NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL,
                      code TEXT NOT NULL) STRICT;
CREATE INDEX startup_of ON startup (site);
-- The distribution whose RECORD lists a file of start-up code.
CREATE TABLE startup_owner (site INTEGER NOT NULL, file TEXT NOT NULL, distribution INTEGER NOT NULL,
                            has_hash INTEGER NOT NULL) STRICT;
CREATE INDEX startup_owner_file ON startup_owner (site, file);
-- A directory or zip, added by a .pth file, that contains distributions.
CREATE TABLE added (site INTEGER NOT NULL, place TEXT NOT NULL, distributions INTEGER NOT NULL) STRICT;

-- Problems found by the program rather than by a query in rules.sql, by the name of the rule.
CREATE TABLE complaint (rule TEXT NOT NULL, site INTEGER NOT NULL, distribution INTEGER, file TEXT NOT NULL,
                        what TEXT NOT NULL) STRICT;
CREATE INDEX complaint_of ON complaint (rule, distribution);

-- Bytecode that Python runs instead of its source. what: the problem with its permissions; NULL:
-- the bytecode is never checked against the source.
CREATE TABLE bytecode (site INTEGER NOT NULL, file TEXT NOT NULL, source TEXT NOT NULL, what TEXT) STRICT;

-- other_command: another program of the same name on the PATH, 'before' or 'behind' ours, or
-- 'aside' if ours is not on the PATH. script: the script of a command that several distributions
-- claim.
CREATE TABLE other_command (entry_point INTEGER NOT NULL, path TEXT NOT NULL, place TEXT NOT NULL) STRICT;
CREATE INDEX other_command_of ON other_command (entry_point);
CREATE TABLE script (entry_point INTEGER PRIMARY KEY, path TEXT NOT NULL, runs_it INTEGER NOT NULL) STRICT;

-- RECORD lines outside of the site directory, or in the metadata of another distribution.
CREATE TABLE stray (distribution INTEGER NOT NULL, path TEXT NOT NULL) STRICT;

-- A command without an entry point: a file in bin/ that a RECORD lists.
CREATE VIEW plain_command AS
SELECT t.distribution, substr(t.path, length('../../../bin/') + 1) AS name, t.path AS file
  FROM stray t JOIN distribution d ON d.id = t.distribution JOIN site s ON s.id = d.site
 WHERE t.path GLOB '../../../bin/*' AND t.path NOT GLOB '../../../bin/*/*' AND s.commands IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM entry_point e
                    WHERE e.is_command AND e.name = substr(t.path, length('../../../bin/') + 1)
                      AND e.distribution = t.distribution);

-- The nearest well-known command at edit distance one. likeness: 1, at the beginning or end; 2, of
-- a letter within the name; 3, a typing error that is unlikely to be deliberate.
CREATE TABLE near_command (name TEXT PRIMARY KEY, known TEXT NOT NULL, likeness INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- Problems with names: 'control', 'confusable' (shown: the name it resembles), 'path', 'mismatch'
-- (shown: the name in METADATA).
CREATE TABLE trait (distribution INTEGER NOT NULL, entry_point INTEGER, trait TEXT NOT NULL,
                    field TEXT NOT NULL, shown TEXT NOT NULL) STRICT;

-- Quarantined builds of shared objects, with the reason; and the build ID of objects by path.
CREATE TABLE quarantine (build TEXT PRIMARY KEY ON CONFLICT REPLACE, reason TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE object (path TEXT PRIMARY KEY, build TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- Entry points forbidden by policy.
CREATE TABLE forbidden_entry (entry_point INTEGER PRIMARY KEY, reason TEXT NOT NULL) STRICT;

CREATE TABLE event (
	id INTEGER PRIMARY KEY, site INTEGER NOT NULL, time INTEGER NOT NULL, action TEXT NOT NULL, distribution TEXT,
	old_version TEXT, version TEXT, detail TEXT, command TEXT, uid INTEGER NOT NULL
) STRICT;
CREATE INDEX event_of ON event (site, distribution);

-- The arguments of --since and the time of the call; empty: no news is reported. The period in
-- seconds since 1970; -1 for an argument that is neither a time nor a duration.
CREATE TABLE asked (now INTEGER NOT NULL, since TEXT NOT NULL, until TEXT) STRICT;
CREATE VIEW period AS
SELECT coalesce(strftime('%s', since), strftime('%s', now, 'unixepoch', '-' || since), -1) + 0 AS begins,
       iif(until IS NULL, 9223372036854775807,
           coalesce(strftime('%s', until), strftime('%s', now, 'unixepoch', '-' || until), -1) + 0) AS ends
  FROM asked;

-- An entry point with the columns that the rules use.
CREATE VIEW announced AS
SELECT e.*, d.site, d.title, d.normalized_name, d.directory, d.is_editable, d.has_record, s.managed,
       s.commands, s.prefix, s.path, d.directory || '/entry_points.txt' AS file,
       e.group_name || '/' || e.name AS label
  FROM entry_point e JOIN distribution d ON d.id = e.distribution JOIN site s ON s.id = d.site;

-- Commands, with and without entry points, and what they run.
CREATE VIEW command AS
SELECT site, distribution, id AS entry_point, name, file, value, normalized_name, managed
  FROM announced WHERE is_command
UNION ALL
SELECT d.site, d.id, NULL, p.name, p.file, p.file, d.normalized_name, s.managed
  FROM plain_command p JOIN distribution d ON d.id = p.distribution JOIN site s ON s.id = d.site;

-- --- queries of the program ---

CREATE VIEW may_be_forbidden AS SELECT site AS key, id, group_name, name, title FROM announced;

-- "a.b.c" and the packages that are imported before it, "a.b" and "a".
CREATE VIEW may_be_unlisted AS
WITH RECURSIVE part (site, path, module, depth) AS (
	SELECT site, path, module, 0 FROM announced
	 WHERE module <> '' AND kind IN ('python', 'extension') AND NOT managed AND has_record
	 UNION
	SELECT site, path, rtrim(rtrim(module, replace(module, '.', '')), '.'), depth + 1 FROM part
	 WHERE instr(module, '.') AND depth < 16) -- none is nested more deeply
SELECT DISTINCT site, path, module FROM part WHERE module <> '' ORDER BY site, module;
-- Modules found on disk, other than directories without __init__, which no RECORD lists.
CREATE VIEW found AS SELECT site, module, file FROM import;
CREATE TRIGGER found_put INSTEAD OF INSERT ON found
WHEN NEW.file GLOB '*.py' OR NEW.file GLOB '*.so' OR NEW.file GLOB '*.pyc' BEGIN
	INSERT INTO import
	SELECT NEW.site, NEW.module, NEW.file
	 WHERE NOT EXISTS (SELECT 1 FROM owner o JOIN distribution d ON d.id = o.distribution
	                    WHERE o.file = NEW.file AND d.site = NEW.site);
END;
-- The first of them for each entry point.
CREATE VIEW unlisted AS
SELECT a.id AS entry_point, min(i.module) AS module, i.file
  FROM import i CROSS JOIN entry_point e ON e.module = i.module OR (e.module > i.module || '.' AND e.module < i.module || '/')
  CROSS JOIN announced a ON a.id = e.id AND a.site = i.site
 WHERE a.kind IN ('python', 'extension') AND NOT a.managed AND a.has_record
 GROUP BY a.id;

CREATE VIEW may_be_outside AS
SELECT a.id, a.prefix, a.path || '/' || o.file AS path
  FROM announced a JOIN owner o ON o.module = a.module AND o.distribution = a.distribution
 WHERE NOT a.managed
UNION ALL
SELECT id, prefix, commands || '/' || name FROM announced
 WHERE is_command AND commands IS NOT NULL AND NOT managed AND NOT instr(name, '/')
UNION ALL
SELECT a.id, a.prefix, a.path || '/' || u.file FROM unlisted u JOIN announced a ON a.id = u.entry_point;

-- Paths whose permissions matter: directories of commands and distributions, start-up code,
-- entry_points.txt, the files of modules that entry points name and their directories, scripts.
CREATE VIEW may_be_writable AS -- a UNION would be made of all sites for each
SELECT DISTINCT * FROM (
SELECT id AS key, NULL, commands AS file FROM site WHERE commands IS NOT NULL
UNION ALL
SELECT site, NULL, file FROM startup
UNION ALL
SELECT site, id, directory FROM distribution
UNION ALL
SELECT site, distribution, file FROM announced
UNION ALL
SELECT d.site, d.id, o.file FROM distribution d CROSS JOIN owner o ON o.distribution = d.id
UNION ALL
SELECT d.site, d.id, rtrim(rtrim(o.file, replace(o.file, '/', '')), '/')
  FROM distribution d CROSS JOIN owner o ON o.distribution = d.id WHERE instr(o.file, '/')
UNION ALL
SELECT site, distribution, commands || '/' || name FROM announced
 WHERE is_command AND commands IS NOT NULL AND NOT instr(name, '/'));

-- Sources below the site that run when imported or at start-up: each directory, with a trailing
-- slash, and the names of its files without ".py".
CREATE VIEW runs_from_source AS
SELECT r.site, s.path, r.directory,
       group_concat(substr(r.file, length(r.directory) + 1, length(r.file) - length(r.directory) - 3), '/')
  FROM (SELECT site, file, rtrim(file, replace(file, '/', '')) AS directory
          FROM (SELECT d.site, o.file FROM owner o CROSS JOIN distribution d ON d.id = o.distribution
                UNION SELECT a.site, u.file FROM unlisted u JOIN announced a ON a.id = u.entry_point
                UNION SELECT u.site, u.file FROM startup u WHERE u.kind = 'module')
         WHERE file GLOB '*.py') r JOIN site s ON s.id = r.site
 WHERE NOT s.managed
 GROUP BY r.site, directory;

CREATE VIEW may_be_hidden AS
SELECT id, commands, name, module, title FROM announced
 WHERE is_command AND commands IS NOT NULL AND prefix <> '' AND NOT managed;

CREATE VIEW may_be_slip AS
SELECT DISTINCT name FROM command WHERE name NOT IN (SELECT name FROM known_command);

CREATE VIEW may_be_quarantined AS
SELECT DISTINCT path || '/' || object AS path FROM announced
 WHERE object IS NOT NULL AND EXISTS (SELECT 1 FROM quarantine);

-- Scripts that several distributions claim; entry points that refer to modules of other
-- distributions.
CREATE VIEW may_run_another AS
SELECT id, commands || '/' || name AS path, module, title FROM announced
 WHERE id IN (SELECT entry_point FROM "command-conflict");
CREATE VIEW may_require_others AS
SELECT d.id, s.path, d.directory FROM distribution d JOIN site s ON s.id = d.site
 WHERE d.id IN (SELECT distribution FROM "module-foreign");
