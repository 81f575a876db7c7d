"""The columns of an item, once: the fragments by which statements name them are made from the fields of `Item`."""

from rowlock.model import Item

COMPUTED = ("state", "list", "token")
"""Fields of an item that are no columns of its table."""
STORED = tuple(name for name in Item.__struct_encode_fields__ if name not in COMPUTED)
PAYLOAD = ("data", "trace")
"""Columns that hold text as it was given when the item was added; no statement looks into them."""
NO_PAYLOAD: dict[str, str | None] = dict.fromkeys(PAYLOAD)
"""The payload of an item that carries nothing."""
CHANGEABLE = ("data",)
"""Payload that `save` can change."""
OF_CLAIM = ("gate", "priority", "due", "failed_at")
"""Columns that are the same for all items of a claim: it covers one gate and priority, and what is due later or has
failed is not claimed."""
CLAIMED = tuple(name for name in STORED if name not in OF_CLAIM)
"""Columns in which the items of a claim differ."""

FRAGMENTS = {
    "item_columns": ", ".join(f"i.{name}" for name in STORED),
    "claimed_columns": ", ".join(f"i.{name}" for name in CLAIMED),
    "payload_columns": ", ".join(PAYLOAD),
    "payload_parameters": ", ".join(f":{name}" for name in PAYLOAD),
    "payload_types": ", ".join(f"{name} text" for name in PAYLOAD),
    "payload_of_json": ", ".join(f"json_extract(value, '$.{name}')" for name in PAYLOAD),
    "payload_changes": ", ".join(
        f"{name} = case when cast(:keeps_{name} as boolean) then i.{name} else cast(:{name} as text) end"
        for name in CHANGEABLE
    ),
}
"""What stands for `{item_columns}` and the others in .sql files; `i` is the table of items, or what was read of it."""
