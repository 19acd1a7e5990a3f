-- PostgreSQL 15.18: G2
-- Session 2 of 2. The statements of all sessions are numbered: run them in this order.
-- In this order they did not repeat the violation: some of them have to run at the same moment.

set deadlock_timeout = '10ms';
set enable_seqscan = off;
set enable_seqscan = off;
set enable_indexscan = on;
set enable_indexonlyscan = off;
set enable_bitmapscan = off;

-- wait until session 1 has sent statement 2, which waits
begin isolation level serializable; -- 3

select k, u, c_id from isovet_t0 where c_id = 0 order by k; -- 4
-- result: no row

insert into isovet_t0 values (22, 23, 0) on conflict (k) do update set u = excluded.u, c_id = excluded.c_id; -- 5

-- wait until session 1 has sent statement 6, which waits
commit; -- 7
