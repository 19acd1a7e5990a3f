-- PostgreSQL 15.18: lost-update
-- Session 2 of 2. The statements of all sessions are numbered: run them in this order.

set deadlock_timeout = '10ms';
set enable_seqscan = off;
set enable_indexscan = on;
set enable_indexonlyscan = off;
set enable_bitmapscan = off;

-- wait until session 1 has finished statement 2
begin isolation level serializable; -- 3

delete from isovet_t0 where c_id = -780 returning k, u, c_id; -- 4
-- result: 1 row: (k=20, u=0, id=-780)

commit; -- 5
