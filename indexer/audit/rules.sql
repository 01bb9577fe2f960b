-- The rules of `entrydb audit`. A rule is a row of the table `rule` and a view of the same name,
-- with these columns:
--
--     site, distribution, entry_point   the subject; NULL where not applicable
--     file                              absolute, or relative to the site
--     evidence                          part of the finding's fingerprint: distinguishes findings
--                                       at the same place, and is stable while nothing changes
--     message                           for people
--
-- Further columns are private to the view.

-- error: no legitimate installation does this. warning: should be reviewed. note: for information.
CREATE TABLE rule (
	position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, level TEXT NOT NULL,
	what TEXT NOT NULL, remedy TEXT NOT NULL -- one sentence each
) STRICT;
INSERT INTO rule (name, level, what, remedy) VALUES
	('command-hijack', 'error',
	 'A distribution provides a well-known command of another project: users who type it run that distribution.',
	 'Uninstall the distribution unless you know why it does so.'),
	('command-lookalike', 'error',
	 'The name of a command is one typing error away from a well-known command.',
	 'Uninstall the distribution unless you know it.'),
	('command-near', 'note',
	 'The name of a command resembles a well-known one, but is probably deliberate: it differs at the beginning or end, is a dictionary word, or is the name of its distribution.',
	 'Check that it is the command you mean.'),
	('command-shadows', 'warning',
	 'Another program of the same name is on the PATH, whose order decides which one runs.',
	 'Call the one that you mean by its path, or uninstall the distribution.'),
	('command-builtin', 'warning',
	 'A command has the name of a shell builtin or keyword: the shell runs its own, other programs run this one.',
	 'Call it by its path, or uninstall the distribution.'),
	('command-conflict', 'warning',
	 'Several distributions provide the same command: the last one installed has overwritten it.',
	 'Keep one of them, and reinstall it.'),
	('name-control', 'error',
	 'A name contains control characters or characters that change the direction of text, and is not displayed as it is.',
	 'Uninstall the distribution.'),
	('name-confusable', 'error',
	 'A name contains letters of another alphabet that look like Latin ones.',
	 'Uninstall the distribution unless you know it.'),
	('name-path', 'error',
	 'The name of a command is a path or looks like an option: installers may write the script to another place.',
	 'Uninstall the distribution, and look for the file.'),
	('name-mismatch', 'error',
	 'The name in METADATA differs from that of the directory: programs disagree on the identity of the distribution.',
	 'Uninstall the distribution, and check its source.'),
	('module-foreign', 'warning',
	 'An entry point refers to a module or package of another distribution, which its own does not require.',
	 'Find out why the distribution registers code of another one.'),
	('module-unlisted', 'warning',
	 'An entry point refers to a module or package that no RECORD lists: its origin is unknown.',
	 'Reinstall the distribution into a clean environment.'),
	('module-outside', 'warning',
	 'An entry point refers to code outside of its environment, by a symbolic link or in the standard library.',
	 'Check the target, and who can write to it.'),
	('target-missing', 'warning',
	 'The module of an entry point does not exist: any distribution that installs a module of that name decides what runs.',
	 'Install what is missing, or tell the authors of the distribution.'),
	('target-broken', 'warning',
	 'A native plugin cannot be loaded on this machine.',
	 'Install what it needs; ''entrydb why GROUP NAME'' explains.'),
	('target-quarantined', 'warning',
	 'A native plugin crashed or hung when it was loaded, and is not loaded again.',
	 'Look for another build of it; ''entrydb quarantine --clear'' allows another attempt.'),
	('distribution-broken', 'error',
	 'Python''s importlib.metadata raises an exception on the distribution, and so on every query for all entry points.',
	 'Reinstall the distribution, or remove its directory.'),
	('file-changed', 'error',
	 'A file that is executed or imported differs from the hash in RECORD: it has changed since installation.',
	 'Compare the file with that of a fresh installation, then reinstall the distribution.'),
	('bytecode-unchecked', 'warning',
	 'Python runs bytecode that is never checked against its source.',
	 'Remove the file unless it was compiled so on purpose; Python compiles the source again.'),
	('environment-replaced', 'error',
	 'A part of the environment itself (pyvenv.cfg, the standard library) was installed by a distribution, or lies within the environment.',
	 'Do not start Python in it; create the environment again without the distribution.'),
	('metadata-foreign', 'error',
	 'A RECORD lists metadata of another distribution, whose entry points are installed along with it.',
	 'Uninstall both, and check their source.'),
	('record-missing', 'warning',
	 'A distribution has no RECORD: neither its files nor changes to them can be determined.',
	 'Reinstall the distribution with a package manager that writes one.'),
	('hash-missing', 'warning',
	 'RECORD lists start-up code or the module of an entry point without a hash: changes cannot be detected.',
	 'Reinstall the distribution from a wheel.'),
	('unread', 'warning',
	 'A file that the rules examine cannot be read or is too large.',
	 'Run the audit as a user who may read it, and look at the file.'),
	('installer-missing', 'note',
	 'There is no INSTALLER that names the package manager.',
	 'Find out who installed it, and reinstall it with a package manager.'),
	('installed-from-url', 'note',
	 'A distribution was installed from a URL or a directory rather than from an index.',
	 'Check that you trust the source.'),
	('writable-by-others', 'error',
	 'Other users can write to code that runs in this environment.',
	 'Change permissions or owner by chmod or chown.'),
	('startup-unlisted', 'error',
	 'Code that belongs to no distribution runs in every Python process of the environment.',
	 'Read the file, and remove it unless you wrote it.'),
	('startup-code', 'note',
	 'Code of a distribution runs in every Python process of the environment.',
	 'Read the line; python -I -S starts without it.'),
	('path-added', 'note',
	 'A .pth file adds a directory or zip file that contains distributions, which are not audited here.',
	 'Audit that path, too: add it to the arguments.'),
	('runs-unasked', 'note',
	 'Entry points of this group are loaded automatically.',
	 'Check that you know each of them; ''entrydb disable GROUP/NAME'' keeps entrydb from loading one.'),
	('forbidden', 'note',
	 'Policy forbids loading the entry point.',
	 '''entrydb enable GROUP/NAME'' allows it.'),
	('news', 'note',
	 'Something was added, removed or changed in the period given by --since.',
	 'Check that the change was intended.'),
	('target-changed', 'note',
	 'The target of an entry point changed in the period given by --since.',
	 'Check that the new version of the distribution intends it.');

-- The command and time of the last installation or change of a distribution.
CREATE VIEW origin AS
SELECT d.id AS distribution, d.site,
       coalesce((SELECT ', since ' || strftime('%Y-%m-%d %H:%M', e.time, 'unixepoch') || ' by '''
                        || coalesce(e.command, '?') || ''''
                   FROM event e
                  WHERE e.site = d.site AND e.distribution = d.title
                    AND e.action IN ('install', 'upgrade', 'downgrade', 'change')
                  ORDER BY e.id DESC LIMIT 1),
                (SELECT ', installed before ' || strftime('%Y-%m-%d %H:%M', e.time, 'unixepoch')
                   FROM event e
                  WHERE e.site = d.site AND e.distribution IS NULL AND e.action = 'index'
                  ORDER BY e.id LIMIT 1),
                '') AS since
  FROM distribution d;

CREATE VIEW "command-hijack" AS
SELECT c.site, c.distribution, c.entry_point, c.file, c.value AS evidence,
       '''' || c.name || ''' is ' || coalesce(
           'the command of ' || (SELECT group_concat(distribution, ' or ') FROM provider WHERE command = c.name),
           'a well-known command that no Python distribution provides')
       || '; here it runs ' || c.value || o.since AS message
  FROM command c JOIN known_command k ON k.name = c.name JOIN origin o ON o.distribution = c.distribution
 WHERE NOT c.managed
   AND coalesce(c.normalized_name, '') NOT IN (SELECT distribution FROM provider WHERE command = c.name);

