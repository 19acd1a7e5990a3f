-- MariaDB 10.11.19: non-repeatable-read
-- Session 3 of 3. The statements of all sessions are numbered: run them in this order.

set session innodb_lock_wait_timeout = 2;
set session innodb_snapshot_isolation = 1;
set session transaction isolation level repeatable read;

-- wait until session 2 has done 4
begin; -- 5

select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 32 and c_paid = 1 order by k for update; -- 6
delete from isovet_t0 where k in (507);
-- this statement waits; it is answered after 8: go on with the other sessions meanwhile
-- gave: 1 row: (k=507, u=1, customer=32, amount=3, paid=1)

-- wait until session 1 has done 8
commit; -- 9
