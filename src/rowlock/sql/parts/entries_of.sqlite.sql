-- SQLite: `json_each` instead of `json_array_elements`.
cross join json_each(s.filed) as place
cross join rowlock_filings f on f.key = json_extract(place.value, '$[0]') and f.sort = json_extract(place.value, '$[1]')
    and f.subscription = s.id and f.part = json_extract(place.value, '$[2]')
