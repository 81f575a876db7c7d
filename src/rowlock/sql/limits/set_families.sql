-- The families of a list's keys, when they begin or cease to be limited.
update rowlock_items set family = split_part(key, cast(:separator as text), 1) where list = :list
