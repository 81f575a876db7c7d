-- The patterns of the lists that a session works; a row says that the session exists.
select seeks from rowlock_sessions where id = :session
