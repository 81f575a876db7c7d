-- The next time it is another family's turn.
update rowlock_lists set served = :family where id = :list
