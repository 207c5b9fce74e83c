"""Few cases instead of the full product of their factors."""

from itertools import combinations, product


def covering(n, *factors):
    """Return cases in which all values of any n of the factors meet, chosen greedily."""
    cases = product(*(range(len(factor)) for factor in factors))
    met = {case: set(combinations(enumerate(case), n)) for case in cases}
    left, chosen = set().union(*met.values()), []
    while left:
        best = max(met, key=lambda case: len(met[case] & left))
        left -= met[best]
        chosen.append(tuple(factor[i] for factor, i in zip(factors, best, strict=True)))
    return chosen
