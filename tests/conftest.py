"""How hard the properties are tried: `--hypothesis-profile=thorough` tries twenty times as many examples."""

from hypothesis import HealthCheck, settings

# A shared machine pauses now and then, so only the tests that are about speed set a deadline.
settings.register_profile("usual", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("usual"), max_examples=2000)
settings.load_profile("usual")
