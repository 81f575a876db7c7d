-- The first key of a shape makes it known; whoever is second waits for the first and finds it there.
insert into rowlock_shapes (topic, shape) select :topic, given.key from {keys} order by given.key
on conflict (topic, shape) do nothing
