-- MariaDB 10.11.19: non-repeatable-read
-- Session 2 of 3. The statements of all sessions are numbered: run them in this order.

set session innodb_lock_wait_timeout = 2;
set session innodb_snapshot_isolation = 1;
set session transaction isolation level repeatable read;

-- wait until session 1 has done 2
begin; -- 3

select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 32 and c_paid = 0 order by k; -- 4
-- gave: 1 row: (k=507, u=0, customer=32, amount=3, paid=0)

-- wait until session 3 has sent 6, which waits
select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 32 and c_paid = 0 order by k for update; -- 7
-- this statement waits; it is answered after 9: go on with the other sessions meanwhile
-- gave: no row

-- wait until session 3 has done 9
commit; -- 10
