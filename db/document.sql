-- The rows of the document (document.h), each with the number of its array. shown(text) escapes what
-- JSON or PostgreSQL cannot hold.
--
-- Keys are indexed by the fleet's server, whose index entries are limited to 2,704 bytes: they are
-- cut to 300 bytes, so that one overlong name does not prevent the whole push. The database has the
-- full text.

SELECT 0, json_array(shown(r.path), shown(d.directory), shown(coalesce(d.name, d.directory), 300),
    shown(d.version, 300), shown(d.error))
FROM distribution d CROSS JOIN root r ON r.id = d.root
UNION ALL
SELECT 1, json_array(shown(r.path), shown(coalesce(d.name, d.directory), 300),
    shown(e.group_name, 300), shown(e.name, 300), shown(e.value),
    shown(coalesce(t.kind, 'python')), shown(coalesce(t.state, 'ok')), shown(t.object))
FROM entry_point e CROSS JOIN distribution d ON d.id = e.distribution
    CROSS JOIN root r ON r.id = d.root LEFT JOIN target t ON t.entry_point = e.id
UNION ALL
SELECT 2, json_array(shown(r.path), shown(coalesce(d.name, d.directory), 300),
    shown(p.plugin_kind), shown(p.name), shown(t.object), shown(t.symbol), shown(t.state))
FROM plugin p CROSS JOIN target t ON t.entry_point = p.id
    CROSS JOIN distribution d ON d.id = p.distribution CROSS JOIN root r ON r.id = d.root
UNION ALL
SELECT 3, json_array(shown(r.path), shown(s.file), s.line, shown(s.kind), shown(s.code))
FROM startup s CROSS JOIN root r ON r.id = s.root
UNION ALL
SELECT 4, json_array(time, shown(action), shown(root), shown(distribution), shown(old_version),
    shown(version), shown(detail), shown(command), uid)
FROM event
