-- PostgreSQL 15.18: G2
-- Session 1 of 2. The statements of all sessions are numbered: run them in this order.
-- In this order they did not repeat the violation: some of them have to run at the same moment.

set deadlock_timeout = '10ms';
set enable_seqscan = off;
set enable_seqscan = off;
set enable_indexscan = on;
set enable_indexonlyscan = off;
set enable_bitmapscan = off;

begin isolation level serializable; -- 1

select k, u, c_id from isovet_t0 where c_id = 0 order by k; -- 2
-- this statement waits (it is answered after 4): go on with the other sessions
-- result: no row

-- wait until session 2 has sent statement 5, which waits
insert into isovet_t0 values (11, 12, 0) on conflict (k) do update set u = excluded.u, c_id = excluded.c_id; -- 6
-- this statement waits (it is answered after 7): go on with the other sessions

-- wait until session 2 has finished statement 7
commit; -- 8
