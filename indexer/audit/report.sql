-- The output of `entrydb audit`: text, JSON lines, SARIF and HTML.

-- All findings, filled by the program from the views of the rules.
CREATE TABLE finding (
	id INTEGER PRIMARY KEY, rule TEXT NOT NULL, site INTEGER NOT NULL, distribution INTEGER, entry_point INTEGER,
	file TEXT, evidence TEXT, message TEXT
) STRICT;

-- Findings with the names of their subjects, in output order: by level, rule, and subject.
CREATE VIEW judged AS
SELECT f.id AS finding, f.rule, r.level, d.title AS distribution, d.version, e.group_name, e.name,
       CASE WHEN f.file IS NULL THEN s.path WHEN f.file GLOB '/*' THEN f.file ELSE s.path || '/' || f.file END AS file,
       f.message, s.id AS site, s.prefix, r.position, s.path, f.file AS named, f.evidence
  FROM finding f JOIN rule r ON r.name = f.rule JOIN site s ON s.id = f.site
  LEFT JOIN distribution d ON d.id = f.distribution LEFT JOIN entry_point e ON e.id = f.entry_point
 ORDER BY CASE r.level WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, r.position,
          s.id, e.group_name, d.title, d.id, e.name, f.file, f.message;

-- The position in that order, and a unique fingerprint of 32 hexadecimal digits.
CREATE TABLE place (place INTEGER PRIMARY KEY, finding INTEGER NOT NULL, fingerprint TEXT NOT NULL) STRICT;

-- The fingerprints of --baseline, by line of its file; inserted through baseline_line.
CREATE TABLE known (line INTEGER PRIMARY KEY, fingerprint TEXT) STRICT;
CREATE INDEX known_fingerprint ON known (fingerprint);
CREATE VIEW baseline_line AS SELECT line, '' AS text FROM known;
CREATE TRIGGER baseline_line_put INSTEAD OF INSERT ON baseline_line BEGIN
	INSERT INTO known VALUES (NEW.line, CASE WHEN json_valid(NEW.text) AND json_type(NEW.text) = 'object'
	                                    THEN json_extract(NEW.text, '$.fingerprint') END);
END;
CREATE VIEW no_fingerprint AS
SELECT line FROM known WHERE line > 0 AND coalesce(length(fingerprint), 0) <> 32 ORDER BY line;

CREATE VIEW told AS
SELECT rule, level, distribution, version, group_name, name, file, message, fingerprint, site, prefix, position, place,
       fingerprint IN (SELECT fingerprint FROM known) AS is_known
  FROM place JOIN judged USING (finding) ORDER BY place;

CREATE VIEW fresh AS SELECT * FROM told WHERE NOT is_known;

CREATE VIEW summary AS
SELECT errors, warnings, notes,
       errors || iif(errors = 1, ' error, ', ' errors, ') || warnings || iif(warnings = 1, ' warning, ', ' warnings, ')
       || notes || iif(notes = 1, ' note', ' notes') || iif(known > 0, ', ' || known || ' known before', '')
  FROM (SELECT count(*) FILTER (WHERE level = 'error' AND NOT is_known) AS errors,
               count(*) FILTER (WHERE level = 'warning' AND NOT is_known) AS warnings,
               count(*) FILTER (WHERE level = 'note' AND NOT is_known) AS notes, count(*) FILTER (WHERE is_known) AS known
          FROM told);

-- Text output groups similar findings: an environment may have a hundred pytest plugins, which take
-- one line. Notes are grouped by host, "opentelemetry" for "opentelemetry_context"; warnings by
-- distribution and group, with all names listed. Errors, and groups of up to three, are printed one
-- by one.
CREATE VIEW of_a_kind AS
SELECT *, count(*) OVER kinds AS count, min(place) OVER kinds AS first
  FROM (SELECT *, coalesce(distribution, '') AS owner,
               CASE WHEN level = 'note'
                    THEN substr(group_name, 1, min(instr(group_name || '.', '.'), instr(group_name || '_', '_')) - 1)
                    ELSE group_name END AS family,
               CASE WHEN level = 'warning' THEN distribution WHEN level = 'error' THEN place END AS apart
          FROM fresh)
WINDOW kinds AS (PARTITION BY rule, site, family, apart, iif(level = 'note' OR family IS NOT NULL, 0, place));

-- The names that a grouped line lists: the first six distributions of notes, all entry points of
-- warnings.
CREATE VIEW named_together AS
SELECT *, sum(again = 1) OVER so_far AS nth, first_value(group_name) OVER so_far AS first_group
  FROM (SELECT *, row_number() OVER (PARTITION BY first, word ORDER BY place) AS again
          FROM (SELECT *, iif(level = 'note', owner, name) AS word FROM of_a_kind WHERE count > 3))
