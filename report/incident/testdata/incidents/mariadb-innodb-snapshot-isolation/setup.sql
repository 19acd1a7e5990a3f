-- MariaDB 10.11.14: non-repeatable-read
-- Run this first, in a database of its own.

create table isovet_t0(k bigint primary key, u bigint not null, c_customer bigint not null, c_amount bigint not null, c_paid bigint not null) engine=InnoDB;
create index isovet_t0_c_customer on isovet_t0(c_customer);
insert into isovet_t0 values (10,0,9,1,0);
