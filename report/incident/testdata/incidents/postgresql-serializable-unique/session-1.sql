-- PostgreSQL 15.18: lost-update
-- Session 1 of 2. The statements of all sessions are numbered: run them in this order.

set deadlock_timeout = '10ms';
set enable_seqscan = off;
set enable_indexscan = on;
set enable_indexonlyscan = off;
set enable_bitmapscan = off;

begin isolation level serializable; -- 1

select k, u, c_id from isovet_t0 where k = 20; -- 2
-- result: (k=20, u=0, id=-780)

-- wait until session 2 has finished statement 5
insert into isovet_t0(k, u, c_id) values (20, 1, 840) on conflict (k) do update set u = excluded.u, c_id = excluded.c_id; -- 6

commit; -- 7
