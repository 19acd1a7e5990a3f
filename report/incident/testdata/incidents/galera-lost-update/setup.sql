-- MariaDB 10.11.19, 2 nodes: lost-update
-- Run this first, in a database of its own.

create table isovet_kv(k bigint primary key, u bigint not null, p bigint) engine=InnoDB;
insert into isovet_kv values (0, 0, 23);
insert into isovet_kv values (1, 0, 23);
