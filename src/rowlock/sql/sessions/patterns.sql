-- What a worker looks for, as it said when it came; a row tells that it is there.
select seeks from rowlock_sessions where id = :session
