"""The bootstrap of a median against the one of SciPy."""

import math
import warnings

import numpy as np
import pytest
from assay.stats import median
from scipy import stats

LEVEL = 0.95


def _by_scipy(values: list[float]) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = stats.bootstrap(
            (np.asarray(values),),
            np.median,
            n_resamples=median.RESAMPLES,
            method="BCa",
            confidence_level=LEVEL,
            rng=np.random.default_rng(20210620),
        ).confidence_interval
    return float(found.low), float(found.high)


@pytest.mark.parametrize("runs", [10, 11, 25, 66, 200])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_interval_that_scipy_gives_of_the_same_draws(runs: int, seed: int) -> None:
    values = list(np.random.default_rng(seed).lognormal(3, 0.4, runs))
    assert median.bounds(values, LEVEL) == pytest.approx(_by_scipy(values), rel=1e-12)


def test_runs_that_are_too_alike_have_none() -> None:
    values = [5.0] * 11 + [6.0]
    assert all(map(math.isnan, median.bounds(values, LEVEL)))
    assert all(map(math.isnan, _by_scipy(values)))
