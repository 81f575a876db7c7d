-- What the keys of a list begin with, when this begins or ceases to matter.
update rowlock_items set family = split_part(key, cast(:separator as text), 1) where list = :list
