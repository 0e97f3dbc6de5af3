"""Settings of all tests."""

from hypothesis import settings

# A busy machine is no reason to fail: speed is measured in benchmarks/.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
