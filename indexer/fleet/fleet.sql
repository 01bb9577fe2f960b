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

-- Who is asking; NULL: no host. (ATOMIC: parsed here and now, so that no search_path can lead it
-- astray, and a connection that is made for one push need not parse it again.)
CREATE FUNCTION entrydb.me() RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER
BEGIN ATOMIC SELECT id FROM entrydb.host WHERE name = session_user; END;

-- A database file of a host, as it was sent last.
CREATE TABLE entrydb.environment (
	id     bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	host   integer NOT NULL DEFAULT entrydb.me() REFERENCES entrydb.host ON DELETE CASCADE,
	path   text NOT NULL,
	digest text NOT NULL, -- of what was sent
	pushed timestamptz NOT NULL DEFAULT now(),
	UNIQUE (host, path)
);

-- The environments of who is asking.
CREATE FUNCTION entrydb.mine() RETURNS bigint[] LANGUAGE sql STABLE SECURITY DEFINER
BEGIN ATOMIC
	SELECT ARRAY(SELECT e.id FROM entrydb.environment e JOIN entrydb.host h ON h.id = e.host
	              WHERE h.name = session_user);
END;

-- What a host asks first: whose tables these are, and what it sent last. No row: no host.
CREATE FUNCTION entrydb.known(OUT version integer, OUT path text, OUT digest text)
RETURNS SETOF record LANGUAGE sql STABLE SECURITY DEFINER
BEGIN ATOMIC
	SELECT 1, e.path, e.digest
	  FROM entrydb.host h LEFT JOIN entrydb.environment e ON e.host = h.id
	 WHERE h.name = session_user;
END;

