-- MariaDB 10.11.14: non-repeatable-read
-- Session 1 of 2. The statements of all sessions are numbered: run them in this order.

set session innodb_lock_wait_timeout = 2;
set session innodb_snapshot_isolation = 1;
set session transaction isolation level repeatable read;

begin; -- 1

select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 9 and c_paid = 0 order by k; -- 2
-- result: 1 row: (k=10, u=0, customer=9, amount=1, paid=0)

-- wait until session 2 has finished statement 8
select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 9 and c_paid = 0 order by k for update; -- 9
-- result: no row

commit; -- 10
