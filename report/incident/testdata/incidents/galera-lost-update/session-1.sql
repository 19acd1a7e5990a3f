-- MariaDB 10.11.19, 2 nodes: lost-update
-- Session 1 of 2. The statements of all sessions are numbered: run them in this order.

set session innodb_lock_wait_timeout = 2;
set session transaction isolation level repeatable read;

begin; -- 1

select u, p from isovet_kv where k = 0; -- 2
-- gave: u=0, p=23

commit; -- 3

begin; -- 4

select u, p from isovet_kv where k = 1; -- 5
-- gave: u=0, p=23

insert into isovet_kv values (1, 1, 25) on duplicate key update u = values(u), p = values(p); -- 6

-- wait until session 2 has done 8
commit; -- 9
