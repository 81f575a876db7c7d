-- The last subscription that was reindexed.
update rowlock_topics set refiled_upto = :upto where id = :topic
