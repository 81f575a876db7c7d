-- Sessions that are held to some lists: few rows, for those who may see no others.
select id, scope from rowlock_sessions where scope is not null
