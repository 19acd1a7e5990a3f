WITH f AS MATERIALIZED (SELECT p.oid, p.proname, p.prosrc, p.provolatile = 'v' AS writes
	FROM pg_catalog.pg_proc p WHERE p.pronamespace NOT IN ('pg_catalog'::pg_catalog.regnamespace,
	'information_schema'::pg_catalog.regnamespace) AND p.prokind <> 'a' AND (p.prolang NOT IN (SELECT oid
	FROM pg_catalog.pg_language WHERE lanname IN ('internal', 'c')) OR p.proname ~ '^dblink')),
w AS MATERIALIZED (SELECT * FROM f WHERE writes OR EXISTS (SELECT FROM f g WHERE g.writes
	AND (strpos(f.prosrc, g.proname) > 0 OR EXISTS (SELECT FROM pg_catalog.pg_depend d
	WHERE d.objid = f.oid AND d.refobjid = g.oid))))
SELECT (SELECT coalesce(string_agg(DISTINCT proname, ','), '') FROM pg_catalog.pg_proc WHERE prokind = 'a'),
(SELECT coalesce(string_agg(DISTINCT proname, ','), '') FROM w),
(SELECT coalesce(string_agg(DISTINCT proname, ','), '') FROM w WHERE EXISTS (SELECT FROM w WHERE prosrc ~*
	'\m(set_config|create|alter|drop|execute|set\s+((local|session)\s+)?(search_path|role|session|row_))')),
(EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE NOT tgisinternal) OR EXISTS (SELECT FROM
	pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class WHERE c.relkind <> 'v'
	AND c.relkind <> 'm') OR EXISTS (SELECT FROM w JOIN pg_catalog.pg_depend d ON d.refobjid = w.oid
	WHERE d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass))::text,
(current_setting('standard_conforming_strings') = 'off')::text,
replace(current_setting('default_transaction_isolation'), ' ', '-'), current_database()::text
