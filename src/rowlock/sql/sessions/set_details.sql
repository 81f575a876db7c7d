-- What another process must know to go on with the session.
update rowlock_sessions set details = :details where id = :session
