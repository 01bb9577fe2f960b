-- What SQLite's functions for JSON find in a page of an index (PEP 691). Malformed text has no rows.

CREATE TEMP TABLE page (id INTEGER PRIMARY KEY ON CONFLICT REPLACE, text TEXT);

CREATE TEMP VIEW sound AS
SELECT CASE WHEN json_valid(text) THEN text ELSE '{}' END AS text FROM page;

CREATE TEMP VIEW is_page AS
SELECT 1 FROM sound
WHERE json_extract(text, '$.meta."api-version"') LIKE '1.%';

CREATE TEMP VIEW file AS
SELECT json_extract(value, '$.filename'),
       json_extract(value, '$.url'),
       json_extract(value, '$.hashes.sha256'),
       coalesce(json_extract(value, '$."core-metadata".sha256'),
                json_extract(value, '$."dist-info-metadata".sha256')),
       json_extract(value, '$."requires-python"'),
       json_extract(value, '$.size'),
       json_type(value, '$.yanked') IN ('true', 'text')
FROM sound, json_each(sound.text, '$.files') AS each
WHERE each.type = 'object';

CREATE TEMP VIEW project AS
SELECT json_extract(value, '$.name')
FROM sound, json_each(sound.text, '$.projects') AS each
WHERE each.type = 'object';


-- What has been read, in the user's own file.
CREATE TABLE IF NOT EXISTS project_read (
	key      TEXT PRIMARY KEY ON CONFLICT REPLACE, -- the normalized name
	made_for TEXT NOT NULL,
	etag     TEXT,
	read     INTEGER NOT NULL -- seconds since 1970; 0: by a run that has ended
);
CREATE TABLE IF NOT EXISTS wheel (
	key  TEXT NOT NULL, -- the project
	file TEXT NOT NULL, info TEXT, name TEXT, version TEXT, error TEXT, entry_points TEXT, checked TEXT,
	PRIMARY KEY (key, file) ON CONFLICT REPLACE
);
CREATE TEMP TABLE run_ended (id INTEGER);
CREATE TEMP TRIGGER read_again BEFORE INSERT ON main.project_read
BEGIN DELETE FROM wheel WHERE key = new.key; END;
CREATE TEMP TRIGGER run_ends AFTER INSERT ON run_ended
BEGIN UPDATE project_read SET read = 0; END;
