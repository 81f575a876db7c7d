-- The rows of a settlement by their positions, read once: a join with them would let the planner read the whole lane first, or
-- all rows once for each item.
select jsonb_object_agg(r.value ->> 'position', r.value) as rows from jsonb_array_elements(cast(:rows as jsonb)) as r
