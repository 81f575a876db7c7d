"""Delivery: signed HTTP requests and mail to other systems, never to a private address that nobody allowed.

Import its modules one by one: verifying a signature must not load sockets or mail.
"""
