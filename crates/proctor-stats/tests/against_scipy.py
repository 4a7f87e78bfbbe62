"""Asks `examples/evaluate.rs` random questions and compares the answers with SciPy, statsmodels and sums over all cases.

    python against_scipy.py PROGRAM [SEED] [ROUNDS]

Without a seed every run asks other questions and says which seed it took. Prints `N passed, N failed`.
"""

import itertools
import json
import math
import random
import subprocess
import sys
import time

import numpy
from scipy import integrate, stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

program = sys.argv[1]
seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 40
rng = random.Random(seed)
asked = []


def ask(name, arguments, expected, tolerance=1e-9):
    asked.append((name, arguments, expected, tolerance))


def side(most=40, least=1):
    n = rng.randint(least, most)
    return [rng.randint(0, n), n]


def hypergeometric(before, after):
    """The passes after, given the passes of both sides."""
    (a, m), (b, n) = before, after
    return numpy.arange(n + 1), stats.hypergeom(m + n, a + b, n).pmf(numpy.arange(n + 1))


def convolved(strata):
    chances, observed, mean, variance = numpy.array([1.0]), 0, 0.0, 0.0
    for before, after in strata:
        values, pmf = hypergeometric(before, after)
        chances = numpy.convolve(chances, pmf)
        observed += after[0]
        mean += (values * pmf).sum()
        variance += ((values - (values * pmf).sum()) ** 2 * pmf).sum()
    if variance == 0:
        return [1.0, 1.0, 0.0, 0.0]
    return [chances[:observed + 1].sum(), chances[observed:].sum(), observed - mean, variance]


def ends(needed, planned):
    """Every way in which a side that settles early can end, with the number of orders that lead there, by trying them all."""
    found = {}
    for outcomes in itertools.product((0, 1), repeat=planned):
        passed = failed = 0
        for outcome in outcomes:
            passed, failed = passed + outcome, failed + 1 - outcome
            if passed == needed or failed == planned - needed + 1:
                break
        found.setdefault((passed, failed), set()).add(outcomes[:passed + failed])
    return {end: len(orders) for end, orders in found.items()}


def settled_stratum(needed, planned, fixed_before):
    """One stratum that settles early after, and before unless its number is fixed; its tails by enumeration."""
    after_ends = ends(needed, planned)
    count = rng.randint(1, planned)
    before_ends = {(k, count - k): math.comb(count, k) for k in range(count + 1)} if fixed_before else after_ends
    before, after = rng.choice(list(before_ends)), rng.choice(list(after_ends))
    passes, failures = before[0] + after[0], before[1] + after[1]
    score = lambda end: round((end[0] * failures - end[1] * passes) / (passes + failures) * 12)
    weights = {}
    for end, orders in after_ends.items():
        other = before_ends.get((passes - end[0], failures - end[1]), 0)
        weights[end] = orders * other
    total = sum(weights.values())
    lower = sum(w for end, w in weights.items() if score(end) <= score(after)) / total
    upper = sum(w for end, w in weights.items() if score(end) >= score(after)) / total
    given = [[before[0], sum(before)] + ([] if fixed_before else [needed, planned]), [after[0], sum(after), needed, planned]]
    return given, [lower, upper] if passes and failures else [1.0, 1.0]


def drawn(strata):
    """All ways to draw the scores of the side after, stratum by stratum."""
    sums, observed = {0: 1.0}, 0
    for before, after in strata:
        pooled = [round(value * 100) for value in before + after]
        ways = list(itertools.combinations(range(len(pooled)), len(after)))
        own = {}
        for way in ways:
            total = sum(pooled[place] for place in way)
            own[total] = own.get(total, 0) + 1 / len(ways)
        joint = {}
        for (a, p), (b, q) in itertools.product(sums.items(), own.items()):
            joint[a + b] = joint.get(a + b, 0) + p * q
        sums = joint
        observed += sum(round(value * 100) for value in after)
    return [sum(p for s, p in sums.items() if s <= observed), sum(p for s, p in sums.items() if s >= observed)]


def mover(strata):
    """Groups of equal numbers of attempts, each with Newcombe's interval, by the squares of their distances."""
    groups = {}
    for before, after in strata:
        groups.setdefault((before[1], after[1]), []).append((before[0], after[0]))
    estimate = down = up = 0.0
    for (m, n), members in groups.items():
        k = len(members)
        weight = k / len(strata)
        old, new = sum(a for a, _ in members) / (k * m), sum(b for _, b in members) / (k * n)
        old_low, old_high = proportion_confint(sum(a for a, _ in members), k * m, method="wilson")
        new_low, new_high = proportion_confint(sum(b for _, b in members), k * n, method="wilson")
        estimate += weight * (new - old)
        down += weight ** 2 * ((new - new_low) ** 2 + (old_high - old) ** 2)
        up += weight ** 2 * ((new_high - new) ** 2 + (old - old_low) ** 2)
    return [estimate, max(estimate - math.sqrt(down), -1), min(estimate + math.sqrt(up), 1)]


def power(before, after, n, level):
    total = 0.0
    for a, b in itertools.product(range(n + 1), repeat=2):
        if stats.hypergeom(2 * n, a + b, n).cdf(b) <= level:
            total += stats.binom(n, before).pmf(a) * stats.binom(n, after).pmf(b)
    return total


def e_rate(passes, failures, rate, low, high):
    ratio = lambda p: math.exp(passes * math.log(p / rate) + failures * math.log((1 - p) / (1 - rate))) if 0 < p < 1 else (0.0 if passes and failures else 1.0)
    return integrate.quad(ratio, low, high, limit=200)[0] / (high - low)


