-- The order of moments is that of their numbers here.
f.born <= :moment and (f.gone is null or f.gone > :moment)
