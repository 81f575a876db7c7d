-- How frequent terms are, as of the last look.
select statistics from rowlock_topics where id = :topic
