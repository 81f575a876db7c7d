-- What a look at a sample has told.
update rowlock_topics set statistics = :statistics, refiled_upto = 0 where id = :topic
