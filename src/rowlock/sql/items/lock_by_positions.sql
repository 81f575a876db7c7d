-- Of the positions that were handed out, those whose items are still there: others were removed or changed.
select i.position, i.key, i.attempts from rowlock_items i
where {parts/at_positions}
order by i.key {lock}
