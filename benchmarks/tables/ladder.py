"""What stands at the top of README: badges, the claim, and the ladder with its recipes."""

import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from benchmarks.results import Row
from benchmarks.rows import Committed, mark, mean_of, trained
from benchmarks.speed.turns import OURS
from benchmarks.tables.strength import largest_tile, with_half
from benchmarks.tables.table import Columns, Table, number, table

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
RUNGS: list[Row] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
BADGE = "[![{0}](https://img.shields.io/badge/{1}-blue)]({2})"


def badges(committed: Committed) -> str:
    """Return badges of license and Python; that of CI once the repository's address is known."""
    shown = [BADGE.format("License: MIT", "license-MIT", "LICENSE")]
    shown.append(BADGE.format("Python 3.10 or later", "python-3.10+", "CONTRIBUTING.md"))
    if address := repository():
        workflow = f"{address}/actions/workflows/ci.yml"
        shown.append(f"[![CI]({workflow}/badge.svg)]({workflow})")
    return "\n".join(shown)


def repository() -> str:
    """Return the address of the repository; "" as long as there is none."""
    found = re.search(r'^Repository = "(.+)"', PYPROJECT.read_text(), re.MULTILINE)
    return found[1] if found else ""


def claim(committed: Committed) -> str:
    ours = [r for r in committed.rows("speed") if (r["package"], r["game"]) == (OURS, "2048")]
    fastest = max(ours, key=lambda row: float(row["value"]))
    minute, evening = (rows_of(RUNGS[n], committed) for n in (0, 3))
    return (
        f"One core plays **{float(fastest['value']) / 1e6:.0f} million** steps of 2048 per second, "
        f"with observations and masks.{mark([fastest])} An n-tuple network scores "
        f"**{number(mean_of(minute))}** after a minute of training on one core, and "
        f"**{number(mean_of(evening))}** after four hours on two, if it searches for 10 ms per "
        f"move.{mark([*minute, *evening])}"
    )


def ladder(committed: Committed) -> Table:
    columns: Columns = [
        ("trained", _trained),
        ("agent", lambda rows: rows[0]["rung"]["agent"]),
        ("mean score, 95 % interval", _score),
        ("half of the games reach", _median_tile),
        ("recipe", lambda rows: _link(rows[0]["rung"]["recipe"])),
        ("date", lambda rows: max(row["date"] for row in rows)[:10]),
    ]
    items = ([row | {"rung": rung} for row in rows_of(rung, committed)] for rung in RUNGS)
    return table(columns, filter(None, items))


def recipes(committed: Committed) -> str:
    return "\n\n".join(f"## {r['recipe']}\n\n```bash\n{_commands(r)}\n```" for r in RUNGS)


def rows_of(rung: Row, committed: Committed) -> list[Row]:
    """Return the rows of a rung: those of its seeds."""
    return [r for r in committed.rows(rung["table"]) if rung["columns"].items() <= r.items()]


def _trained(rows: Sequence[Row]) -> str:
    if device := rows[0].get("device"):
        return f"{float(rows[0]['minutes']):g} min, {device}"
    if seconds := [float(row.get("training_seconds") or 0) for row in rows if "share" in row]:
        return f"{max(seconds):.0f} s, 1 core"
    return trained(rows)


def _score(rows: Sequence[Row]) -> str:
    if "share" in rows[0]:
        return f"{with_half(rows, 'share', '{:.2%}'.format)} of the optimum"
    return with_half(rows) if rows[0].get("low") else number(rows[0]["mean"])


def _median_tile(rows: Sequence[Row]) -> str:
    return number(largest_tile(rows, 0.5)[0]) if rows[0].get("reach") else ""


def _link(recipe: str) -> str:
    return f"[{recipe}](benchmarks/pages/ladder.md#{_slug(recipe)})"


def _commands(rung: Row) -> str:
    if "program" in rung:
        return f"python {rung['program']}"
    runs = folder = f"runs/{_slug(rung['recipe'])}"
    runs += "-*" * ("--seeds" in rung["train"])
    train = f"python -m baselines train {rung['train']} --out {folder}"
    return f"{train}\npython -m baselines evaluate {runs} {rung['evaluate']}"


def _slug(recipe: str) -> str:
    return recipe.lower().replace(",", "").replace(" ", "-")
