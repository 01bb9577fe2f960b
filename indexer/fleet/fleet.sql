-- The fleet database: the environments of many hosts with their history, in PostgreSQL 14 or later.
--
--     Once, by a superuser:        psql -v ON_ERROR_STOP=1 -f fleet.sql DATABASE
--     Once for each host:          CREATE ROLE web1 LOGIN ...; SELECT entrydb.enroll('web1');
--     On the host, at any time:    entrydb push postgresql://web1@server/DATABASE
--
-- A host is identified by its login role, never by the data that it sends. It may call three
-- functions, known(), push() and own(), and cannot even name a table. Rows are only inserted and
-- ended: the state at a moment consists of the rows with valid_from <= moment < valid_to.
--
-- Objects that others create in this database must not have any effect: the search path is
-- pg_catalog alone, in this script and in its functions, whose bodies are parsed here (ATOMIC).

BEGIN;
SET LOCAL search_path = pg_catalog, pg_temp;
DO $$
BEGIN
	-- Other encodings take text that the clients of readers refuse, or refuse that of hosts.
	IF getdatabaseencoding() <> 'UTF8' THEN
		RAISE EXCEPTION 'the encoding of the database is %, and must be UTF8', getdatabaseencoding();
	END IF;
END $$;
CREATE SCHEMA entrydb;
CREATE SCHEMA entrydb_host; -- all that hosts can name

SELECT format('CREATE ROLE %I NOLOGIN', role) FROM unnest(ARRAY['entrydb_host', 'entrydb_reader']) role
 WHERE role NOT IN (SELECT rolname FROM pg_roles) \gexec

CREATE TABLE entrydb.host (
	id    integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	name  name NOT NULL UNIQUE, -- its login role
	since timestamptz NOT NULL DEFAULT now()
);

-- A database file of a host, as last sent. An index takes 2,704 bytes, compressed as a host's session or
-- that of a restore says: a path has a limit that does not depend on that.
CREATE TABLE entrydb.environment (
	id     bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	host   integer NOT NULL REFERENCES entrydb.host ON DELETE CASCADE,
	path   text NOT NULL CHECK (octet_length(path) <= 2600),
	digest text NOT NULL CHECK (octet_length(digest) <= 64), -- of the database file
	pushed timestamptz NOT NULL,
	UNIQUE (host, path)
);

-- Current and former contents of environments. The environment and the period of validity are added
-- to each table below. What the client cuts has a limit here, too.
CREATE TABLE entrydb.distribution (
	root text NOT NULL, directory text NOT NULL, name text NOT NULL, version text, error text,
	CHECK (octet_length(name) <= 1300 AND octet_length(version) <= 1300)
);
CREATE TABLE entrydb.entry_point (
	root text NOT NULL, distribution text NOT NULL, group_name text NOT NULL, name text NOT NULL,
	value text NOT NULL, kind text NOT NULL, state text NOT NULL, object text,
	CHECK (octet_length(group_name) <= 1300 AND octet_length(name) <= 1300)
);
CREATE TABLE entrydb.plugin (
	root text NOT NULL, distribution text NOT NULL, kind text NOT NULL, name text NOT NULL,
	object text, symbol text, state text NOT NULL
);
CREATE TABLE entrydb.startup (
	root text NOT NULL, file text NOT NULL, line bigint NOT NULL, kind text NOT NULL, code text NOT NULL
);
CREATE TABLE entrydb.event (
	time bigint NOT NULL CHECK (time BETWEEN 0 AND 250000000000), -- or queries fail, such as for months
	action text NOT NULL, root text NOT NULL, distribution text,
	old_version text, version text, detail text, command text, uid bigint NOT NULL
);
CREATE TABLE entrydb.finding (
	rule text NOT NULL CHECK (octet_length(rule) <= 1300),
	level text NOT NULL, distribution text, version text, group_name text, name text,
	file text NOT NULL, message text NOT NULL, fingerprint text NOT NULL
);
SELECT format('ALTER TABLE entrydb.%1$I '
              'ADD environment bigint NOT NULL REFERENCES entrydb.environment ON DELETE CASCADE, '
              'ADD valid_from timestamptz NOT NULL, ADD valid_to timestamptz NOT NULL DEFAULT ''infinity''; '
              'CREATE INDEX ON entrydb.%1$I (environment)', relname)
  FROM pg_class WHERE relnamespace = 'entrydb'::regnamespace AND relkind = 'r'
   AND relname NOT IN ('host', 'environment') \gexec
-- By other collations than "C", glibc and ICU compare a kilobyte of some characters for a second, and a
-- hundred for minutes, in which nothing can cancel a reader's query.
SELECT format('ALTER TABLE %s ALTER %I TYPE text COLLATE "C"', attrelid::regclass, attname)
  FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
 WHERE relnamespace = 'entrydb'::regnamespace AND relkind = 'r' AND atttypid = 'text'::regtype \gexec