-- Commands whose names resemble well-known commands of other distributions. A different letter
-- within the name is accepted if it is also in the distribution's own name.
CREATE VIEW alike AS
SELECT site, distribution, entry_point, file, value AS evidence,
       '''' || name || iif(is_slip, ''' is one typing error away from ''', ''' is not ''') || known
       || '''; it runs ' || value || since AS message, is_slip
  FROM (SELECT c.*, n.known, o.since,
               n.name NOT IN (SELECT name FROM other_word)
               AND (n.likeness = 3
                    OR (n.likeness = 2
                        AND coalesce(replace(lower(n.name), '-', '_') <> c.normalized_name, 1))) AS is_slip
          FROM near_command n JOIN command c ON c.name = n.name JOIN origin o ON o.distribution = c.distribution
         WHERE NOT c.managed
           AND coalesce(c.normalized_name, '') NOT IN (SELECT distribution FROM provider WHERE command = n.known));

CREATE VIEW "command-lookalike" AS SELECT * FROM alike WHERE is_slip;
CREATE VIEW "command-near" AS SELECT * FROM alike WHERE NOT is_slip;

CREATE VIEW "command-shadows" AS
SELECT a.site, a.distribution, a.id AS entry_point, a.file, a.value || ' ' || c.place AS evidence,
       CASE c.place WHEN 'before' THEN c.path || ' comes first on the PATH and hides '
                    WHEN 'behind' THEN c.path || ' is hidden by '
                    ELSE c.path || ' would be hidden, if this environment were active, by ' END
       || a.commands || '/' || a.name AS message
  FROM other_command c JOIN announced a ON a.id = c.entry_point
 WHERE NOT EXISTS (SELECT 1 FROM "command-hijack" h WHERE h.entry_point = a.id);

