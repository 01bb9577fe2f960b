-- What `entrydb audit` tells of what its rules have found.

-- All that the rules say, one after the other; the program fills it from their views.
CREATE TABLE finding (
	id           INTEGER PRIMARY KEY,
	rule         TEXT NOT NULL,
	site         INTEGER NOT NULL,
	distribution INTEGER,
	entry_point  INTEGER,
	file         TEXT,
	evidence     TEXT,
	message      TEXT
) STRICT;

-- What tells a finding from all others, in digits; and those of --baseline, by the lines of its
-- file, which are put in by baseline_line.
CREATE TABLE fingerprint (finding INTEGER PRIMARY KEY, digits TEXT NOT NULL) STRICT;
CREATE TABLE known (line INTEGER PRIMARY KEY, digits TEXT) STRICT;
CREATE INDEX known_digits ON known (digits);
CREATE VIEW baseline_line AS SELECT line, '' AS text FROM known;
CREATE TRIGGER baseline_line_put INSTEAD OF INSERT ON baseline_line BEGIN
	INSERT INTO known VALUES (NEW.line, CASE WHEN json_valid(NEW.text) AND json_type(NEW.text) = 'object'
	                                    THEN json_extract(NEW.text, '$.fingerprint') END);
END;
CREATE VIEW no_fingerprint AS SELECT line FROM known WHERE coalesce(length(digits), 0) <> 32 ORDER BY line;

-- Each with whom it concerns, in the order in which it is told: by level, by rule, by whom.
CREATE VIEW told AS
SELECT f.rule, r.level, d.title, d.version, e.group_name, e.name,
       CASE WHEN f.file IS NULL THEN s.path WHEN f.file GLOB '/*' THEN f.file ELSE s.path || '/' || f.file END AS file,
       f.message, p.digits, p.digits IN (SELECT digits FROM known) AS is_known, s.id AS site, s.prefix,
       r.position - 1 AS rule_index, f.id, s.path, f.file AS named, f.evidence,
       row_number() OVER (ORDER BY CASE r.level WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, r.position,
                                   s.id, e.group_name, d.title, d.id, e.name, f.file, f.message) AS place
  FROM finding f JOIN rule r ON r.name = f.rule JOIN site s ON s.id = f.site
  LEFT JOIN distribution d ON d.id = f.distribution LEFT JOIN entry_point e ON e.id = f.entry_point
  LEFT JOIN fingerprint p ON p.finding = f.id
 ORDER BY place;

CREATE VIEW fresh AS SELECT * FROM told WHERE NOT is_known;

CREATE VIEW summary AS
SELECT count(*) FILTER (WHERE level = 'error' AND NOT is_known), count(*) FILTER (WHERE level = 'warning' AND NOT is_known),
       count(*) FILTER (WHERE level = 'note' AND NOT is_known), count(*) FILTER (WHERE is_known)
  FROM told;

-- For people, notes of one kind are told together: an environment has a hundred plugins of pytest,
-- and one line says so. "opentelemetry" of "opentelemetry_context": groups of one host are one
-- kind. So are warnings about one group of one distribution, which are all named. Errors, and up
-- to three of a kind, are told one by one.
CREATE VIEW of_a_kind AS
SELECT *, count(*) OVER kinds AS count, min(place) OVER kinds AS first
  FROM (SELECT *, coalesce(title, '') AS owner,
               CASE WHEN level = 'note'
                    THEN substr(group_name, 1, min(instr(group_name || '.', '.'), instr(group_name || '_', '_')) - 1)
                    ELSE group_name END AS family,
               CASE WHEN level = 'warning' THEN title WHEN level = 'error' THEN id END AS apart
          FROM fresh)
WINDOW kinds AS (PARTITION BY rule, site, family, apart, iif(level = 'note' OR family IS NOT NULL, 0, id));

-- Whom a line names: the distributions of notes, the first six; the names of warnings.
CREATE VIEW named_together AS
SELECT first, level, iif(level = 'note', owner, name) AS word,
       row_number() OVER (PARTITION BY first ORDER BY min(place)) AS nth
  FROM of_a_kind WHERE count > 3 GROUP BY first, word ORDER BY first, min(place);

CREATE VIEW line AS
SELECT level, rule, owner || coalesce(' ' || version, '') AS distribution, coalesce(group_name || '/' || name, '') AS entry_point,
       message, prefix, place
  FROM of_a_kind WHERE count <= 3
UNION ALL
SELECT k.level, k.rule,
       iif(k.level = 'note', count(n.word) || iif(count(n.word) = 1, ' distribution', ' distributions'), k.owner),
       coalesce(k.family || iif(k.family <> k.group_name, '*', '') || ' ', '') || '(' || k.count || ')',
       group_concat(n.word, ', ') FILTER (WHERE n.nth <= 6 OR n.level = 'warning')
       || iif(k.level = 'note', iif(count(n.word) > 6, ', ...', '') || ' (--json lists all)', ''),
       k.prefix, k.place
  FROM of_a_kind k JOIN named_together n ON n.first = k.first
 WHERE k.place = k.first AND k.count > 3 GROUP BY k.first
 ORDER BY place;
