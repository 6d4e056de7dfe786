"""Loads the settings of Hypothesis, whichever tests are run."""

from __future__ import annotations

import tests.property_settings  # noqa: F401  # it loads the profile
