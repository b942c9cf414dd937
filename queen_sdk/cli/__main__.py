"""Lets `python -m queen_sdk.cli` do what `queen` does."""

import sys

from queen_sdk.cli import main

sys.exit(main())
