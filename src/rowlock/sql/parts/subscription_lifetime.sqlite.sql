-- SQLite: there is one writer at a time, so the number of a moment is its place in the commit order.
s.born, coalesce(s.gone, 9223372036854775807)
