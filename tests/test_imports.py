"""The arrows between modules: one way, without circles, lazy imports included."""

import ast
import re

import pytest
from commands import ROOT, python

PACKAGES = ("tile_envs", "baselines", "benchmarks")
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
}


def without_type_checking(tree):
    """Remove what is imported for type checking only."""

    class Remover(ast.NodeTransformer):
        def visit_If(self, node):
            is_guard = ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
            return node.orelse if is_guard else self.generic_visit(node)

    return Remover().visit(tree)


def imports(module):
    """Yield the modules of the project that a module imports, in functions too."""
    tree = without_type_checking(ast.parse(FILES[module].read_text()))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in FILES or node.module in FILES:
                    yield name if name in FILES else node.module


ARROWS = {module: sorted(set(imports(module)) - {module}) for module in FILES}


def test_all_packages_are_read():
    assert len(FILES) > 60
    assert "tile_envs.sliding.rules" in ARROWS["tile_envs.sliding.packed.tables"]
    assert "tile_envs.rendering.window" in ARROWS["tile_envs.base.env"]  # a lazy one


def test_packages_import_one_way():
    rank = {package: n for n, package in enumerate(PACKAGES)}
    for module, targets in ARROWS.items():
        allowed = rank[module.split(".")[0]]
        assert all(rank[target.split(".")[0]] <= allowed for target in targets), module


ROOMS = {
    "tile_envs": ["play", "plug jax", "wrappers", "sliding tictactoe", "base", "rendering"],
    "baselines": [
        *("commands", "viewing", "deep", "search", "ntuple", "tabular"),
        *("training", "evaluation", "solver"),
    ],
    "benchmarks": ["tables", "figures", "speed", "libraries"],
}
"""The folders of each package: each imports only itself and those below it."""


@pytest.mark.parametrize("package", ROOMS)
def test_folders_import_one_way(package):
    rank = {room: n for n, rooms in enumerate(ROOMS[package]) for room in rooms.split()}
    folders = {path.parent.name for path in (ROOT / package).glob("*/*.py")}
    assert rank.keys() == folders
    for module, targets in ARROWS.items():
        own = room_of(module)
        for target in targets:
            other = room_of(target)
            if module.split(".")[0] == target.split(".")[0] == package and own and other:
                assert own == other or rank[own] < rank[other], (module, target)


def room_of(module):
    """Return the folder that a module is in; empty for those at a package's root."""
    _, *rest = FILES[module].relative_to(ROOT).parent.parts
    return rest[0] if rest else ""


def test_no_module_imports_itself_by_a_detour():
    done, path = set(), []

    def visit(module):
        assert module not in path, " → ".join([*path[path.index(module) :], module])
        if module not in done:
            path.append(module)
            for target in ARROWS[module]:
                visit(target)
            done.add(path.pop())

    for module in ARROWS:
        visit(module)


def test_agents_are_given_games_never_environments():
    environment = re.compile(r"\b(?:Game|Sliding|TicTacToe|Tiles\d+)(?:Vector)?Env\b")
    for module, path in FILES.items():
        if module.startswith("baselines"):
            assert not environment.findall(path.read_text()), module


def test_the_evaluation_knows_no_agents():
    known = {"baselines.agents", "baselines.training.learner"}
    assert not known & set(ARROWS["baselines.evaluation.sampled"])


def test_modules_and_libraries_are_imported_on_first_use():
    program = """
import sys, tile_envs
assert not [name for name in sys.modules if name.startswith(("tile_envs.", "PIL", "pygame"))]
assert dir(tile_envs) == sorted(tile_envs.__all__)
values = [getattr(tile_envs, name) for name in tile_envs.__all__]
import gymnasium, tile_envs.sliding, tile_envs.tictactoe, tile_envs.wrappers.vector
for env_id in ("Tiles2048-v0", "TicTacToe-v0"):
    gymnasium.make_vec(env_id, 2).reset(seed=0)
assert not {"numba", "torch"} & sys.modules.keys()
"""
    python("-c", program, cwd=ROOT)
