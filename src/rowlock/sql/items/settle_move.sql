-- To another gate with no attempts, or to the end of this one with the same attempts; columns that the handler left out
-- stay as they are.
with given as ({parts/given_rows})
update rowlock_items as i
set (gate, data, attempts, due, position, version) = (
    select r.to_gate, case when r.keeps_data then i.data else r.data end,
        case when r.to_gate = i.gate then i.attempts else 0 end,
        {now} + nullif(r.delay, 0), nextval('rowlock_positions'), i.version + 1
    from jsonb_to_record({parts/settled_row}) as r (to_gate integer, keeps_data boolean, data text, delay bigint)
)
where {parts/items_in_settled_rows}
