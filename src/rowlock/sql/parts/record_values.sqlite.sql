-- SQLite: `json_extract` instead of an array; `limit 1` keeps the planner from computing this for every comparison.
select
    json_extract(:values, '$[0]') as c0, json_extract(:values, '$[1]') as c1, json_extract(:values, '$[2]') as c2,
    json_extract(:values, '$[3]') as c3, json_extract(:values, '$[4]') as c4, json_extract(:values, '$[5]') as c5,
    json_extract(:values, '$[6]') as c6, json_extract(:values, '$[7]') as c7, json_extract(:values, '$[8]') as c8,
    json_extract(:values, '$[9]') as c9, json_extract(:values, '$[10]') as c10, json_extract(:values, '$[11]') as c11,
    json_extract(:values, '$[12]') as n0, json_extract(:values, '$[13]') as n1, json_extract(:values, '$[14]') as n2,
    json_extract(:values, '$[15]') as n3, json_extract(:values, '$[16]') as n4, json_extract(:values, '$[17]') as n5
limit 1
