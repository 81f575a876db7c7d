-- How far a record has been matched.
update rowlock_records set cursor = :cursor, matched = matched + :found,
    matched_at = case when cast(:cursor as text) is null then {now} end
where id = :record and matched_at is null
