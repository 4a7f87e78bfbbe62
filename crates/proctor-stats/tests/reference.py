"""Writes reference.json: values of SciPy and statsmodels for the statistics in this crate.

    python3 -m venv venv && venv/bin/pip install scipy statsmodels
    venv/bin/python crates/proctor-stats/tests/reference.py

The file is checked in; the test `reference` holds our values against it.
"""

import json
import math
import pathlib
import random

import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

rng = random.Random(20261116)
Z = stats.norm.ppf(0.975)


def table():
    n1, n2 = rng.randint(1, 40), rng.randint(1, 40)
    return rng.randint(0, n1), n1, rng.randint(0, n2), n2


def wilson():
    cases = [(0, 1), (1, 1), (0, 10), (10, 10), (9, 10), (1, 1000), (500, 1000)]
    cases += [(c, n) for c, n, _, _ in (table() for _ in range(30))]
    return [[c, n, *proportion_confint(c, n, method="wilson")] for c, n in cases]


def newcombe():
    cases = [table() for _ in range(40)] + [(56, 70, 48, 80), (10, 10, 0, 20), (10, 10, 0, 10)]
    rows = []
    for c1, n1, c2, n2 in cases:
        # statsmodels takes first minus second; we say second minus first.
        low, high = confint_proportions_2indep(c2, n2, c1, n1, method="newcomb", compare="diff")
        rows.append([c1, n1, c2, n2, low, high])
    return rows


def fisher():
    cases = [table() for _ in range(60)] + [(1, 1, 0, 1), (10, 10, 4, 10), (300, 500, 340, 500)]
    return [
        [c1, n1, c2, n2, stats.fisher_exact([[c1, n1 - c1], [c2, n2 - c2]]).pvalue]
        for c1, n1, c2, n2 in cases
    ]


def pairs():
    cases = [(0, 0), (1, 0), (5, 5), (0, 6), (3, 12), (40, 60), (0, 200)]
    cases += [(rng.randint(0, 30), rng.randint(0, 30)) for _ in range(25)]
    rows = []
    for b, c in cases:
        if b + c == 0:
            rows.append([b, c, 1.0, 1.0])
            continue
        exact = mcnemar([[0, b], [c, 0]], exact=True).pvalue
        mid = exact - stats.binom.pmf(min(b, c), b + c, 0.5) if b != c else 1.0
        rows.append([b, c, exact, mid])
    return rows


def adjusted():
    rows = []
    for size in (1, 2, 5, 20, 100):
        values = [rng.random() ** 3 for _ in range(size)]
        rows.append([values, list(multipletests(values, method="fdr_bh")[1])])
    rows.append([[0.01, 0.01, 0.5, 0.5], list(multipletests([0.01, 0.01, 0.5, 0.5], method="fdr_bh")[1])])
    return rows


def repeats():
    rows = []
    for _ in range(40):
        n = rng.randint(1, 50)
        c, k = rng.randint(0, n), rng.randint(1, n)
        at = 1 - math.comb(n - c, k) / math.comb(n, k)
        hat = math.comb(c, k) / math.comb(n, k)
        rows.append([n, c, k, at, hat])
    return rows


def quantiles():
    return [
        [p, df, stats.t.ppf(p, df)]
        for p in (0.6, 0.9, 0.975, 0.995, 0.025)
        for df in (1, 2, 3, 9, 30, 250, 4000)
    ]


def means():
    rows = []
    for size in (2, 3, 10, 50):
        values = [rng.lognormvariate(0, 1) for _ in range(size)]
        low, high = stats.t.interval(
            0.95, size - 1, loc=sum(values) / size, scale=stats.sem(values)
        )
        rows.append([values, sum(values) / size, low, high])
    return rows


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return int(value) if isinstance(value, int) else float(value)


reference = {
    "scipy": scipy.__version__,
    "statsmodels": statsmodels.__version__,
    "wilson": plain(wilson()),
    "newcombe": plain(newcombe()),
    "fisher": plain(fisher()),
    "mcnemar": plain(pairs()),
    "benjamini_hochberg": plain(adjusted()),
    "repeats": plain(repeats()),
    "t_quantile": plain(quantiles()),
    "mean": plain(means()),
}
target = pathlib.Path(__file__).with_name("reference.json")
lines = [f' "{name}": {json.dumps(rows)}' for name, rows in reference.items()]
target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
