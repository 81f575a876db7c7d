-- Locked: two processes that claim under one session store what they claimed one after the other.
select details from rowlock_sessions where id = :session {lock}
