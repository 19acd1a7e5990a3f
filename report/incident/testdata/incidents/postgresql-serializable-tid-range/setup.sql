-- PostgreSQL 15.18: G2
-- Run this first, in a database of its own.

create table isovet_t0(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t0_c_id on isovet_t0(c_id);
analyze;
