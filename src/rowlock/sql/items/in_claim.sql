-- Of the positions that were handed out, those that still stand there: others were abandoned or changed meanwhile.
select i.position, i.key, i.attempts from rowlock_items i
where {parts/at_positions}
order by i.key {lock}
