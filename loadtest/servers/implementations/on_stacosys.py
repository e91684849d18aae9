"""A competitor: Stacosys as its author runs it, from a checkout of its sources on PYTHONPATH.

    python on_stacosys.py SETTINGS

It first signs in to its mail server; that is replaced, since there is none here.
"""

import sys

from stacosys.run import main  # type: ignore[import-not-found]  # it has its own environment
from stacosys.service.mail import Mailer  # type: ignore[import-not-found]  # it has its own environment

Mailer.check = lambda _: True
main(sys.argv[1])
