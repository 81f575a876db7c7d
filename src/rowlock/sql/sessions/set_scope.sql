-- The session may see and use only lists with these prefixes.
update rowlock_sessions set scope = :scope where id = :session
