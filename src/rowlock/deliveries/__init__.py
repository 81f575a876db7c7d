"""Deliveries: how subscribers are told of a record by HTTP or by mail. Given to `Topic.deliver` instead of a function.

Its modules are imported one by one: sockets and mail are heavy, and only who sends needs them.
"""
