SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, c.relpersistence::text,
c.relrowsecurity::text,
CASE WHEN c.relhasrules THEN 'a table with rules' WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid
	AND NOT t.tgisinternal) AND EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace <>
	'pg_catalog'::pg_catalog.regnamespace AND p.prosrc ~* 'current_query|pg_stat_activity') OR EXISTS (SELECT FROM
	pg_catalog.pg_attrdef d WHERE d.adrelid = c.oid AND pg_get_expr(d.adbin, d.adrelid) ~ 'current_query')
	THEN 'a table with a trigger or default that reads the text of statements' ELSE '' END,
(SELECT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid OR i.inhparent = c.oid))::text,
(SELECT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f'
	AND (k.confdeltype IN ('c', 'd') OR k.confupdtype IN ('c', 'd'))))::text,
pg_catalog.has_table_privilege(c.oid, 'SELECT')::text,
(SELECT string_agg(concat_ws(E'\t', a.attname,
	regexp_replace(pg_catalog.format_type(b.oid, NULL), '^.*[.]', ''),
	coalesce(l.collisdeterministic, true), a.attnum, a.attgenerated <> '', e.op,
	CASE WHEN y.typtype = 'd' THEN b.name ELSE '' END), E'\n' ORDER BY k.n)
	FROM (SELECT i.indkey, i.indclass, i.indnkeyatts FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid
		AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
		AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute b WHERE b.attrelid = c.oid
		AND b.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) AND NOT b.attnotnull)
		ORDER BY i.indisprimary DESC, i.indexrelid LIMIT 1) x
	CROSS JOIN LATERAL unnest(x.indkey::int2[], x.indclass::oid[]) WITH ORDINALITY k(num, class, n)
	JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num
	JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
	CROSS JOIN LATERAL (WITH RECURSIVE d AS (SELECT y.oid, y.typbasetype, y.typtype, ''::text COLLATE "C" AS name
		UNION ALL SELECT t.oid, t.typbasetype, t.typtype, format('::%I.%I', m.nspname, t.typname) FROM d
		JOIN pg_catalog.pg_type t ON t.oid = d.typbasetype JOIN pg_catalog.pg_namespace m ON m.oid = t.typnamespace
		WHERE d.typtype = 'd') SELECT oid, name FROM d WHERE typtype <> 'd') b
	CROSS JOIN LATERAL (SELECT format('OPERATOR(%I.%s)', m.nspname, o.oprname) AS op FROM pg_catalog.pg_opclass oc
		JOIN pg_catalog.pg_amop ao ON ao.amopfamily = oc.opcfamily AND ao.amopstrategy = 3
		AND ao.amoplefttype = oc.opcintype AND ao.amoprighttype = oc.opcintype
		JOIN pg_catalog.pg_operator o ON o.oid = ao.amopopr
		JOIN pg_catalog.pg_namespace m ON m.oid = o.oprnamespace WHERE oc.oid = k.class) e
	LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
	WHERE k.n <= x.indnkeyatts),
(SELECT coalesce(string_agg(DISTINCT a.attname, ','), '') FROM pg_catalog.pg_attribute a
	JOIN pg_catalog.pg_proc p ON p.proname = a.attname AND p.prokind = 'a' WHERE a.attrelid = c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = $2::name AND (n.nspname = $1::name OR $1::name = '' AND pg_catalog.pg_table_is_visible(c.oid))