-- No index across hosts on what they send: where it is in an index depends on what others sent. The first
-- change to a page after a checkpoint is logged with the page, everybody can ask for the size of the log, and
-- so a host would learn between which names a page ends: other hosts' names.

-- --- functions for hosts ---

-- The first query of a push: the version of the tables, and the databases last sent. No row: the
-- role is not enrolled. (OFFSET 0 keeps the index on the host: by the statistics, another host could
-- have nearly all rows, and a scan of the whole table would seem as good.)
CREATE FUNCTION entrydb_host.known(OUT version integer, OUT path text, OUT digest text)
RETURNS SETOF record LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
BEGIN ATOMIC
	SELECT 2, e.path, e.digest
	  FROM entrydb.host h
	  LEFT JOIN LATERAL (SELECT * FROM entrydb.environment WHERE host = h.id OFFSET 0) e ON true
	 WHERE h.name = session_user;
END;

-- Replace the contents of the database at a path, in one statement, and so in one transaction and
-- one round trip. The environment is locked until the end. Removed rows end, and new ones begin, at
-- a time that is later than that of the previous push even if the clock was set back. Events are
-- only added: they are kept when a host no longer has them.
--
-- rows: one array of rows for each of distribution, entry_point, plugin, startup, event; findings:
-- one such array. A row is an array of the columns above, in this order; additional elements are
-- ignored. The names in the statements are taken from the catalogue.
--
-- (Hash joins and EXCEPT take linear time, regardless of table statistics: but PostgreSQL's hashes have
-- no key, so that names of a package could all have the same. Each row is compared with its keyed hash.)
CREATE FUNCTION entrydb_host.push(path text, digest text, rows jsonb, findings jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_nestloop = off AS $$
#variable_conflict use_column
DECLARE
	number bigint;
	moment timestamptz;
	kind text COLLATE "C"; -- not that of an argument, in which all names could be equal
	place integer;
	columns text;
	sent text;
	key bigint := uuid_hash_extended(gen_random_uuid(), 0);
BEGIN
	-- The JSON number 1e131071 is short until it is text. Neither arrays nor rows may exceed 1 GiB,
	-- and COPY, so pg_dump, puts a backslash before some characters. convert_to() refuses what is not
	-- UTF-8: settings in a connection's first packet are text that PostgreSQL has not checked, and one
	-- such byte keeps a table of a dump from being restored.
	IF octet_length(convert_to(concat_ws(' ', path, digest, rows, findings), 'UTF8')) > 500000000 THEN
		RAISE EXCEPTION 'more than 500 MB at once';
	END IF;
	INSERT INTO entrydb.environment AS e (host, path, digest, pushed)
	VALUES ((SELECT id FROM entrydb.host WHERE name = session_user), push.path, push.digest, clock_timestamp())
	    ON CONFLICT (host, path) DO UPDATE
	   SET digest = excluded.digest, pushed = greatest(clock_timestamp(), e.pushed + interval '1 microsecond')
	RETURNING id, pushed INTO number, moment;

	FOR kind, place IN
		SELECT * FROM unnest(ARRAY['distribution', 'entry_point', 'plugin', 'startup', 'event', 'finding'])
		         WITH ORDINALITY
	LOOP
		SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum),
		       string_agg(format('(r ->> %s)::%s', attnum - 1, format_type(atttypid, NULL)), ', ' ORDER BY attnum)
		  INTO columns, sent
		  FROM pg_attribute
		 WHERE attrelid = format('entrydb.%I', kind)::regclass AND attnum > 0
		   AND attname NOT IN ('environment', 'valid_from', 'valid_to');
		IF kind <> 'event' THEN
			EXECUTE format('UPDATE entrydb.%1$I SET valid_to = $2 WHERE environment = $1 AND valid_to = ''infinity'' '
			               'AND NOT EXISTS (SELECT FROM jsonb_array_elements($3) sent (r) '
			                               'WHERE jsonb_hash_extended(r, $4) = jsonb_hash_extended(jsonb_build_array(%2$s), $4) '
			                                 'AND r = jsonb_build_array(%2$s))', kind, columns)
			  USING number, moment, CASE kind WHEN 'finding' THEN findings ELSE rows -> (place - 1) END, key;
		END IF;
		EXECUTE format('INSERT INTO entrydb.%1$I (environment, valid_from, %2$s) SELECT $1, $2, %3$s '
		               'FROM (SELECT jsonb_hash_extended(r, $4), r FROM jsonb_array_elements($3) sent (r) '
		                     'EXCEPT SELECT jsonb_hash_extended(r, $4), r FROM (SELECT jsonb_build_array(%2$s) '
		                     'FROM entrydb.%1$I WHERE environment = $1 AND valid_to = ''infinity'' OFFSET 0) old (r)) new (hash, r)',
		               kind, columns, sent)
		  USING number, moment, CASE kind WHEN 'finding' THEN findings ELSE rows -> (place - 1) END, key;
	END LOOP;
