WITH RECURSIVE f AS MATERIALIZED (SELECT p.oid, lower(p.prosrc) AS source, p.provolatile = 'v' AS writes,
	substring(lower(p.proname), E'\\w+') AS word FROM pg_catalog.pg_proc p WHERE p.prokind <> 'a' AND p.pronamespace
	NOT IN ('pg_catalog'::pg_catalog.regnamespace, 'information_schema'::pg_catalog.regnamespace) AND (p.prolang NOT IN
	(SELECT oid FROM pg_catalog.pg_language WHERE lanname IN ('internal', 'c')) OR p.proname ~ '^dblink')),
calls AS MATERIALIZED (SELECT m.oid, f.oid AS called FROM (SELECT DISTINCT oid,
	(regexp_matches(source, E'\\w+', 'g'))[1] AS word FROM f WHERE NOT writes) m JOIN f USING (word)
	UNION SELECT d.objid, d.refobjid FROM pg_catalog.pg_depend d
	WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.refclassid = d.classid),
w AS (SELECT oid, writes, sets FROM f CROSS JOIN LATERAL (SELECT source ~
	E'\\m(set_config|create|alter|drop|execute|(re)?set\\s+((local|session)\\s+)?(all|search_path|role|session\\w*|'
	'row_\\w+|default_tr\\w+))\\M' AS sets) x WHERE writes OR sets UNION
	SELECT c.oid, w.writes, w.sets FROM w JOIN calls c ON c.called = w.oid),
n AS (SELECT oid, proname::text AS name, prokind, proretset FROM pg_catalog.pg_proc
	UNION ALL SELECT p.oid, '.' || p.proname, p.prokind, p.proretset FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_type t
	ON t.oid = p.proargtypes[0] WHERE t.typtype IN ('c', 'd', 'p') AND p.pronargs - p.pronargdefaults < 2)
SELECT (SELECT coalesce(string_agg(DISTINCT name, ','), '') FROM n WHERE prokind = 'a'),
(SELECT coalesce(string_agg(DISTINCT name, ','), '') FROM n JOIN w USING (oid) WHERE w.writes),
(SELECT coalesce(string_agg(DISTINCT name, ','), '') FROM n JOIN w USING (oid) WHERE (SELECT bool_or(sets) FROM w)),
(SELECT coalesce(string_agg(DISTINCT name, ','), '') FROM n WHERE proretset),
(EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE NOT tgisinternal) OR EXISTS (SELECT FROM
	pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class WHERE c.relkind <> 'v'
	AND c.relkind <> 'm') OR EXISTS (SELECT FROM w JOIN pg_catalog.pg_depend d ON d.refobjid = w.oid
	WHERE w.writes AND d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass))::text,
(current_setting('standard_conforming_strings') = 'off')::text,
replace(current_setting('default_transaction_isolation'), ' ', '-'), current_database()::text,
has_function_privilege('pg_catalog.set_config(text,text,boolean)', 'execute')::text
