-- PostgreSQL 15.18: G2
-- Session 1 of 2. The statements of all sessions are numbered: run them in this order.

set deadlock_timeout = '10ms';
set enable_seqscan = off;
set enable_indexscan = off;
set enable_indexonlyscan = off;
set enable_bitmapscan = off;

begin isolation level serializable; -- 1

select k, u, c_id from isovet_t0 where c_id = 0 and ctid >= '(0,0)' order by k; -- 2
-- result: no row

-- wait until session 2 has finished statement 6
insert into isovet_t0 values (16, 1, 0) on conflict (k) do update set u = excluded.u, c_id = excluded.c_id; -- 7

commit; -- 8
