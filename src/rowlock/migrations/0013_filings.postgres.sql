-- Filings are read from the index of their keys alone: those under one key lie side by side there, and all over the table.

alter table rowlock_filings drop constraint rowlock_filings_pkey;
alter table rowlock_filings add primary key (key, sort, subscription, part) include (
    born, gone, checks, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11,
    l0, h0, l1, h1, l2, h2, l3, h3, l4, h4, l5, h5
);
