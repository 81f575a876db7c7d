-- Registers signatures, so that records compute their keys. Table rowlock_shapes: signatures were called shapes.
insert into rowlock_shapes (topic, shape) select :topic, given.key from {keys}
