-- A table lies in the order of its key already.

select 1;
