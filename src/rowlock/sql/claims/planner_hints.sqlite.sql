-- SQLite: its planner goes by the indexes without being told.
select 1
