-- Another attempt: after its delay, or at once at the end of its lane; in an exclusive list it then keeps its position.
with given as ({parts/given_rows})
update rowlock_items as i
set (attempts, version, due, position) = (
    select i.attempts + r.counted, i.version + 1, {now} + nullif(r.delay, 0),
        case when r.delay = 0 and not r.stays then nextval('rowlock_positions') else i.position end
    from jsonb_to_record({parts/settled_row}) as r (delay bigint, counted integer, stays boolean)
)
where {parts/items_in_settled_rows}
