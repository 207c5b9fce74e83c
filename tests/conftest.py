"""Settings for all tests."""

import multiprocessing
import os
import shutil
import signal
import sys

import pytest
from hypothesis import settings

from tile_envs.base.env import GameEnv
from tile_envs.base.vector_env import GameVectorEnv

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows without a screen

# Tests run side by side, and threads of torch that wait for each other keep their cores busy.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# TorchRL makes it "spawn", for the whole process, where none has been settled.
multiprocessing.get_start_method()

# A shell that runs the tests in the background lets Ctrl-C be ignored, by all processes below it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example compiles lookup tables, so a deadline for each example says nothing.
settings.register_profile("tile_envs", deadline=None, derandomize=True)
settings.load_profile("tile_envs")

OURS = ("tile_envs", "baselines")


def pytest_addoption(parser):
    parser.addoption(
        "--without-extras",
        action="store_true",
        help="skip the tests that import a library which is not installed, instead of failing",
    )


def pytest_configure(config):
    if config.option.without_extras:
        config.option.doctest_ignore_import_errors = True


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("linux") and sys.platform != "linux":
            item.add_marker(pytest.mark.skip(reason="needs Linux"))


def skip_if_asked(config, error):
    """Skip what needs a library that is missing, if the option asks for it."""
    missing = isinstance(error, ModuleNotFoundError) and error.name.partition(".")[0] not in OURS
    if missing and config.option.without_extras:
        pytest.skip(f"{error.name} is not installed", allow_module_level=True)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    try:
        return (yield)
    except ModuleNotFoundError as error:
        skip_if_asked(pyfuncitem.config, error)
        raise


class TestFile(pytest.Module):
    """A file of tests; its imports may skip it."""

    def collect(self):
        try:
            return super().collect()
        except self.CollectError as error:
            skip_if_asked(self.config, error.__cause__)
            raise


def pytest_pycollect_makemodule(module_path, parent):
    return TestFile.from_parent(parent, path=module_path)


@pytest.fixture(params=["numpy", "numba"])
def engine(request):
    """Each engine of the vector environments."""
    if request.param == "numba":
        try:
            import numba  # noqa: F401 # an extra
        except ModuleNotFoundError as error:
            skip_if_asked(request.config, error)
            raise
    return request.param


@pytest.fixture(scope="module")
def browser():
    """Return a chromium, if there is one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    programs = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, programs)), None)
    if program is None:
        pytest.skip("there is no chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def opened(browser):
    """Return what opens a page, and fails at the first error in it, or at what it has not."""
    errors, pages = [], []

    def open_page(address, **look):
        page = browser.new_page(**look)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: asked.url.startswith(address) or errors.append(asked.url))
        page.goto(address)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not [error for error in errors if "status of 400" not in error]  # a person's mistake


@pytest.fixture
def strict(monkeypatch):
    """Let an illegal action be an error that reaches a game of this process."""
    step, advance = GameEnv.step, GameVectorEnv.advance

    def strict_step(env, action):
        played = step(env, action)
        assert not played[-1]["illegal"]
        return played

    def strict_advance(envs, actions):
        outcome = advance(envs, actions)
        assert not outcome.infos["illegal"].any()
        assert outcome.final is None or not outcome.final.infos["illegal"].any()
        return outcome

    monkeypatch.setattr(GameEnv, "step", strict_step)
    monkeypatch.setattr(GameVectorEnv, "advance", strict_advance)
