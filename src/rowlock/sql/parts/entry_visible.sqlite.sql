-- The order of moments is that of their numbers here.
f.born <= :seq and (f.gone is null or f.gone > :seq)
