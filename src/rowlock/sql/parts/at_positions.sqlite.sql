-- This planner looks up each position by itself.
i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position in (select value from json_each(:positions))
