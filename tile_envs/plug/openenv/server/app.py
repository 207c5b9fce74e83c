"""The server: each session has a game of its own, which a seed fixes."""

from functools import partial
from typing import Any

import gymnasium as gym
from gymnasium.error import ResetNeeded

import tile_envs  # noqa: F401 # registers the environments
from tile_envs.errors import extra
from tile_envs.plug.openenv.models import TilesAction, TilesObservation
from tile_envs.plug.text import TextEnv
from tile_envs.sliding.game import SlidingGame
from tile_envs.text import describe_actions

with extra("openenv"):
    from fastapi.responses import JSONResponse
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import State

SESSIONS = 256
"""The most clients at once."""
NO_GAME = "no game has begun: over HTTP, none is kept between requests; play over /ws, by TilesEnv."


class TilesEnvironment(Environment):  # type: ignore[misc]
    """The game of one session, by an environment's id and options; `reward` as in `TextEnv`."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, env_id: str = "Tiles2048-v0", reward: str = "score", **options: Any) -> None:
        super().__init__()
        self._env = TextEnv(gym.make(env_id, **options), reward=reward)
        self._state = State()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any
    ) -> TilesObservation:
        self._state = State(episode_id=episode_id)
        return self._observation(*self._env.reset(seed=seed))

    def step(
        self, action: TilesAction, timeout_s: float | None = None, **kwargs: Any
    ) -> TilesObservation:
        text, reward, terminated, truncated, info = self._env.step(action.move)
        self._state.step_count += 1
        return self._observation(text, info, reward=reward, done=terminated or truncated)

    @property
    def state(self) -> State:
        return self._state

    def _observation(self, text: str, info: dict[str, Any], **ends: Any) -> TilesObservation:
        inside: Any = self._env.unwrapped
        board, mask, game = inside.get_state()["board"], info["action_mask"], self._env.game
        if isinstance(game, SlidingGame):
            board = game.faces(board)
        legal = describe_actions(mask).split(", ") if mask.any() else []
        shown = {"text": text, "board": board.tolist(), "legal_moves": legal}
        return TilesObservation(**shown, wrong=info["wrong"], **ends)


def make_app(env_id: str = "Tiles2048-v0", reward: str = "score", **options: Any) -> Any:
    """Return the server's application; see `TilesEnvironment`."""
    make = partial(TilesEnvironment, env_id, reward, **options)
    make()  # a wrong option is refused here, not in a session
    made = create_app(make, TilesAction, TilesObservation, "tiles", max_concurrent_envs=SESSIONS)
    made.add_exception_handler(ResetNeeded, lambda *_: JSONResponse({"detail": NO_GAME}, 409))
    return made


app = make_app()
