-- What SQLite's functions for JSON find in a text: a page of an index (PEP 691), or a line of what
-- has been read before. Malformed text has no rows.

CREATE TABLE page (id INTEGER PRIMARY KEY ON CONFLICT REPLACE, text TEXT);

CREATE VIEW sound AS
SELECT CASE WHEN json_valid(text) THEN text ELSE '{}' END AS text FROM page;

CREATE VIEW is_page AS
SELECT 1 FROM sound
WHERE json_extract(text, '$.meta."api-version"') LIKE '1.%';

CREATE VIEW file AS
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

CREATE VIEW project AS
SELECT json_extract(value, '$.name')
FROM sound, json_each(sound.text, '$.projects') AS each
WHERE each.type = 'object';

-- A line of the cache: [PROJECT, FOR, ETAG, [[FILE, INFO, NAME, VERSION, ERROR, ENTRY POINTS, CHECKED], ...]]
CREATE VIEW line AS
SELECT json_extract(text, '$[0]'), json_extract(text, '$[1]'), json_extract(text, '$[2]')
FROM sound WHERE json_array_length(text) = 4;

CREATE VIEW wheel AS
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
       json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
       json_extract(value, '$[6]')
FROM sound, json_each(sound.text, '$[3]') AS each
WHERE each.type = 'array';
