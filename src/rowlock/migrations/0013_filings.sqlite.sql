-- A table without row numbers lies in the order of its key already.

select 1;
