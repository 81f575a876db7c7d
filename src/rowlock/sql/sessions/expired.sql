-- Strictly past its deadline; whoever locks it buries it.
select id, holder from rowlock_sessions where expires_at < {now} order by expires_at limit :limit {skip}
