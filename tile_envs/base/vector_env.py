"""What the native vector environments share: seeds, options, infos, states in and out.

A step equals that of `SyncVectorEnv` over single environments bit for bit: observations, rewards,
ends, and infos wherever their `_key` is true.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar, Generic, SupportsIndex

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from tile_envs.base import checks
from tile_envs.base import engine as engines
from tile_envs.base.env import AGame, GameEnv, single_state
from tile_envs.base.random_stream import Words, checked_seeds, consecutive, seeds_of, starts
from tile_envs.errors import ExtraNotInstalled, UsageError, extra
from tile_envs.game import Bools, Floats, Game, Observations, describe

METHODS = "action_masks", "render"  # whose answers hold one for each game
PER_GAME = *METHODS, "seeds", "ended"  # also the attributes that differ between games
SINGLE = {name: f"single_{name}" for name in ("observation_space", "action_space")}
GAMES_PER_THREAD = 2048
"""Threads with fewer games cost more than they bring: to wake one takes as long as 1,000 games."""
VECTOR_ONLY = "steps", "begun"  # entries of a state that those of single environments lack


class GameVectorEnv(VectorEnv[Observations, NDArray[np.int64], NDArray[Any]], Generic[AGame]):
    """The base of the vector environments.

    Before the first `reset`, other methods raise `ResetNeeded`.  Games draw from random streams of
    their own: `np_random` has no effect on them once they are seeded.

    Besides the options of the single environment, given by name, the arguments are:

    - `num_envs`: the number of games.
    - `autoreset_mode`: when ended games are reset, an `AutoresetMode` or its value.
    - `max_episode_steps`: the step after which an episode is truncated; None for no limit.
    - `engine`: `"numpy"`; `"numba"`, compiled code, which is faster (extra `fast`); or `"auto"`,
      numba where it works.  Both play the same games.
    - `threads`: how many threads may share a step of numba, one for each 2,048 games; they play the
      same games, too.  Games that numpy plays, because an object decides them, have one thread.
    - `game`: the game to play, instead of its options; the attribute is its rules without its
      random streams, for agents and search.

    Raises:
        ValueError: If an argument is not as described.
        ExtraNotInstalled: If numba is asked for, and missing or unusable.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}

    single: ClassVar[type[GameEnv[Any, Any]]]
    """The single environment, whose options these environments take."""

    def __init__(
        self,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        engine: str = engines.NUMPY,
        threads: int = 1,
        max_illegal: int = 100,
        game: AGame | None = None,
        **options: Any,
    ) -> None:
        self.num_envs = num_envs = checks.checked_count(num_envs, "num_envs")
        mode = getattr(autoreset_mode, "value", autoreset_mode)
        modes = [mode.value for mode in AutoresetMode]
        self.autoreset_mode = AutoresetMode(checks.checked_choice(mode, "autoreset_mode", modes))
        if max_episode_steps is not None:
            max_episode_steps = checks.checked_count(max_episode_steps, "max_episode_steps")
        self.max_episode_steps = max_episode_steps
        drawn = None, *self.metadata["render_modes"]
        self.render_mode = checks.checked_choice(render_mode, "render_mode", drawn)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        if game is not None and (options or not isinstance(game, Game)):
            found = f"{checks.brief(game)} and the options {checks.brief(options)}"
            raise UsageError(f"game must be a Game alone, got {found}.")
        self.game: AGame = self.single.game_of(**options) if game is None else game
        self._described = describe(self.game)
        self.max_illegal = checks.checked_count(max_illegal, "max_illegal")
        self.single_observation_space = self.game.observation_space
        self.single_action_space = Discrete(self.game.n_actions)
        try:
            self.observation_space = batch_space(self.single_observation_space, num_envs)
            self.action_space = batch_space(self.single_action_space, num_envs)
        except (MemoryError, ValueError):  # numpy's, of arrays that cannot be addressed
            raise UsageError(f"num_envs must fit into memory, got {num_envs:,}.") from None
        self._every, self._started = np.ones(num_envs, np.bool_), False
        limits = engines.Limits(self.max_illegal, max_episode_steps or engines.NO_LIMIT)
        engine = checks.checked_choice(engine, "engine", engines.NAMES)
        threads = checks.checked_count(threads, "threads")
        used = min(threads, max(1, num_envs // GAMES_PER_THREAD))
        made = self.game, num_envs, limits
        self._engine: engines.NumpyEngine
        if self.game.loops is None or not _compiles(engine):
            self._engine = engines.NumpyEngine(*made)
        else:
            from tile_envs.base.loops import CompiledEngine

            self._engine = CompiledEngine(*made, used)
        if threads > 1 and engine == engines.NUMPY:
            raise UsageError(f'threads need engine="numba", got {threads} threads for numpy.')

    @property
    def engine(self) -> str:
        """What plays: `"numpy"` or `"numba"`."""
        return self._engine.name

    @property
    def threads(self) -> int:
        """How many threads share a step; fewer than asked for if they had too few games."""
        return self._engine.threads

    @property
    def seeds(self) -> Words:
        """The seeds `(num_envs,) uint64` with which `reset` begins the present games again.

        A game that was given a board needs it again.
        """
        return seeds_of(self._started_games().episodes.begun)

    @property
    def ended(self) -> Bools:
        """The games that are over and wait for their reset, `(num_envs,) bool`."""
        return np.array(self._started_games().state.over, np.bool_)

    def reset(
        self,
        *,
        seed: SupportsIndex | Sequence[int | None] | NDArray[np.integer[Any]] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Start new games; return the observations and infos of all games.

        Args:
            seed: One integer, with which game i is seeded by `seed + i` (see `tile_envs.seeds`); or
                one for each game, with None to continue the game's random stream.
            options: What the single environment's `reset` takes, for all games or with a leading
                axis of `num_envs`; and `reset_mask`, `(num_envs,) bool`, the games to reset, as
                the `_key` of an info says again.

        Raises:
            ValueError: If the seed or an option is unusable; nothing has changed then.  Or if an
                opponent that a user brought fails; all games need a reset then.
        """
        options = checks.checked_options(options, (*self.game.reset_options, "reset_mask"))
        mask = self._checked_reset_mask(options.pop("reset_mask", None))
        positions = self.game.checked_positions(options, self.num_envs) if options else None
        streams, where = self._seeded_streams(seed), np.flatnonzero(mask)
        self._started = False  # until the games have begun: a user's opponent can fail
        given = positions and tuple(values[where] for values in positions)
        self._engine.begin(self._engine.games, where, streams, given)
        self._started = True
        observations, infos = self._engine.show(self._engine.games)
        return observations, _keyed(infos, mask)

    def step(self, actions: ArrayLike) -> tuple[Observations, Floats, Bools, Bools, dict[str, Any]]:
        """Play an action `(num_envs,)` in every game; reset ended games as the autoreset mode says.

        Actions of games that this step resets are ignored.  Returns fresh arrays: observations,
        rewards `float64`, terminations and truncations `bool`, and the infos, each with its `_key`.

        Raises:
            ValueError: If the actions are not `num_envs` integers inside the action space, or a
                user's placer or opponent fails, whose own errors are passed on; nothing has changed
                then.
            ResetNeeded: If a game is over and autoreset is disabled.
        """
        transition = self.advance(actions)
        infos = _keyed(transition.infos, self._every)
        if transition.final is not None:
            infos |= self._final_infos(transition.final)
        return *transition[:4], infos

    def advance(self, actions: ArrayLike) -> engines.Transition:
        """Play as `step` does; return the same without the keys and forms that Gymnasium adds."""
        games, mode = self._started_games(), self.autoreset_mode
        if mode is AutoresetMode.DISABLED and np.count_nonzero(games.state.over):
            over = checks.brief(np.flatnonzero(games.state.over).tolist())
            remedy = "call reset(options={'reset_mask': …}) before the next step()"
            raise ResetNeeded(f"games {over} are over and autoreset is disabled: {remedy}.")
        games, transition = self._engine.play(actions)
        if mode is AutoresetMode.SAME_STEP and np.count_nonzero(games.state.over):
            ended = np.flatnonzero(games.state.over)
            last = {name: values[ended] for name, values in transition.infos.items()}
            final = engines.Final(ended, transition.observations[ended], last)
            transition = transition._replace(final=final)
            self._engine.begin_shown(games, ended, transition)
        self._engine.games = games  # now that no opponent of a user's has failed
        return transition

    def sample_legal_actions(self) -> NDArray[np.int64]:
        """Draw a legal action for every game, uniformly, `(num_envs,)`; 0 where none is legal.

        As `action_space.sample` does, it draws from the generator of `action_space.seed`.
        """
        self._started_games()
        return self._engine.choose(
            self.action_space.np_random.bit_generator.random_raw(self.num_envs)
        )

    def action_masks(self) -> Bools:
        """Return the legal actions, `(num_envs, actions) bool`, as MaskablePPO wants them.

        All False after termination, as `NextStep` shows it.  A softmax over no action is NaN:
        `masks |= ~masks.any(axis=1, keepdims=True)` allows all actions there; they are ignored.
        """
        return self.game._masks(self._started_games().state)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of every game, or what its method returns, as `SyncVectorEnv` does.

        Methods are `action_masks` and `render`; others are refused by an `AttributeError`.
        """
        value = getattr(self, SINGLE.get(name, name))
        if name in METHODS:
            value = value(*args, **kwargs)
        elif callable(value):
            known = f"the methods of each game are {' and '.join(METHODS)}"
            raise AttributeError(f"{known}, got {name!r}: call it on the vector environment.")
        own = name in PER_GAME and value is not None
        return tuple(value) if own else (value,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Refuse by an `AttributeError`: the games share everything but their boards."""
        raise AttributeError(f"make games with another {name} by gym.make_vec instead.")

    def get_state(self) -> dict[str, Any]:
        """Return all of the games, random streams too, as a small dictionary, for `set_state`."""
        self._started_games()
        shared = {name: array.copy() for name, array in self._shared_state().items()}
        return {"game": self._described, **shared, **self._position()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a state that `get_state` returned, here or in environments of an equal game.

        A `ValueError`, after which nothing has changed, refuses what is no state, those of another
        game, of other options or of another number of games (see `tile_envs.game.describe`), and
        those in which games have ended that `SameStep` would have reset.
        """
        shared, games = self._shared_state(), self._engine.games
        most = {"steps": self.max_episode_steps or checks.LARGEST, "illegal_run": self.max_illegal}
        checks.check_state(state, {"game": self._described, **shared}, self._position(), most)
        if self.autoreset_mode is AutoresetMode.SAME_STEP and state["ended"].any():
            over = checks.brief(np.flatnonzero(state["ended"]).tolist())
            wanted = 'with autoreset_mode="SameStep", a state must hold games that go on'
            raise UsageError(f'{wanted}, but games {over} are over: use "NextStep" or "Disabled".')
        positions = self.game.checked_positions(state, self.num_envs)
        self._engine.begin(games, slice(None), games.state.streams, positions)
        self._started = True
        for name, array in shared.items():
            array[...] = state[name]

    def get_states(self) -> list[dict[str, Any]]:
        """Return the state of each game, for `set_state` of a single environment."""
        state = self.get_state()
        names = [name for name in state if name not in ("game", *VECTOR_ONLY)]
        games = zip(*(state[name] for name in names), strict=True)
        own = {"game": self._described}
        return [checks.plain(own | dict(zip(names, game, strict=True))) for game in games]

    def set_states(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Go to states of single environments, one for each game.

        Their time limits begin anew, and `seeds` are those of games that begin here.  A
        `ValueError`, after which nothing has changed, refuses other than a state for each game.
        """
        if len(states) != self.num_envs:
            raise UsageError(f"states must be {self.num_envs}, one a game, got {len(states)}.")
        like, own = single_state(self._described), self._position()
        for state in states:
            checks.check_state(state, like, own, {"illegal_run": self.max_illegal})
            self.game.checked_positions(state)
        given: dict[str, Any] = {"game": self._described}
        for name, array in (self._shared_state() | own).items():
            if name not in VECTOR_ONLY:
                given[name] = np.array([state[name] for state in states], array.dtype)
        counted = {"steps": np.zeros(self.num_envs, np.int64), "begun": given["stream"]}
        self.set_state(given | counted)

    def render(self) -> tuple[Any, ...] | None:
        """Draw all games as the render mode says: strings (`ansi`) or pictures (`rgb_array`)."""
        if self.render_mode is None:
            return None
        self._started_games()
        shown = self._position()
        scores = shown.get("score", np.zeros(self.num_envs, np.int64)).tolist()
        boards = zip(shown["board"], scores, strict=True)
        return tuple(self.game.draw(board, self.render_mode, score) for board, score in boards)

    def __copy__(self) -> GameVectorEnv[AGame]:
        """Return environments of their own: a shallow copy would share the games."""
        return deepcopy(self)

    def _started_games(self) -> engines.Games:
        if not self._started:
            raise ResetNeeded("the environments have not been reset yet: call reset() first.")
        return self._engine.games

    def _shared_state(self) -> dict[str, NDArray[Any]]:
        state, counted = self._engine.games
        return {"stream": state.streams, **counted._asdict(), "ended": state.over}

    def _position(self) -> dict[str, NDArray[Any]]:
        return self.game._position(self._engine.games.state)

    def _final_infos(self, final: engines.Final) -> dict[str, Any]:
        """Return how games ended that were reset in the same step, as Gymnasium has it."""
        n, ended = self.num_envs, np.zeros(self.num_envs, np.bool_)
        ended[final.games] = True
        observations = np.full(n, None, dtype=object)
        for game, observation in zip(final.games, final.observations, strict=True):
            observations[game] = observation
        infos = {}
        for name, values in final.infos.items():
            infos[name] = np.zeros((n, *values.shape[1:]), values.dtype)
            infos[name][final.games] = values
        return _keyed({"final_obs": observations, "final_info": _keyed(infos, ended)}, ended)

    def _seeded_streams(self, seed: Any) -> Words:
        """Return where the streams of games that begin are: seeded, as they were, or drawn."""
        if seed is None and self._started:
            return np.array(self._engine.games.state.streams, np.uint64)
        if seed is None:
            return starts(self.np_random.integers(1 << 64, size=self.num_envs, dtype=np.uint64))
        if not isinstance(seed, Sequence) and np.ndim(seed) == 0:
            seed = checks.checked_seed(seed)
            super().reset(seed=seed)
            return starts(consecutive(seed, self.num_envs))
        if len(seed) != self.num_envs:
            wanted = f"one integer, or one for each of {self.num_envs} games"
            raise UsageError(f"seed must be {wanted}, got {checks.brief(seed)}.")
        numbers = isinstance(seed, np.ndarray) and seed.dtype.kind != "O"
        going_on = [] if numbers else [i for i, each in enumerate(seed) if each is None]
        given = [0 if each is None else each for each in seed] if going_on else seed
        streams = starts(checked_seeds(given, least=0))
        streams[going_on] = self._seeded_streams(None)[going_on]
        self._np_random_seed = -1  # Gymnasium's word for an unknown one
        return streams

    def _checked_reset_mask(self, mask: Bools | None) -> Bools:
        if mask is None:
            return self._every
        is_array = isinstance(mask, np.ndarray) and mask.shape == (self.num_envs,)
        if not is_array or mask.dtype != np.bool_ or not mask.any():
            wanted = f"a bool array of shape ({self.num_envs},) that names a game to reset"
            raise UsageError(f"reset_mask must be {wanted}, got {checks.brief(mask)}.")
        if not mask.all():
            self._started_games()
        return mask


@cache  # it warns once
def _compiles(wanted: str) -> bool:
    """Tell whether numba compiles here; if not, an error or, for `auto`, a warning says why."""
    if wanted == engines.NUMPY or (wanted == engines.AUTO and find_spec("numba") is None):
        return False
    try:
        with extra("fast"):
            import numba
        config: Any = numba.config
        fault = "numba compiles nothing: unset NUMBA_DISABLE_JIT" if config.DISABLE_JIT else ""
    except ExtraNotInstalled as error:
        fault = str(error)
    except Exception as error:  # of a numpy that it does not know, or of llvmlite
        fault = f"numba cannot be imported: {error}"
    if fault and wanted == engines.NUMBA:
        raise ExtraNotInstalled(fault)
    if fault:
        warnings.warn(f'engine="auto" plays by numpy: {fault}', stacklevel=1)
    return not fault


def _keyed(infos: Mapping[str, Any], keyed: Bools) -> dict[str, Any]:
    """Return infos, each with a `_key` that says whose were asked for."""
    with_keys = {**infos}
    for name in infos:
        with_keys["_" + name] = keyed.copy()
    return with_keys
