-- The time in milliseconds in which a session promises a heartbeat; null for one that has none.
alter table rowlock_sessions add column expiry bigint;
