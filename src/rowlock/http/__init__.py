"""The HTTP service: the engine's verbs as routes, in text, JSON and NDJSON. It adds no behaviour of its own."""