WINDOW so_far AS (PARTITION BY first ORDER BY place)
 ORDER BY first, place;

CREATE VIEW line AS
SELECT level, rule, owner || coalesce(' ' || version, '') AS distribution, coalesce(group_name || '/' || name, '') AS entry_point,
       message, prefix, place
  FROM of_a_kind WHERE count <= 3
UNION ALL
SELECT level, rule,
       iif(level = 'note', max(nth) || iif(max(nth) = 1, ' distribution', ' distributions'), owner),
       coalesce(family || iif(family <> first_group, '*', '') || ' ', '') || '(' || count || ')',
       group_concat(word, ', ') FILTER (WHERE again = 1 AND (nth <= 6 OR level = 'warning'))
       || iif(level = 'note', iif(max(nth) > 6, ', ...', '') || ' (--json lists all)', ''),
       prefix, first
  FROM named_together GROUP BY first
 ORDER BY place;

-- --- SARIF 2.1.0, for code scanning ---
-- https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

-- RFC 3986: percent-encode all bytes but unreserved characters and the slash.
CREATE VIEW uri AS
WITH made AS MATERIALIZED (
	SELECT path, coalesce((
	       WITH RECURSIVE place (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM place WHERE at <= length(bytes))
	       SELECT group_concat(iif(CAST(substr(bytes, at, 1) AS TEXT) GLOB '[A-Za-z0-9._~/-]',
	                               CAST(substr(bytes, at, 1) AS TEXT), '%' || hex(substr(bytes, at, 1))), '')
	         FROM place WHERE at <= length(bytes)), '') AS uri
	  FROM (SELECT prefix AS path, CAST(prefix AS BLOB) AS bytes FROM site UNION SELECT file, CAST(file AS BLOB) FROM told))
SELECT path, uri FROM made;

-- Paths are relative to the prefix of the environment, so that results do not depend on its
-- location.
CREATE VIEW sarif_result AS
SELECT json_patch(
	json_object(
		'ruleId', t.rule, 'ruleIndex', t.position - 1, 'level', t.level, 'message', json_object('text', t.message),
		'locations', json_array(json_patch(
			json_object('physicalLocation', json_object('artifactLocation', iif(
				substr(f.path, 1, length(p.path) + 1) = p.path || '/',
				json_object('uri', substr(f.uri, length(p.uri) + 2), 'uriBaseId', 'ENVIRONMENT' || t.site),
				json_object('uri', 'file://' || f.uri)))),
			json_object('logicalLocations', iif(
				t.name IS NULL, NULL,
				json_array(json_object('name', t.name, 'fullyQualifiedName', t.group_name)))))),
		'partialFingerprints', json_object('entrydb/v1', t.fingerprint),
		'properties', json_object('distribution', t.distribution)),
	json_object('baselineState', iif(EXISTS (SELECT 1 FROM known), iif(t.is_known, 'unchanged', 'new'), NULL))) AS json,
       t.place
  FROM told t JOIN uri f ON f.path = t.file JOIN uri p ON p.path = t.prefix;

-- One result per line.
CREATE TABLE program (version TEXT PRIMARY KEY ON CONFLICT IGNORE) STRICT;
CREATE VIEW sarif AS
SELECT '{"$schema":"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",'
       || '"version":"2.1.0","runs":[{"tool":' || json_object('driver', json_object(
           'name', 'entrydb audit', 'version', p.version, 'rules', (
               SELECT json_group_array(json_object(
                          'id', name, 'shortDescription', json_object('text', what), 'help', json_object('text', remedy),
                          'defaultConfiguration', json_object('level', level)))
                 FROM (SELECT * FROM rule ORDER BY position))))
       || ',"originalUriBaseIds":' || (
           SELECT json_group_object('ENVIRONMENT' || s.id, json_object('uri', 'file://' || u.uri || '/'))
             FROM site s JOIN uri u ON u.path = s.prefix)
       || ',"results":[' || char(10)
       || (SELECT coalesce(group_concat(json, ',' || char(10)), '') FROM (SELECT json FROM sarif_result ORDER BY place))
       || char(10) || ']}]}' || char(10) AS json
  FROM program p;

-- --- data of page.html ---

CREATE VIEW page AS
SELECT json_object(
	'version', version,
	'environments', (SELECT json_group_array(prefix) FROM (SELECT DISTINCT prefix FROM site ORDER BY id)),
	'rules', (SELECT json_group_object(name, json_object('what', what, 'remedy', remedy)) FROM rule),
	'findings', (SELECT json_group_array(json_object(
			'level', level, 'rule', rule, 'distribution', distribution, 'version', version, 'group', group_name,
			'name', name, 'file', file, 'message', message))
		  FROM (SELECT * FROM fresh ORDER BY place)))
  FROM program;
