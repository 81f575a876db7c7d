-- What a session shall know when another process speaks for it.
update rowlock_sessions set details = :details where id = :session
