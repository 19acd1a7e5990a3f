-- MariaDB 10.11.19: non-repeatable-read
-- Session 1 of 3. The statements of all sessions are numbered: run them in this order.

set session innodb_lock_wait_timeout = 2;
set session innodb_snapshot_isolation = 1;
set session transaction isolation level repeatable read;

begin; -- 1

select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 6 and c_paid = 0 order by k; -- 2
-- gave: 1 row: (k=156, u=0, customer=6, amount=1, paid=0)

-- wait until session 3 has done 8
select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 6 and c_paid = 0 order by k for update; -- 9
-- gave: no row

commit; -- 10
