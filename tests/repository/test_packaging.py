"""What is distributed: all of the repository as source, and the two packages as a wheel."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest
from commands import ROOT
from test_extras import pyproject

import tile_envs

PACKAGES = ("tile_envs", "baselines")

FIRST_STEPS = """
import gymnasium as gym, sys
env = gym.make("tile_envs:Tiles2048-v0", render_mode="rgb_array")

import tile_envs.wrappers.vector
_, info = env.reset(seed=0)
env.step(int(info["action_mask"].argmax()))
assert env.render().any()
envs = tile_envs.wrappers.vector.OneHotPlanes(gym.make_vec("TicTacToe-v0", num_envs=4))
envs.reset(seed=0)
envs.step(envs.unwrapped.sample_legal_actions())
assert "site-packages" in tile_envs.__file__
assert not {"torch", "numba", "scipy", "pygame"} & set(sys.modules)
"""
"""What a person does first, in an environment with the core dependencies."""


def call(*command, **options):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, **options)


def uv(*arguments):
    done = call(sys.executable, "-m", "uv", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_listed_packages_are_those_that_are_there():
    inits = (init for package in PACKAGES for init in (ROOT / package).rglob("__init__.py"))
    folders = {".".join(init.parent.relative_to(ROOT).parts) for init in inits}
    assert sorted(pyproject()["tool"]["setuptools"]["packages"]) == sorted(folders)


def test_the_release_is_the_same_wherever_it_is_named():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == tile_envs.__version__
    date = str(citation.get("date-released", "unreleased"))
    changelog, readme = ((ROOT / name).read_text() for name in ("CHANGELOG.md", "README.md"))
    first, *lines = re.findall("^.*$", changelog.split("\n## ")[1], re.MULTILINE)
    assert first == f"{citation['version']} ({date})"
    assert len(lines) < 40
    (entry,) = re.findall(r"```bibtex\n(.*?)```", readme, re.DOTALL)
    fields = dict(re.findall(r"(\w+) = \{+(.*?)\}", entry))
    assert fields.pop("author") == citation["authors"][0]["name"]
    assert (fields.pop("year") == date[:4]) or date == "unreleased"
    assert fields == {name: citation[name] for name in ("title", "version")}


REFUSED = {
    "dirty": ("README.md", "", "", "the tree is dirty (README.md)"),
    "other tag": ("", "", "v9.9.9", "the tag is v9.9.9, the version"),
    "undated": ("", "", f"v{tile_envs.__version__}", "the changelog begins with"),
    "other version": ("CITATION.cff", 'version: "0.0.1"', "", "CITATION.cff begins with 0.0.1"),
}
"""A file with another text, which is committed if there is one; a tag; and what is said."""


@pytest.mark.linux
@pytest.mark.skipif(sys.version_info < (3, 11), reason="it reads TOML by Python")
@pytest.mark.parametrize(("file", "text", "tag", "said"), REFUSED.values(), ids=REFUSED)
def test_a_release_that_cannot_be_made_is_one_line(file, text, tag, said, tmp_path):
    if call("git", "clone", "--quiet", ROOT, tmp_path / "clone").returncode:
        pytest.skip("no clone of the repository")
    git = ("git", "-C", tmp_path / "clone", "-c", "user.name=x", "-c", "user.email=x@x")
    shutil.copy(ROOT / ".ci" / "release", tmp_path / "clone" / ".ci")
    if text:
        (tmp_path / "clone" / file).write_text(text)
    call(*git, "commit", "--quiet", "--all", "--allow-empty", "--message", "x")
    if file and not text:
        (tmp_path / "clone" / file).write_text(text)
    if tag:
        call(*git, "tag", tag)
    done = call(sys.executable, tmp_path / "clone" / ".ci" / "release")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"error: {said}")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the folder with the source distribution and the wheel that is built from it."""
    pytest.importorskip("uv")
    folder = tmp_path_factory.mktemp("dist")
    uv("build", "--out-dir", folder, ROOT)
    return folder


@pytest.mark.slow
def test_all_that_is_tracked_is_distributed_and_the_packages_are_installed(built):
    done = call("git", "ls-files", cwd=ROOT)
    if done.returncode:
        pytest.skip("no clone of the repository")
    tracked = {*done.stdout.splitlines()}
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        files = {member.name.partition("/")[2] for member in archive if member.isfile()}
    made = {name for name in files if name.startswith("tile_envs.egg-info/")}
    assert files - made - {"PKG-INFO", "setup.cfg"} == tracked
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        files = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert files == {name for name in tracked if name.partition("/")[0] in PACKAGES}


@pytest.mark.slow
def test_the_wheel_works_with_the_core_dependencies_alone(built, tmp_path):
    uv("venv", tmp_path / "venv", "--python", sys.executable)
    python = tmp_path / "venv" / "bin" / "python"
    uv("pip", "install", "--python", python, next(built.glob("*.whl")))
    for words in (("-W", "error", "-c", FIRST_STEPS), ("-m", "tile_envs.play", "--help")):
        done = call(python, *words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    for words in ("baselines", "baselines train ntuple"):
        done = call(python, "-m", *words.split(), cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.endswith("tyro is not installed: pip install 'tile-envs[baselines]'\n")


@pytest.mark.slow
@pytest.mark.parametrize("extra", [*pyproject()["project"]["optional-dependencies"]])
def test_every_extra_can_be_installed_beside_the_agents(extra):
    """It needs the package index, which the variables of uv name if it is another."""
    python = ("--python-version", "3.11")  # what all libraries have packages for
    words = ("pip", "compile", "--quiet", *python, ROOT / "pyproject.toml")
    uv(*words, "--extra", extra, "--extra", "baselines")
