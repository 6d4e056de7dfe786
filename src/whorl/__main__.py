"""`python -m whorl` in, the same as `whorl` out."""

from __future__ import annotations

import sys

from whorl.cli import main

if __name__ == "__main__":
    sys.exit(main())
