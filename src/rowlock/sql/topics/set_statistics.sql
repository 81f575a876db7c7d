-- Statistics of a new sample; reindexing starts again from the first subscription.
update rowlock_topics set statistics = :statistics, refiled_upto = 0 where id = :topic