CREATE VIEW "command-builtin" AS
SELECT a.site, a.distribution, a.id AS entry_point, a.file, a.value AS evidence,
       '''' || a.name || ''' is a builtin or keyword of the shell' AS message
  FROM announced a JOIN shell_word w ON w.name = a.name
 WHERE a.is_command AND NOT a.managed;

-- The distributions that claim a command, summarized.
CREATE VIEW claim AS
SELECT commands, name, count(DISTINCT distribution) AS count, min(title) AS first, max(title) AS last
  FROM announced WHERE is_command GROUP BY commands, name HAVING count(DISTINCT distribution) > 1;

CREATE VIEW "command-conflict" AS
SELECT a.site, a.distribution, a.id AS entry_point, a.file, a.value AS evidence,
       iif(a.title = c.first, c.last, c.first)
       || CASE c.count WHEN 2 THEN ' provides it, too; '
               ELSE ' and ' || (c.count - 2) || ' more provide it, too; ' END
       || coalesce(s.path, a.commands || iif(a.prefix = '', '', '/' || a.name))
       || CASE WHEN a.prefix = '' THEN ' contains all of them'
               WHEN s.path IS NULL THEN ' does not exist'
               WHEN s.runs_it THEN ' runs this one' ELSE ' does not run this one' END AS message
  FROM claim c CROSS JOIN announced a LEFT JOIN script s ON s.entry_point = a.id
 WHERE a.is_command AND a.name = c.name AND a.commands = c.commands;

