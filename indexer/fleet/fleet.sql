-- The fleet: what many hosts have, in PostgreSQL 14 or later, with its history.
--
-- Run once by an administrator:    psql -v ON_ERROR_STOP=1 -f fleet.sql DATABASE
-- For each host, once:             CREATE ROLE web1 LOGIN ...; SELECT entrydb.enroll('web1');
-- On the host, whenever it likes:  entrydb push postgresql://web1@server/DATABASE
--
-- A host is the role that it logs in as: nothing that it sends says who it is, and row-level
-- security lets it write its own rows only. Rows are never changed but for their end: what
-- was so at a moment is what has valid_from <= moment < valid_to.

BEGIN;
CREATE SCHEMA entrydb;

DO $$ BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'entrydb_host') THEN
		CREATE ROLE entrydb_host NOLOGIN;
	END IF;
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'entrydb_reader') THEN
		CREATE ROLE entrydb_reader NOLOGIN;
	END IF;
END $$;

CREATE TABLE entrydb.host (
	id    integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	name  name NOT NULL UNIQUE, -- its role
	since timestamptz NOT NULL DEFAULT now()
);

-- Who is asking; NULL: no host.
CREATE FUNCTION entrydb.me() RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS
$$ SELECT id FROM entrydb.host WHERE name = session_user $$;

-- A database file of a host, as it was sent last.
CREATE TABLE entrydb.environment (
	id     bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	host   integer NOT NULL DEFAULT entrydb.me() REFERENCES entrydb.host ON DELETE CASCADE,
	path   text NOT NULL,
	digest text NOT NULL DEFAULT '', -- of what was sent
	pushed timestamptz NOT NULL DEFAULT now(),
	UNIQUE (host, path)
);

