"""What all tests share: draws that do not depend on the order of the tests.

Generated examples are the same in every run; RANKWISE_EXPLORE=1 draws new ones.
"""

import os
import zlib

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("RANKWISE_EXPLORE") else "repeatable")


@pytest.fixture(autouse=True)
def draws_of_this_test(request):
    """Seeds the generator of a test module from the test's name.

    Without it, the data of a test would depend on the tests that ran before it in the same process.
    """
    generator = getattr(request.module, "RNG", None) or getattr(request.module, "rng", None)
    if isinstance(generator, np.random.Generator):
        seeded = np.random.default_rng(zlib.crc32(request.node.name.encode()))
        generator.bit_generator.state = seeded.bit_generator.state