CREATE TABLE entrydb.distribution (
	environment bigint NOT NULL,
	root text NOT NULL, directory text NOT NULL, name text NOT NULL, version text, error text,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE TABLE entrydb.entry_point (
	environment bigint NOT NULL,
	root text NOT NULL, distribution text NOT NULL, group_name text NOT NULL, name text NOT NULL,
	value text NOT NULL, kind text NOT NULL, state text NOT NULL, object text,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE TABLE entrydb.plugin (
	environment bigint NOT NULL,
	root text NOT NULL, distribution text NOT NULL, kind text NOT NULL, name text NOT NULL,
	object text, symbol text, state text NOT NULL,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE TABLE entrydb.startup (
	environment bigint NOT NULL,
	root text NOT NULL, file text NOT NULL, line bigint NOT NULL, kind text NOT NULL, code text NOT NULL,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE TABLE entrydb.event (
	environment bigint NOT NULL,
	time bigint NOT NULL, action text NOT NULL, root text NOT NULL, distribution text,
	old_version text, version text, detail text, command text, uid bigint NOT NULL,
	valid_from timestamptz NOT NULL, valid_to timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE TABLE entrydb.finding (
	environment bigint NOT NULL,
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

-- Each table: a host sees and writes its own rows, and readers see all. (A foreign key would be
-- asked row by row, at three times the cost of all else; this is asked once a statement.)
DO $$
DECLARE
	relation text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['environment'] || entrydb.relations() LOOP
		EXECUTE format('ALTER TABLE entrydb.%I ENABLE ROW LEVEL SECURITY', relation);
		EXECUTE format('CREATE POLICY own ON entrydb.%I TO entrydb_host USING (%s)', relation,
		               CASE relation WHEN 'environment' THEN 'host = entrydb.me()'
		               ELSE 'environment = ANY ((SELECT entrydb.mine())::bigint[])' END);
		EXECUTE format('CREATE POLICY readable ON entrydb.%I FOR SELECT TO entrydb_reader USING (true)',
		               relation);
		EXECUTE format('GRANT SELECT, INSERT, UPDATE ON entrydb.%I TO entrydb_host', relation);
		EXECUTE format('GRANT SELECT ON entrydb.%I TO entrydb_reader', relation);
	END LOOP;
	EXECUTE format('GRANT SELECT ON SEQUENCE %s TO entrydb_host', -- to be told its own last number
	               pg_get_serial_sequence('entrydb.environment', 'id'));
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
	IF number IS NULL THEN
		RAISE EXCEPTION 'no host is called %', host;
	END IF;
	FOREACH relation IN ARRAY entrydb.relations() LOOP
		EXECUTE format('DELETE FROM entrydb.%I WHERE environment IN '
		               '(SELECT id FROM entrydb.environment WHERE host = $1)', relation) USING number;
	END LOOP;
	DELETE FROM entrydb.host WHERE id = number; -- and its environments
END $$;
REVOKE EXECUTE ON FUNCTION entrydb.retire FROM PUBLIC;

-- What a host has at that path: entrydb.push_first(path, digest, columns...) when nothing was ever
-- sent of it, else entrydb.push(path, digest, columns...). One statement, so one transaction and
-- one round trip; the environment is locked until the end. Rows that are gone end, and new ones
-- begin, at a moment that is later than that of the push before, whatever the clock says. Events
-- only come: those of before stay when a host has forgotten them.
--
-- The columns are those of all tables between environment and valid_from, in the order of
-- entrydb.relations(), each an array of texts called TABLE_COLUMN, or NULL where there are no
-- rows: so all rows are one value for the server, and need no table of their own on the way.
--
-- Of a first push most of the cost beside the rows is that a new connection looks up, parses and
-- plans what it comes by. Therefore it is a function of its own, which is parsed already.
DO $$
DECLARE
	relation text;
	columns text;          -- a, b
	parameters text;       -- , t_a text[], t_b text[]
	incoming text;         -- the rows that were sent: SELECT unnest(t_a) AS a, unnest(t_b) AS b
	current text;          -- those that are so until now
	everything text := ''; -- parameters of all tables
	first_push text := '';
	later_push text := '';
BEGIN
	FOREACH relation IN ARRAY entrydb.relations() LOOP
		SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum),
		       string_agg(format(', %I text[]', relation || '_' || attname), '' ORDER BY attnum),
		       string_agg(format('unnest(%I)::%s AS %I', relation || '_' || attname, atttypid::regtype, attname),
		                  ', ' ORDER BY attnum)
		  INTO columns, parameters, incoming
		  FROM pg_attribute
		 WHERE attrelid = format('entrydb.%I', relation)::regclass AND attnum > 1 AND NOT attisdropped
		   AND attname NOT IN ('valid_from', 'valid_to');
		current := format('SELECT %s FROM entrydb.%I WHERE environment = number AND valid_to = ''infinity''',
		                  columns, relation);
		everything := everything || parameters;
		first_push := first_push || format($block$
				INSERT INTO entrydb.%I (environment, valid_from, %s)
				SELECT currval(%L), now(), %s;
		$block$, relation, columns, pg_get_serial_sequence('entrydb.environment', 'id'), incoming);
		IF relation <> 'event' THEN
			later_push := later_push || format($block$
				UPDATE entrydb.%1$I SET valid_to = moment
				 WHERE environment = number AND valid_to = 'infinity'
				   AND ROW(%2$s)::text IN
				       (SELECT ROW(%2$s)::text FROM (%4$s EXCEPT SELECT %3$s) gone);
			$block$, relation, columns, incoming, current);
		END IF;
		later_push := later_push || format($block$
				INSERT INTO entrydb.%1$I (environment, valid_from, %2$s)
				SELECT number, moment, %2$s FROM (SELECT %3$s EXCEPT %4$s) fresh;
		$block$, relation, columns, incoming, current);
	END LOOP;
	EXECUTE format($function$
			CREATE FUNCTION entrydb.push_first(path text, digest text%s) RETURNS void LANGUAGE sql
			BEGIN ATOMIC
				INSERT INTO entrydb.environment (path, digest) VALUES (push_first.path, push_first.digest);
				%s
			END
	$function$, everything, first_push);
	EXECUTE format($function$
			CREATE FUNCTION entrydb.push(path text, digest text%s) RETURNS void LANGUAGE plpgsql AS $body$
			#variable_conflict use_column
			DECLARE
				number bigint;
				moment timestamptz;
			BEGIN
				UPDATE entrydb.environment e
				   SET digest = push.digest, pushed = greatest(now(), e.pushed + interval '1 microsecond')
				 WHERE e.host = entrydb.me() AND e.path = push.path
				RETURNING e.id, e.pushed INTO STRICT number, moment;
				%s
			END $body$
	$function$, everything, later_push);
END $$;

-- --- for people ---

-- The views are asked with the rights of their owner, whom row-level security does not concern:
-- they are for readers, not for hosts.
CREATE VIEW entrydb.entry_points AS
SELECT h.name AS host, e.path AS environment, p.root, p.distribution, p.group_name, p.name, p.value,
       p.kind, p.state, p.object, p.valid_from, p.valid_to
  FROM entrydb.entry_point p JOIN entrydb.environment e ON e.id = p.environment
  JOIN entrydb.host h ON h.id = e.host;

-- Distributions of which hosts have different versions now.
CREATE VIEW entrydb.drift AS
SELECT d.name, count(DISTINCT d.version) AS versions, count(DISTINCT e.host) AS hosts,
       array_agg(DISTINCT d.version) AS which
  FROM entrydb.distribution d JOIN entrydb.environment e ON e.id = d.environment
 WHERE d.valid_to = 'infinity'
 GROUP BY d.name HAVING count(DISTINCT d.version) > 1;

-- Names that several distributions of one environment claim now.
CREATE VIEW entrydb.conflicts AS
SELECT h.name AS host, e.path AS environment, p.group_name, p.name,
       array_agg(DISTINCT p.distribution) AS distributions
  FROM entrydb.entry_point p JOIN entrydb.environment e ON e.id = p.environment
  JOIN entrydb.host h ON h.id = e.host
 WHERE p.valid_to = 'infinity'
 GROUP BY h.name, e.path, p.root, p.group_name, p.name HAVING count(DISTINCT p.distribution) > 1;

-- What `entrydb audit` finds now, and on how many hosts.
CREATE VIEW entrydb.findings AS
SELECT f.level, f.rule, f.distribution, f.group_name, f.name, count(DISTINCT e.host) AS hosts,
       min(f.valid_from) AS since, min(f.message) AS message
  FROM entrydb.finding f JOIN entrydb.environment e ON e.id = f.environment
 WHERE f.valid_to = 'infinity'
 GROUP BY f.level, f.rule, f.distribution, f.group_name, f.name;

-- entrydb.host is read by the views; its rows are names.
GRANT SELECT ON entrydb.entry_points, entrydb.drift, entrydb.conflicts, entrydb.findings TO entrydb_reader;
COMMIT;
