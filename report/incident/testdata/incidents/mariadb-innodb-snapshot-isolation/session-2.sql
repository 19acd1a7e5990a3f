-- MariaDB 10.11.14: non-repeatable-read
-- Session 2 of 2. The statements of all sessions are numbered: run them in this order.

set session innodb_lock_wait_timeout = 2;
set session innodb_snapshot_isolation = 1;
set session transaction isolation level repeatable read;

-- wait until session 1 has finished statement 2
begin; -- 3

select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 9 and c_paid = 0 order by k for update; -- 4
update isovet_t0 set u = 2, c_paid = 1 + 0 * k where k in (10);
-- result: 1 row: (k=10, u=0, customer=9, amount=1, paid=0)

commit; -- 5

begin; -- 6

select k, u, c_customer, c_amount, c_paid from isovet_t0 where c_customer = 9 and c_paid = 1 order by k for update; -- 7
delete from isovet_t0 where k in (10);
-- result: 1 row: (k=10, u=2, customer=9, amount=1, paid=1)

commit; -- 8
