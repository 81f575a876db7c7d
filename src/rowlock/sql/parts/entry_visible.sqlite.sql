-- SQLite: there is one writer at a time, so the number of a moment is its place in the commit order.
f.born <= :seq and (f.gone is null or f.gone > :seq)