-- The common part of the rules about names.
CREATE VIEW strange_name AS
SELECT d.site, d.id AS distribution, t.entry_point,
       d.directory || iif(t.entry_point IS NULL, '', '/entry_points.txt') AS file,
       t.field || ' ' || t.shown AS evidence,
       CASE t.trait
       WHEN 'control' THEN 'the ' || t.field || ' contains invisible or control characters'
       WHEN 'confusable' THEN 'the ' || t.field || ' looks like ''' || t.shown || ''', but differs'
       WHEN 'path' THEN 'the ' || t.field || ' is a path or an option rather than a name'
       ELSE d.directory || ' says that it is ' || t.shown END AS message,
       t.trait
  FROM trait t JOIN distribution d ON d.id = t.distribution;

CREATE VIEW "name-control" AS SELECT * FROM strange_name WHERE trait = 'control';
CREATE VIEW "name-confusable" AS SELECT * FROM strange_name WHERE trait = 'confusable';
CREATE VIEW "name-path" AS SELECT * FROM strange_name WHERE trait = 'path';
CREATE VIEW "name-mismatch" AS SELECT * FROM strange_name WHERE trait = 'mismatch';

-- The modules imported for an entry point: its own, and the top-level package, since any
-- distribution can turn a namespace package into its own by adding an __init__.
CREATE VIEW imported AS
SELECT a.id AS entry_point, a.module FROM announced a WHERE a.module <> ''
UNION
SELECT a.id, substr(a.module, 1, instr(a.module, '.') - 1)
  FROM announced a JOIN owner w ON w.module = a.module AND w.distribution = a.distribution
 WHERE instr(a.module, '.');

CREATE VIEW "module-foreign" AS
SELECT a.site, a.distribution, a.id AS entry_point, a.file, a.value AS evidence,
       i.module || ' belongs to ' || (SELECT d.title FROM owner w JOIN distribution d ON d.id = w.distribution
                                       WHERE w.module = i.module LIMIT 1) AS message
  FROM imported i JOIN announced a ON a.id = i.entry_point
 WHERE NOT a.managed
   AND EXISTS (SELECT 1 FROM owner w WHERE w.module = i.module)
   AND NOT EXISTS (SELECT 1 FROM owner w WHERE w.module = i.module AND w.distribution = a.distribution)
   AND NOT EXISTS (SELECT 1 FROM (SELECT distribution FROM owner WHERE module = i.module LIMIT 32) w
                     JOIN distribution d ON d.id = w.distribution
                    WHERE (d.normalized_name = a.normalized_name
                           OR EXISTS (SELECT 1 FROM requirement r
                                       WHERE r.distribution = a.distribution
                                         AND r.name = d.normalized_name)));

CREATE VIEW "module-unlisted" AS
SELECT a.site, a.distribution, a.id AS entry_point, a.file, a.value AS evidence,
       u.module || ' is ' || u.file || ', which no RECORD lists' AS message
  FROM unlisted u JOIN announced a ON a.id = u.entry_point
 WHERE NOT a.managed AND a.has_record;

CREATE VIEW "module-outside" AS
SELECT a.site, a.distribution, a.id AS entry_point, a.file, a.value || ' ' || o.target AS evidence,
       a.value || ' refers to code outside of ' || a.prefix || ': ' || o.target AS message
  FROM outside o JOIN announced a ON a.id = o.entry_point
 WHERE NOT a.managed
UNION ALL
SELECT a.site, a.distribution, a.id, a.file, a.value, a.value || ' refers to the standard library'
  FROM announced a JOIN standard_module m
    ON m.name = substr(a.module, 1, instr(a.module || '.', '.') - 1)
 -- A module of the standard library takes precedence over one in the site directory, except for
 -- modules that Python has removed, which other distributions provide.
 WHERE a.state = 'missing'
    OR (NOT a.managed AND m.name NOT IN
        ('aifc', 'asynchat', 'asyncore', 'audioop', 'binhex', 'cgi', 'cgitb', 'chunk', 'crypt', 'distutils',
         'imghdr', 'imp', 'lib2to3', 'mailcap', 'msilib', 'nis', 'nntplib', 'ossaudiodev', 'pipes', 'smtpd',
         'sndhdr', 'spwd', 'sunau', 'telnetlib', 'uu', 'xdrlib', 'annotationlib', 'compression', 'tomllib'));

CREATE VIEW "target-missing" AS
SELECT a.site, a.distribution, a.id AS entry_point, a.file, a.value AS evidence,
       CASE WHEN a.module IS NULL THEN 'invalid value: ' || a.value
            ELSE 'there is no module ' || a.module END AS message
  FROM announced a
 WHERE NOT a.is_editable
   AND (a.module IS NULL
        OR (a.state = 'missing'
            AND substr(a.module, 1, instr(a.module || '.', '.') - 1)
                NOT IN (SELECT name FROM standard_module)
            AND NOT EXISTS (SELECT 1 FROM owner w WHERE w.module = a.module)
            -- "package.Class" is not a module, but hosts such as fsspec read it as package:Class
            AND NOT (instr(a.value, ':') = 0
                     AND length(a.module) < 1024 -- no owner has more; rtrim() takes quadratic time
                     AND EXISTS (SELECT 1 FROM owner w
                                  WHERE w.module = rtrim(rtrim(a.module, replace(a.module, '.', '')), '.')
                                    AND w.distribution = a.distribution))));

CREATE VIEW "target-broken" AS
SELECT a.site, a.distribution, a.id AS entry_point, a.file, a.state AS evidence,
       coalesce(a.object, a.value) || ': ' || a.state || coalesce(' (' || a.missing || ')', '') AS message
  FROM announced a
 WHERE a.state IN ('no-symbol', 'ambiguous', 'wrong-architecture', 'missing-dependency');

CREATE VIEW "target-quarantined" AS
SELECT a.site, a.distribution, a.id AS entry_point, a.file, q.reason AS evidence,
       a.object || ': ' || q.reason AS message
  FROM announced a JOIN object o ON o.path = a.path || '/' || a.object JOIN quarantine q ON q.build = o.build;

CREATE VIEW "distribution-broken" AS
SELECT site, id AS distribution, NULL AS entry_point, directory AS file, error AS evidence,
       error AS message
  FROM distribution WHERE error IS NOT NULL;

-- Files that Python reads at start-up ("NAME" below lib/pythonX.Y, "pythonXY.zip" beside it,
-- "pyvenv.cfg"), and activation scripts of conda environments, which conda's own packages may
-- install.
CREATE VIEW strayed AS
SELECT 'environment-replaced' AS rule, d.site, d.id AS distribution, t.path AS file,
       'RECORD lists it, and the environment is made of it' AS what
  FROM stray t JOIN distribution d ON d.id = t.distribution JOIN site s ON s.id = d.site
 WHERE s.commands IS NOT NULL
   AND ((t.path NOT GLOB '../../*' AND t.path NOT GLOB '../site-packages/*' AND t.path NOT GLOB '../dist-packages/*' AND t.path GLOB '../*'
         AND (t.path GLOB '*.py' OR t.path GLOB '*.pyc' OR t.path GLOB '*.so'))
        OR t.path GLOB '../../python*.zip' OR t.path = '../../../pyvenv.cfg'
        OR ((t.path GLOB '../../../etc/conda/activate.d/*' OR t.path GLOB '../../../etc/conda/deactivate.d/*')
            AND NOT (s.is_conda AND coalesce(d.installer = 'conda', 0))))
UNION ALL
SELECT 'metadata-foreign', d.site, d.id, t.path, 'RECORD lists it, and it is another distribution''s'
  FROM stray t JOIN distribution d ON d.id = t.distribution
 WHERE t.path NOT GLOB '*/*/*' AND (t.path GLOB '*.dist-info/METADATA' OR t.path GLOB '*.dist-info/entry_points.txt');

-- Rules that consist of complaints alone.
CREATE VIEW complained AS
SELECT c.site, c.distribution, NULL AS entry_point, c.file, c.what AS evidence,
       c.file || ': ' || c.what AS message, c.rule, s.managed
  FROM (SELECT * FROM complaint UNION ALL SELECT * FROM strayed) c JOIN site s ON s.id = c.site;

CREATE VIEW "file-changed" AS SELECT * FROM complained WHERE rule = 'file-changed';
CREATE VIEW "environment-replaced" AS SELECT * FROM complained WHERE rule = 'environment-replaced' AND NOT managed;
CREATE VIEW "metadata-foreign" AS SELECT * FROM complained WHERE rule = 'metadata-foreign' AND NOT managed;
CREATE VIEW "unread" AS SELECT * FROM complained WHERE rule = 'unread';

CREATE VIEW in_place_of_source AS
SELECT b.*, (SELECT o.distribution FROM owner o CROSS JOIN distribution d ON d.id = o.distribution
              WHERE o.file = b.source AND d.site = b.site LIMIT 1) AS distribution
  FROM bytecode b;

-- An environment built entirely with unchecked bytecode is reported once.
CREATE VIEW "bytecode-unchecked" AS
SELECT b.site, b.distribution, NULL AS entry_point, b.file, '' AS evidence,
       b.file || ' runs regardless of the contents of ' || b.source AS message
  FROM in_place_of_source b
 WHERE b.what IS NULL
   AND b.site IN (SELECT site FROM bytecode WHERE what IS NULL GROUP BY site HAVING count(*) <= 8)
UNION ALL
SELECT b.site, NULL, NULL, NULL, '', count(*) || ' files such as ' || min(b.file)
       || ' run regardless of the contents of their sources'
  FROM bytecode b WHERE b.what IS NULL GROUP BY b.site HAVING count(*) > 8;

CREATE VIEW "record-missing" AS
SELECT d.site, d.id AS distribution, NULL AS entry_point, d.directory AS file, '' AS evidence,
       'no RECORD in ' || d.directory AS message
  FROM distribution d JOIN site s ON s.id = d.site
 WHERE NOT d.has_record AND NOT s.managed
   AND (d.is_info OR (s.prefix <> '' AND d.id IN (SELECT distribution FROM entry_point)))
   AND d.id NOT IN (SELECT distribution FROM complaint WHERE rule = 'unread' AND distribution IS NOT NULL);

CREATE VIEW "hash-missing" AS
SELECT a.site, a.distribution, a.id AS entry_point, w.file, '' AS evidence,
       w.file || ' has no hash in RECORD' AS message
  FROM announced a JOIN owner w ON w.module = a.module AND w.distribution = a.distribution
 WHERE NOT w.has_hash AND NOT a.managed
UNION ALL
SELECT DISTINCT o.site, o.distribution, NULL, o.file, '', o.file || ' has no hash in RECORD'
  FROM startup_owner o JOIN site s ON s.id = o.site WHERE NOT o.has_hash AND NOT s.managed;

CREATE VIEW "installer-missing" AS
SELECT d.site, d.id AS distribution, NULL AS entry_point, d.directory AS file, '' AS evidence,
       'no INSTALLER in ' || d.directory || o.since AS message
  FROM distribution d JOIN site s ON s.id = d.site JOIN origin o ON o.distribution = d.id
 WHERE d.is_info AND d.installer IS NULL AND NOT s.managed
   AND d.id NOT IN (SELECT distribution FROM complaint WHERE rule = 'unread' AND distribution IS NOT NULL);

-- The login, the query and the fragment of a URL may give access: they are not shown.
CREATE VIEW "installed-from-url" AS
  WITH plain AS (SELECT *, substr(url, 1, instr(replace(url, '#', '?') || '?', '?') - 1) AS shown FROM distribution),
       parts AS (SELECT *, iif(instr(shown, '://'), instr(shown, '://') + 2, 0) AS scheme FROM plain),
       d AS (SELECT *, substr(shown, scheme + 1, instr(substr(shown, scheme + 1) || '/', '/') - 1) AS server FROM parts)
SELECT d.site, d.id AS distribution, NULL AS entry_point, d.directory || '/direct_url.json' AS file,
       d.url AS evidence,
       'from ' || substr(shown, 1, scheme)
       || substr(shown, scheme + 1 + length(rtrim(server, replace(server, '@', ''))))
       || iif(d.is_editable, ', editable', '') || o.since AS message
  FROM d JOIN origin o ON o.distribution = d.id
 WHERE d.url IS NOT NULL;

-- A finding common to several sites of an environment is reported once.
CREATE VIEW "writable-by-others" AS
SELECT min(site) AS site, distribution, NULL AS entry_point, file, what AS evidence,
       file || ': ' || what AS message
  FROM (SELECT site, distribution, file, what FROM complaint WHERE rule = 'writable-by-others'
        UNION ALL
        SELECT site, distribution, file, what FROM in_place_of_source WHERE what IS NOT NULL)
 GROUP BY iif(substr(file, 1, 1) = '/', 0, site), distribution, file, what;

CREATE VIEW started AS
SELECT *, CASE WHEN code = '' THEN '' WHEN length(code) > 200 THEN ': ' || substr(code, 1, 200) || ' ...'
          ELSE ': ' || code END AS shown
  FROM startup;

-- Start-up code that its distribution's RECORD does not list belongs to no distribution.
CREATE VIEW "startup-unlisted" AS
SELECT u.site, NULL AS distribution, NULL AS entry_point, u.file, u.code AS evidence,
       u.file || ' runs at each start of Python' || u.shown AS message
  FROM started u JOIN site s ON s.id = u.site
 WHERE NOT s.managed AND u.code <> 'import _virtualenv' -- written by virtualenv and uv
   AND NOT EXISTS (SELECT 1 FROM startup_owner o WHERE o.site = u.site AND o.file = u.file);

CREATE VIEW "startup-code" AS
SELECT u.site, o.distribution, NULL AS entry_point, u.file, u.code AS evidence,
       u.file || ' runs at each start of Python' || n.since || u.shown AS message
  FROM started u JOIN startup_owner o ON o.site = u.site AND o.file = u.file
  JOIN origin n ON n.distribution = o.distribution;

CREATE VIEW "path-added" AS
SELECT a.site, NULL AS distribution, NULL AS entry_point, a.place AS file, '' AS evidence,
       a.place || ' has ' || a.distributions
       || iif(a.distributions = 1, ' distribution', ' distributions') || ' of its own' AS message
  FROM added a WHERE a.place NOT IN (SELECT path FROM site);

-- Each group is matched against the patterns once.
CREATE VIEW "runs-unasked" AS
WITH unasked AS MATERIALIZED
       (SELECT group_name, (SELECT u.occasion FROM unasked_group u WHERE e.group_name GLOB u.pattern LIMIT 1) AS occasion
          FROM (SELECT DISTINCT group_name FROM entry_point) e)
SELECT a.site, a.distribution, a.id AS entry_point, a.file, a.value AS evidence,
       a.value || ' runs ' || u.occasion || o.since AS message
  FROM announced a JOIN unasked u USING (group_name) JOIN origin o USING (distribution)
 WHERE u.occasion IS NOT NULL;

CREATE VIEW "forbidden" AS
SELECT a.site, a.distribution, a.id AS entry_point, a.file, f.reason AS evidence, f.reason AS message
  FROM "forbidden_entry" f JOIN announced a ON a.id = f.entry_point;

-- Events of the period. The detail of an event about an entry point begins with "GROUP/NAME:".
CREATE VIEW recent AS
SELECT v.*, d.id AS distribution_id, d.directory,
       (SELECT a.id FROM announced a
         WHERE v.action GLOB 'entry-point*' AND a.distribution = d.id
           AND substr(v.detail, 1, length(a.label) + 2) = a.label || ': ' LIMIT 1) AS entry_point,
       v.time || ' ' || v.action || ' ' || coalesce(v.distribution, '') || ' ' || coalesce(v.detail, '')
           AS evidence,
       strftime('%Y-%m-%d %H:%M', v.time, 'unixepoch') AS moment,
       coalesce(', by ''' || v.command || '''', '') AS author
  FROM event v JOIN period p ON v.time BETWEEN p.begins AND p.ends
  LEFT JOIN distribution d ON d.site = v.site AND d.title = v.distribution;

CREATE VIEW "news" AS
SELECT v.site, v.distribution_id AS distribution, v.entry_point, v.directory AS file, v.evidence,
       v.moment || ' ' || v.action || coalesce(' ' || v.distribution, '')
       || CASE WHEN v.old_version IS NOT NULL AND v.version IS NOT NULL
               THEN ' ' || v.old_version || ' -> ' || v.version
               ELSE coalesce(' ' || v.version, ' ' || v.old_version, '') END
       || coalesce(': ' || v.detail, '') || v.author AS message
  FROM recent v WHERE v.action <> 'entry-point-changed';

CREATE VIEW "target-changed" AS
SELECT v.site, v.distribution_id AS distribution, v.entry_point,
       v.directory || '/entry_points.txt' AS file, v.evidence,
       v.moment || ' ' || v.detail || v.author AS message
  FROM recent v WHERE v.action = 'entry-point-changed';
