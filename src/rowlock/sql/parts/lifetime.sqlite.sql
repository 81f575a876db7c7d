-- The order of moments is that of their numbers here.
s.born, coalesce(s.gone, 9223372036854775807)
