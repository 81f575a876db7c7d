-- The database's clock, not that of the transaction's beginning.
select (extract(epoch from clock_timestamp()) * 1000)::bigint
