-- SQLite: the table's own sequence.
insert into rowlock_marks (position, at)
select seq, {now} from sqlite_sequence where name = 'rowlock_items'
on conflict (position) do nothing
