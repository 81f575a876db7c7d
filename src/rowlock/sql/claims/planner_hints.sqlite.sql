-- This planner knows no table but by its indexes.
select 1
