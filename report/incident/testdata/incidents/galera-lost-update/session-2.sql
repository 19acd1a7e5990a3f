-- MariaDB 10.11.19, 2 nodes: lost-update
-- Session 2 of 2. The statements of all sessions are numbered: run them in this order.

set session innodb_lock_wait_timeout = 2;
set session transaction isolation level repeatable read;

-- wait until session 1 has done 6
begin; -- 7

select u, p from isovet_kv where k = 1; -- 8
-- gave: u=0, p=23

-- wait until session 1 has done 9
insert into isovet_kv values (1, 2, 25) on duplicate key update u = values(u), p = values(p); -- 10

commit; -- 11
