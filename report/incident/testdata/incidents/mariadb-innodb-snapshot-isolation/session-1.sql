-- MariaDB 10.11.19: non-repeatable-read
-- Session 1 of 3. The statements of all sessions are numbered: run them in this order.

set session innodb_lock_wait_timeout = 2;
set session innodb_snapshot_isolation = 1;
set session transaction isolation level repeatable read;

begin; -- 1

select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 32 and c_paid = 0 order by k for update; -- 2
update isovet_t0 set u = 1, c_paid = 1 + 0 * k where k in (507);
-- gave: 1 row: (k=507, u=0, customer=32, amount=3, paid=0)

-- wait until session 2 has sent 7, which waits
commit; -- 8
