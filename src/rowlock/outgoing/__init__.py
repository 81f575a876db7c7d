"""Outgoing: signed HTTP requests to others, never to a private address that nobody has allowed.

Its modules are imported one by one: who only verifies a signature pays for no sockets.
"""
