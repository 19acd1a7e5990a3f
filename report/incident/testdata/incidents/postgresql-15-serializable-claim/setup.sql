-- PostgreSQL 15.18: G2
-- Run this first, in a database of its own.

create table isovet_t0(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t0_c_id on isovet_t0(c_id);
create table isovet_t1(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t1_c_id on isovet_t1(c_id);
create table isovet_t2(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t2_c_id on isovet_t2(c_id);
create table isovet_t3(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t3_c_id on isovet_t3(c_id);
create table isovet_t4(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t4_c_id on isovet_t4(c_id);
create table isovet_t5(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t5_c_id on isovet_t5(c_id);
create table isovet_t6(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t6_c_id on isovet_t6(c_id);
create table isovet_t7(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t7_c_id on isovet_t7(c_id);
create table isovet_t8(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t8_c_id on isovet_t8(c_id);
create table isovet_t9(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t9_c_id on isovet_t9(c_id);
create table isovet_t10(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t10_c_id on isovet_t10(c_id);
create table isovet_t11(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t11_c_id on isovet_t11(c_id);
create table isovet_t12(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t12_c_id on isovet_t12(c_id);
create table isovet_t13(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t13_c_id on isovet_t13(c_id);
create table isovet_t14(k bigint primary key, u bigint not null, c_id bigint not null);
create index isovet_t14_c_id on isovet_t14(c_id);
analyze;
