-- What the given rows say of an item i.
(select g.rows from given g) -> cast(i.position as text)
