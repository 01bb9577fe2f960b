-- Views of a page of an index in JSON (PEP 691). Malformed JSON gives no rows.

CREATE TABLE page (id INTEGER PRIMARY KEY ON CONFLICT REPLACE, text TEXT);

CREATE VIEW sound AS
SELECT text FROM page
WHERE CASE WHEN json_valid(text) THEN json_extract(text, '$.meta."api-version"') LIKE '1.%' END;

CREATE VIEW file AS
SELECT value ->> '$.filename',
       value ->> '$.url',
       value ->> '$.hashes.sha256',
       coalesce(value ->> '$."core-metadata".sha256', value ->> '$."dist-info-metadata".sha256'),
       value ->> '$."requires-python"',
       value ->> '$.size',
       coalesce(value ->> '$.yanked', '') NOT IN ('', 0)
FROM sound, json_each(sound.text, '$.files') AS each
WHERE each.type = 'object';

CREATE VIEW project AS
SELECT value ->> '$.name', value ->> '$.name', NULL, NULL, NULL, NULL, NULL
FROM sound, json_each(sound.text, '$.projects') AS each
WHERE each.type = 'object';
