-- The first item of a priority opens its lane, for good.
update rowlock_lists set lanes = lanes | cast(:lanes as integer) where id = :list