for _ in range(rounds):
    c, n = side(400)
    ask("wilson", [c, n], list(proportion_confint(c, n, method="wilson")))
    first, second = side(), side()
    ask("newcombe", [first, second], list(confint_proportions_2indep(*second, *first, method="newcomb", compare="diff")))
    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    ask("fisher", [first, second], stats.fisher_exact(table).pvalue)
    ask("fisher_worse", [first, second], stats.fisher_exact(table, alternative="greater").pvalue)
    shift = rng.uniform(-2, 2)
    noncentral = stats.nchypergeom_fisher(first[1] + second[1], first[0] + second[0], second[1], math.exp(shift))
    ask("fisher_shifted", [first, second, shift], noncentral.cdf(second[0]), 1e-6)
    b, c = rng.randint(0, 60), rng.randint(0, 60)
    ask("mcnemar", [b, c], mcnemar([[0, b], [c, 0]], exact=True).pvalue if b + c else 1.0)
    values = [rng.random() ** 3 for _ in range(rng.randint(1, 40))]
    ask("benjamini_hochberg", [values], list(multipletests(values, method="fdr_bh")[1]))
    ask("holm", [values], list(multipletests(values, method="holm")[1]))
    z, df, p = rng.uniform(-8, 30), rng.choice([1, 1.6, 3, 12.9, 250, rng.uniform(1, 90)]), rng.choice([10 ** -rng.uniform(0.1, 60), rng.random()])
    ask("normal_tail", [z], stats.norm.sf(z), 1e-10)
    ask("normal_quantile", [p], stats.norm.isf(p), 1e-7)
    ask("t_tail", [z, df], stats.t.sf(z, df), 1e-9)
    ask("t_quantile", [1 - p / 2 if p > 1e-9 else 0.975, df], stats.t.ppf(1 - p / 2 if p > 1e-9 else 0.975, df), 1e-6)
    values = [rng.lognormvariate(0, 1) for _ in range(rng.randint(2, 30))]
    mean = sum(values) / len(values)
    ask("mean", [values], [mean, *stats.t.interval(0.95, len(values) - 1, loc=mean, scale=stats.sem(values))])
    others = [rng.lognormvariate(0, 1) for _ in values]
    logs = [math.log(after / before) for before, after in zip(values, others)]
    ratio = stats.t.interval(0.95, len(logs) - 1, loc=sum(logs) / len(logs), scale=stats.sem(logs))
    ask("ratio", [values, others], [math.exp(sum(logs) / len(logs)), *map(math.exp, ratio)])
    n = rng.randint(1, 60)
    c, k = rng.randint(0, n), rng.randint(1, n)
    ask("pass_k", [n, c, k], [1 - math.comb(n - c, k) / math.comb(n, k), math.comb(c, k) / math.comb(n, k)])
    strata = [[side(20), side(20)] for _ in range(rng.randint(1, 30))]
    ask("stratified", [strata], convolved(strata))
    ask("difference", [strata], mover(strata))
    planned = rng.randint(2, 7)
    given, tails = settled_stratum(rng.randint(1, planned), planned, rng.random() < 0.5)
    ask("stratified", [[given]], tails)
    strata = [[[rng.randint(0, 20) / 20 for _ in range(rng.randint(1, 4))], [rng.randint(1, 19) / 20 for _ in range(rng.randint(1, 4))]] for _ in range(rng.randint(1, 3))]
    ask("scores", [strata], drawn(strata))
    w, b = rng.randint(0, 60), rng.randint(0, 60)
    pairs = integrate.quad(lambda t: math.exp(w * math.log(2 * t) + (b * math.log(2 * (1 - t)) if b else 0)) if t < 1 else float(b == 0) * 2 ** w, 0.5, 1, limit=200)[0] * 2
    ask("e_pairs", [w, b], pairs, 1e-6)
    rate = rng.choice([0.5, 0.8, 0.95, rng.uniform(0.05, 0.95)])
    passes, failures = rng.randint(0, 30), rng.randint(0, 30)
    ask("e_rate", [passes, failures, rate], [e_rate(passes, failures, rate, 0, rate), e_rate(passes, failures, rate, rate, 1)], 1e-6)
for _ in range(max(rounds // 10, 2)):
    before, after, n, level = rng.uniform(0.5, 1), rng.uniform(0, 0.5), rng.randint(2, 12), rng.choice([0.025, 0.015, 0.001])
    ask("fisher_power", [before, after, n, level], power(before, after, n, level))

lines = "".join(json.dumps([name, *arguments]) + "\n" for name, arguments, _, _ in asked)
ran = subprocess.run([program], input=lines, capture_output=True, text=True, check=True, timeout=120)
failed = 0
for (name, arguments, expected, tolerance), line in zip(asked, ran.stdout.splitlines(), strict=True):
    got = numpy.atleast_1d(json.loads(line))
    wanted = numpy.atleast_1d(expected)
    # Settled strata are asked for their tails alone.
    close = numpy.allclose(got[:len(wanted)], wanted, rtol=tolerance * 100, atol=tolerance)
    if not close:
        failed += 1
        print(f"{name}({json.dumps(arguments)}): {got.tolist()}, SciPy says {wanted.tolist()}")
print(f"seed {seed}: {len(asked)} values of {len({name for name, *_ in asked})} statistics")
print(f"{len(asked) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
