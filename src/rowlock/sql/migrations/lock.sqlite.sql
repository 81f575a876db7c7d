-- A writing transaction is alone on the file already.
select 1
