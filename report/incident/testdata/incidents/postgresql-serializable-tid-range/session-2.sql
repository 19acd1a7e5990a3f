-- PostgreSQL 15.18: G2
-- Session 2 of 2. The statements of all sessions are numbered: run them in this order.

set deadlock_timeout = '10ms';
set enable_seqscan = off;
set enable_indexscan = off;
set enable_indexonlyscan = off;
set enable_bitmapscan = off;

-- wait until session 1 has finished statement 2
begin isolation level serializable; -- 3

select k, u, c_id from isovet_t0 where c_id = 0 and ctid >= '(0,0)' order by k; -- 4
-- result: no row

insert into isovet_t0 values (10, 2, 0) on conflict (k) do update set u = excluded.u, c_id = excluded.c_id; -- 5

commit; -- 6
