-- The first key of a shape makes it known.
insert into rowlock_shapes (topic, shape) select :topic, given.key from {keys}
