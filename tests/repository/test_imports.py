"""The arrows between modules: one way, without circles, lazy imports included."""

import ast
import re
from fnmatch import fnmatchcase
from graphlib import TopologicalSorter

import pytest
from commands import ROOT, python

PACKAGES = ("tile_envs", "baselines", "benchmarks")
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
}


def imports(module):
    """Yield the modules of the project that a module imports, in functions too."""
    nodes = [*ast.walk(ast.parse(FILES[module].read_text()))]
    guards = [n for n in nodes if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    for_types = [node for guard in guards for node in guard.body]
    for node in nodes:
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in FILES or node.module in FILES:
                    yield name if name in FILES else node.module


ARROWS = {module: sorted(set(imports(module)) - {module}) for module in FILES}


def test_packages_import_one_way():
    assert "tile_envs.rendering.window" in ARROWS["tile_envs.base.env"]  # lazily
    rank = {package: n for n, package in enumerate(PACKAGES)}
    for module, targets in ARROWS.items():
        allowed = rank[module.split(".")[0]]
        assert all(rank[target.split(".")[0]] <= allowed for target in targets), module


RANKS = {
    "tile_envs": """
        play* plug* jax* > replay > wrappers* > tile_envs > games check text
        > sliding tictactoe > sliding.env tictactoe.env > base.vector_env
        > sliding.packed.compiled sliding.cells.compiled tictactoe.compiled
        > sliding.packed.kernels > sliding.compiled > base.loops > base.engine
        > sliding.board tictactoe.board > base.env > sliding.game tictactoe.game
        > sliding.packed.batch sliding.cells.batch > sliding.packed.tables sliding.chance
        > sliding.pairs > sliding.render tictactoe.render > rendering*
        > sliding.rules tictactoe.positions > agents > game
        > base.compiled base.sets base.threads > base.random_stream base.tables > base.checks
        > errors > base* sliding.* files words
    """,
    "baselines": """
        __main__ > commands* > baselines > viewing* > results > players > search* deep*
        > ntuple* tabular* > evaluation.parts > evaluation.comparison > training* > evaluation*
        > solver* > pushes > agents > settings > arrays seeds > progress > errors
    """,
    "benchmarks": """
        __main__ > report run > on_ray tables* figures* > speed.ntuple > rows
        > experiments published > speed* > kinds > libraries* lessons* > article training
        > results > benchmarks
    """,
}
"""The modules of each package, without its name: each imports only those to the right of the next
`>` and, of a folder, `*`, those beside it."""


@pytest.mark.parametrize("package", RANKS)
def test_modules_import_one_way(package):
    prefix, groups = f"{package}.", enumerate(RANKS[package].split(">"))
    ranks = [(n, pattern) for n, group in groups for pattern in group.split()]
    place = {
        module: next(rank for rank in ranks if fnmatchcase(module.removeprefix(prefix), rank[1]))
        for module in ARROWS
        if module.split(".")[0] == package
    }
    assert {pattern for _, pattern in place.values()} == {pattern for _, pattern in ranks}
    for module, targets in ARROWS.items():
        for target in targets:
            if module in place and target in place:
                (above, own), (below, other) = place[module], place[target]
                assert above < below or own == other, (module, target)


def test_no_module_imports_itself_by_a_detour():
    TopologicalSorter(ARROWS).prepare()


def test_agents_are_given_games_and_the_evaluation_knows_none():
    environment = re.compile(r"\b(?:Game|Sliding|TicTacToe|Tiles\d+)(?:Vector)?Env\b")
    for module, path in FILES.items():
        if module.startswith("baselines"):
            assert not environment.findall(path.read_text()), module
    known = {"baselines.agents", "baselines.training.learner"}
    assert not known & {*ARROWS["baselines.evaluation.sampled"]}


def test_modules_and_libraries_are_imported_on_first_use():
    program = """
import importlib.util, sys, tile_envs
assert not [name for name in sys.modules if name.startswith(("tile_envs.", "PIL", "pygame"))]
assert dir(tile_envs) == sorted(tile_envs.__all__)
values = [getattr(tile_envs, name) for name in tile_envs.__all__]
import gymnasium, tile_envs.games, tile_envs.rendering.canvas, tile_envs.wrappers.vector
for env_id in ("Tiles2048-v0", "TicTacToe-v0"):
    gymnasium.make_vec(env_id, 2).reset(seed=0)
assert not {"PIL", "pygame", "jax"} & sys.modules.keys()
if importlib.util.find_spec("numba"):
    import baselines.search.mcts
assert not {"matplotlib", "numba", "torch"} & sys.modules.keys()
"""
    python("-c", program, cwd=ROOT)