CREATE TABLE entrydb.distribution (
	host integer NOT NULL, environment bigint NOT NULL,
	root text NOT NULL, directory text NOT NULL, name text NOT NULL, version text, error text,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE TABLE entrydb.entry_point (
	host integer NOT NULL, environment bigint NOT NULL,
	root text NOT NULL, distribution text NOT NULL, group_name text NOT NULL, name text NOT NULL,
	value text NOT NULL, kind text NOT NULL, state text NOT NULL, object text,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE TABLE entrydb.plugin (
	host integer NOT NULL, environment bigint NOT NULL,
	root text NOT NULL, distribution text NOT NULL, kind text NOT NULL, name text NOT NULL,
	object text, symbol text, state text NOT NULL,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE TABLE entrydb.startup (
	host integer NOT NULL, environment bigint NOT NULL,
	root text NOT NULL, file text NOT NULL, line bigint NOT NULL, kind text NOT NULL, code text NOT NULL,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE TABLE entrydb.event (
	host integer NOT NULL, environment bigint NOT NULL,
	time bigint NOT NULL, action text NOT NULL, root text NOT NULL, distribution text,
	old_version text, version text, detail text, command text, uid bigint NOT NULL,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE TABLE entrydb.finding (
	host integer NOT NULL, environment bigint NOT NULL,
	rule text NOT NULL, level text NOT NULL, distribution text, version text, group_name text, name text,
	file text NOT NULL, message text NOT NULL, fingerprint text NOT NULL,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);

CREATE INDEX ON entrydb.distribution (environment);
CREATE INDEX ON entrydb.distribution (name, version);
CREATE INDEX ON entrydb.entry_point (environment);
CREATE INDEX ON entrydb.entry_point (group_name, name);
CREATE INDEX ON entrydb.plugin (environment);
CREATE INDEX ON entrydb.startup (environment);
CREATE INDEX ON entrydb.event (environment);
CREATE INDEX ON entrydb.finding (environment);
CREATE INDEX ON entrydb.finding (rule) WHERE valid_to = 'infinity';

-- The tables that a push fills.
CREATE FUNCTION entrydb.relations() RETURNS text[] LANGUAGE sql IMMUTABLE AS
$$ SELECT ARRAY['distribution', 'entry_point', 'plugin', 'startup', 'event', 'finding'] $$;

-- Each table: a host sees and writes its own rows, in its own environments, and readers see
-- all. (A foreign key would be asked row by row, at three times the cost of all else.)
DO $$
DECLARE
	relation text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['environment'] || entrydb.relations() LOOP
		EXECUTE format('ALTER TABLE entrydb.%I ENABLE ROW LEVEL SECURITY', relation);
		EXECUTE format('CREATE POLICY own ON entrydb.%I TO entrydb_host '
		               'USING (host = (SELECT entrydb.me())) WITH CHECK (host = (SELECT entrydb.me())%s)',
		               relation, CASE relation WHEN 'environment' THEN ''
		                         ELSE ' AND environment IN (SELECT id FROM entrydb.environment)' END);
		EXECUTE format('CREATE POLICY readable ON entrydb.%I FOR SELECT TO entrydb_reader USING (true)',
		               relation);
		EXECUTE format('GRANT SELECT, INSERT, UPDATE ON entrydb.%I TO entrydb_host', relation);
		EXECUTE format('GRANT SELECT ON entrydb.%I TO entrydb_reader', relation);
	END LOOP;
END $$;
GRANT USAGE ON SCHEMA entrydb TO entrydb_host, entrydb_reader;
GRANT SELECT ON entrydb.host TO entrydb_reader;

CREATE FUNCTION entrydb.enroll(host name) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	number integer;
BEGIN
	EXECUTE format('GRANT entrydb_host TO %I', host);
	INSERT INTO entrydb.host (name) VALUES (host) RETURNING id INTO number;
	RETURN number;
END $$;
REVOKE EXECUTE ON FUNCTION entrydb.enroll FROM PUBLIC;

-- A host that is no more, with all that it ever sent.
CREATE FUNCTION entrydb.retire(host name) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	relation text;
	number integer := (SELECT id FROM entrydb.host h WHERE h.name = retire.host);
BEGIN
	FOREACH relation IN ARRAY entrydb.relations() || ARRAY['environment'] LOOP
		EXECUTE format('DELETE FROM entrydb.%I WHERE host = $1', relation) USING number;
	END LOOP;
	DELETE FROM entrydb.host WHERE id = number;
END $$;
REVOKE EXECUTE ON FUNCTION entrydb.retire FROM PUBLIC;

-- What a host has at that path: entrydb.push(path, digest, columns...). One statement, so one
-- transaction and one round trip. The environment is made if there is none, and locked until
-- the end; in each table rows that are gone end, and new ones begin. Events only come: those of
-- before stay when a host has forgotten them.
--
-- The columns are those of all tables between environment and valid_from, in the order of
-- entrydb.relations(), each an array of texts called TABLE_COLUMN: so all rows are one value for
-- the server, and need no table of their own on the way.
DO $$
DECLARE
	relation text;
	columns text;         -- a, b
	parameters text;      -- t_a text[], t_b text[]
	first text;           -- t_a
	incoming text;        -- the rows that were sent
	current text;         -- those that are so until now
	everything text := ''; -- parameters of all tables
	body text := '';
BEGIN
	FOREACH relation IN ARRAY entrydb.relations() LOOP
		SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum),
		       string_agg(format(', %I text[]', relation || '_' || attname), '' ORDER BY attnum),
		       (array_agg(quote_ident(relation || '_' || attname) ORDER BY attnum))[1],
		       format('(SELECT %s FROM unnest(%s) AS i (%s)) incoming',
		              string_agg(format('i.%I::%s', attname, atttypid::regtype), ', ' ORDER BY attnum),
		              string_agg(quote_ident(relation || '_' || attname), ', ' ORDER BY attnum),
		              string_agg(quote_ident(attname), ', ' ORDER BY attnum))
		  INTO columns, parameters, first, incoming
		  FROM pg_attribute
		 WHERE attrelid = format('entrydb.%I', relation)::regclass AND attnum > 2 AND NOT attisdropped
		   AND attname NOT IN ('valid_from', 'valid_to');
		current := format('SELECT %s FROM entrydb.%I WHERE environment = number AND valid_to = ''infinity''',
		                  columns, relation);
		everything := everything || parameters;
		body := body || format($block$
				IF is_new AND cardinality(%5$s) > 0 THEN
					INSERT INTO entrydb.%1$I (host, environment, %2$s, valid_from)
					SELECT me, number, %2$s, now() FROM %3$s;
				ELSIF NOT is_new THEN
					IF '%1$s' <> 'event' THEN
						UPDATE entrydb.%1$I SET valid_to = now()
						 WHERE environment = number AND valid_to = 'infinity'
						   AND ROW(%2$s)::text IN
						       (SELECT ROW(%2$s)::text FROM (%4$s EXCEPT SELECT * FROM %3$s) gone);
					END IF;
					INSERT INTO entrydb.%1$I (host, environment, %2$s, valid_from)
					SELECT me, number, %2$s, now() FROM (SELECT * FROM %3$s EXCEPT %4$s) fresh;
				END IF;
		$block$, relation, columns, incoming, current, first);
	END LOOP;
	EXECUTE format($function$
			CREATE FUNCTION entrydb.push(path text, digest text%s) RETURNS void LANGUAGE plpgsql AS $body$
			#variable_conflict use_column
			DECLARE
				me integer := entrydb.me();
				number bigint;
				is_new boolean;
			BEGIN
				INSERT INTO entrydb.environment AS e (path) VALUES (push.path)
				    ON CONFLICT ON CONSTRAINT environment_host_path_key DO UPDATE SET path = e.path
				RETURNING e.id, e.digest = '' INTO STRICT number, is_new;
				%s
				UPDATE entrydb.environment e SET digest = push.digest, pushed = now() WHERE e.id = number;
			END $body$
	$function$, everything, body);
END $$;

-- --- for people ---

-- The views are asked with the rights of their owner, whom row-level security does not concern:
-- they are for readers, not for hosts.
CREATE VIEW entrydb.entry_points AS
SELECT h.name AS host, e.path AS environment, p.root, p.distribution, p.group_name, p.name, p.value,
       p.kind, p.state, p.object, p.valid_from, p.valid_to
  FROM entrydb.entry_point p JOIN entrydb.environment e ON e.id = p.environment
  JOIN entrydb.host h ON h.id = p.host;

-- Distributions of which hosts have different versions now.
CREATE VIEW entrydb.drift AS
SELECT d.name, count(DISTINCT d.version) AS versions, count(DISTINCT d.host) AS hosts,
       array_agg(DISTINCT d.version) AS which
  FROM entrydb.distribution d WHERE d.valid_to = 'infinity'
 GROUP BY d.name HAVING count(DISTINCT d.version) > 1;

-- Names that several distributions of one environment claim now.
CREATE VIEW entrydb.conflicts AS
SELECT h.name AS host, e.path AS environment, p.group_name, p.name,
       array_agg(DISTINCT p.distribution) AS distributions
  FROM entrydb.entry_point p JOIN entrydb.environment e ON e.id = p.environment
  JOIN entrydb.host h ON h.id = p.host
 WHERE p.valid_to = 'infinity'
 GROUP BY h.name, e.path, p.root, p.group_name, p.name HAVING count(DISTINCT p.distribution) > 1;

-- What `entrydb audit` finds now, and on how many hosts.
CREATE VIEW entrydb.findings AS
SELECT f.level, f.rule, f.distribution, f.group_name, f.name, count(DISTINCT f.host) AS hosts,
       min(f.valid_from) AS since, min(f.message) AS message
  FROM entrydb.finding f WHERE f.valid_to = 'infinity'
 GROUP BY f.level, f.rule, f.distribution, f.group_name, f.name;

-- entrydb.host is read by the views; its rows are names.
GRANT SELECT ON entrydb.entry_points, entrydb.drift, entrydb.conflicts, entrydb.findings TO entrydb_reader;
COMMIT;