END $$;

-- --- for the administrator ---

CREATE FUNCTION entrydb.enroll(host name) RETURNS integer LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	number integer;
BEGIN
	EXECUTE format('GRANT entrydb_host TO %I', host);
	INSERT INTO entrydb.host (name) VALUES (host) RETURNING id INTO number;
	RETURN number;
END $$;

-- Remove a host and all of its data.
CREATE FUNCTION entrydb.retire(host name) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM entrydb.host h WHERE h.name = retire.host;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'no host is called %', host;
	END IF;
END $$;

-- --- views ---

CREATE VIEW entrydb.entry_points AS
SELECT h.name AS host, e.path AS environment, p.root, p.distribution, p.group_name, p.name, p.value,
       p.kind, p.state, p.object, p.valid_from, p.valid_to
  FROM entrydb.entry_point p JOIN entrydb.environment e ON e.id = p.environment
  JOIN entrydb.host h ON h.id = e.host;

-- Distributions with different current versions on different hosts; which: the first hundred of each
-- host, since an array of all that one claims could exceed PostgreSQL's limit, and the view would fail
-- for everybody.
CREATE VIEW entrydb.drift AS
SELECT name, count(DISTINCT version) AS versions, count(DISTINCT host) AS hosts,
       array_agg(DISTINCT version) FILTER (WHERE place <= 100) AS which
  FROM (SELECT d.name, d.version, e.host, dense_rank() OVER (PARTITION BY d.name, e.host ORDER BY d.version)
               AS place
          FROM entrydb.distribution d JOIN entrydb.environment e ON e.id = d.environment
         WHERE d.valid_to = 'infinity') d
 GROUP BY name HAVING count(DISTINCT version) > 1;

-- Names that several distributions of one environment currently provide.
CREATE VIEW entrydb.conflicts AS
SELECT h.name AS host, e.path AS environment, p.group_name, p.name,
       array_agg(DISTINCT p.distribution) AS distributions
  FROM entrydb.entry_point p JOIN entrydb.environment e ON e.id = p.environment
  JOIN entrydb.host h ON h.id = e.host
 WHERE p.valid_to = 'infinity'
 GROUP BY h.name, e.path, p.root, p.group_name, p.name HAVING count(DISTINCT p.distribution) > 1;

-- Current findings of `entrydb audit`, with the number of hosts.
CREATE VIEW entrydb.findings AS
SELECT f.level, f.rule, f.distribution, f.group_name, f.name, count(DISTINCT e.host) AS hosts,
       min(f.valid_from) AS since, min(f.message) AS message
  FROM entrydb.finding f JOIN entrydb.environment e ON e.id = f.environment
 WHERE f.valid_to = 'infinity'
 GROUP BY f.level, f.rule, f.distribution, f.group_name, f.name;

-- The entry points of the calling host, with their history; others' are not scanned (see known()).
CREATE FUNCTION entrydb_host.own() RETURNS SETOF entrydb.entry_points
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
BEGIN ATOMIC
	SELECT h.name, e.path, p.root, p.distribution, p.group_name, p.name, p.value,
	       p.kind, p.state, p.object, p.valid_from, p.valid_to
	  FROM entrydb.host h
	 CROSS JOIN LATERAL (SELECT * FROM entrydb.environment WHERE host = h.id OFFSET 0) e
	 CROSS JOIN LATERAL (SELECT * FROM entrydb.entry_point WHERE environment = e.id OFFSET 0) p
	 WHERE h.name = session_user;
END;

-- --- permissions ---

-- Hosts cannot read tables and views, not even by row-level security: EXPLAIN would tell how many
-- rows of other hosts match, and DROP OWNED BY entrydb_host would drop its policies. They cannot use
-- the schema: permissions on a table are checked after planning, and debug_print_plan tells how many
-- rows match, by the statistics, until common values and the bounds of histograms are known. Nor can they
-- create large objects: each takes a lock in a restore, and there are few. Nor temporary objects: a
-- cast of a temporary type is dumped, and cannot be restored. Nor, in a database of PostgreSQL 14,
-- also if upgraded, tables: their constraints are executed by who restores a dump.
SELECT format('REVOKE TEMPORARY ON DATABASE %1$I FROM PUBLIC; GRANT TEMPORARY ON DATABASE %1$I TO entrydb_reader',
              current_database()) \gexec
SELECT format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', nspname)
  FROM pg_namespace WHERE has_schema_privilege('public', oid, 'CREATE') \gexec
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA entrydb, entrydb_host FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA entrydb_host TO entrydb_host;
REVOKE EXECUTE ON FUNCTION lo_creat, lo_create, lo_from_bytea FROM PUBLIC;
GRANT USAGE ON SCHEMA entrydb_host TO entrydb_host;
GRANT USAGE ON SCHEMA entrydb TO entrydb_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA entrydb TO entrydb_reader;
COMMIT;
