-- SQLite wants a where before on conflict.
insert into rowlock_shapes (topic, shape) select :topic, given.key from {keys} where true order by given.key
on conflict (topic, shape) do nothing
