-- Sessions that are limited to some lists: few rows, for callers that may see no others.
select id, scope from rowlock_sessions where scope is not null
