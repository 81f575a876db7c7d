#!/usr/bin/env python3
"""A shop whose orders, tasks and lists commit in one transaction.

manage.py migrate
manage.py order 7 "A book"
manage.py rowlock_worker --until done
"""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
    execute_from_command_line(sys.argv)
