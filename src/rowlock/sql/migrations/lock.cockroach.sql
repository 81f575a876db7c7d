-- No advisory locks here; serialisable transactions that both create the record conflict, and one runs again.
select 1
