-- MariaDB 10.11.19: non-repeatable-read
-- Session 3 of 3. The statements of all sessions are numbered: run them in this order.

set session innodb_lock_wait_timeout = 2;
set session innodb_snapshot_isolation = 1;
set session transaction isolation level repeatable read;

-- wait until session 2 has done 5
begin; -- 6

select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 6 and c_paid = 1 order by k for update; -- 7
delete from isovet_t0 where k in (156);
-- gave: 1 row: (k=156, u=1, customer=6, amount=1, paid=1)

commit; -- 8
