-- SQLite: there is one writer at a time, so a number is enough.
insert into rowlock_moments (id, kinds) values (:moment, :kinds)
on conflict (id) do update set kinds = rowlock_moments.kinds | excluded.kinds
returning id
