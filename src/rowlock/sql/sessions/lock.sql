-- Locked: two who claim under one session note what they were handed in turn.
select details from rowlock_sessions where id = :session {lock}
