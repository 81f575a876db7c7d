-- How many of the next items match a filter.
with scanned as materialized (
    {parts/scanned_items}
),
{parts/counted_items}
