-- Views of the JSON documents of an image: the manifest for the platform, and its layers.
-- See https://github.com/opencontainers/image-spec; also the output of `docker save`.

-- index.json or manifest.json, then the documents they name, by digest (docker: by name).
CREATE TABLE document (name TEXT PRIMARY KEY ON CONFLICT IGNORE, json TEXT NOT NULL) STRICT;
CREATE VIEW text AS SELECT name, json FROM document;
CREATE TRIGGER text_put INSTEAD OF INSERT ON text WHEN json_valid(NEW.json) BEGIN
	INSERT INTO document VALUES (NEW.name, NEW.json);
	INSERT INTO named
	SELECT c.digest FROM child c, wanted w
	 WHERE c.document = NEW.name AND c.digest IS NOT NULL
	   AND (c.architecture IS NULL OR (c.os = w.os AND c.architecture = w.architecture))
	UNION ALL
	SELECT config FROM manifest WHERE document = NEW.name AND config IS NOT NULL;
END;
CREATE VIEW known AS SELECT name AS key FROM document;

-- The members of a tarball. In docker's, a layer may be a link to another one, one directory up.
CREATE TABLE member (name TEXT PRIMARY KEY ON CONFLICT REPLACE, offset INTEGER, size INTEGER, link TEXT) STRICT;
CREATE VIEW place AS
SELECT m.name AS key, t.offset, t.size
  FROM member m JOIN member t ON t.name = coalesce(iif(m.link GLOB '../*', substr(m.link, 4), m.link), m.name)
 WHERE t.offset IS NOT NULL;

-- The requested platform, "linux/arm64/v8", as a JSON array.
CREATE TABLE asked (platform TEXT) STRICT;
CREATE VIEW wanted AS
SELECT json ->> 0 AS os, json ->> 1 AS architecture, json ->> 2 AS variant
  FROM (SELECT '["' || replace(platform, '/', '","') || '"]' AS json FROM asked);

-- The manifests of an index; its platforms only avoid reading the other manifests.
CREATE VIEW child AS
SELECT d.name AS document, e.value ->> '$.digest' AS digest, e.value ->> '$.platform.os' AS os,
       e.value ->> '$.platform.architecture' AS architecture, e.value ->> '$.platform.variant' AS variant
  FROM document d, json_each(d.json, '$.manifests') e WHERE e.type = 'object';

CREATE VIEW manifest AS
SELECT name AS document, name AS id, json ->> '$.config.digest' AS config, json AS source, '$.layers' AS path
  FROM document WHERE json_type(json, '$.config') = 'object' AND json_type(json, '$.layers') = 'array'
UNION ALL
SELECT d.name, d.name || '#' || e.key, e.value ->> '$.Config', e.value, '$.Layers'
  FROM document d, json_each(d.json) e
 WHERE d.name = 'manifest.json' AND json_type(d.json) = 'array' AND e.type = 'object';

-- The documents to read: each is parsed once for them.
CREATE TABLE named (name TEXT PRIMARY KEY ON CONFLICT IGNORE);
CREATE VIEW missing AS
SELECT name FROM named n WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.name = n.name);

CREATE VIEW image AS
SELECT m.id, c.json ->> '$.os' AS os, c.json ->> '$.architecture' AS architecture,
       coalesce(c.json ->> '$.variant', CASE c.json ->> '$.architecture' WHEN 'arm64' THEN 'v8' WHEN 'arm' THEN 'v7' END) AS variant
  FROM manifest m JOIN document c ON c.name = m.config;

CREATE VIEW chosen AS
SELECT i.id FROM image i JOIN wanted w USING (os, architecture) WHERE w.variant IS NULL OR w.variant = i.variant;

CREATE VIEW offered AS
SELECT group_concat(DISTINCT os || '/' || architecture || iif(variant IS NULL, '', '/' || variant))
  FROM (SELECT os, architecture, variant FROM child WHERE architecture <> 'unknown'
        UNION SELECT os, architecture, variant FROM image);

CREATE VIEW layer AS
SELECT m.id AS key, CASE l.type WHEN 'object' THEN l.value ->> '$.digest' ELSE l.value END,
       c.json ->> ('$.rootfs.diff_ids[' || l.key || ']'), iif(l.type = 'object', l.value ->> '$.size', NULL)
  FROM manifest m JOIN document c ON c.name = m.config, json_each(m.source, m.path) l ORDER BY l.key;

CREATE VIEW layers AS SELECT id AS key, json_array_length(source, path) FROM manifest;
