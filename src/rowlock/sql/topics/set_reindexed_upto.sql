update rowlock_topics set refiled_upto = :upto where id = :topic
