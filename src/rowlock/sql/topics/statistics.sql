-- Term frequencies of the last sample.
select statistics from rowlock_topics where id = :topic
