-- Nothing is known of such settings here.
select 1
