-- How far the table's own sequence has got by now; nothing to note if it has not moved.
insert into rowlock_marks (position, at)
select seq, {now} from sqlite_sequence where name = 'rowlock_items'
on conflict (position) do nothing
