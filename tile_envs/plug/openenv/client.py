"""The client of the server in this folder; the page of plugs shows a game."""

from typing import Any

from tile_envs.errors import extra
from tile_envs.plug.openenv.models import TilesAction, TilesObservation

with extra("openenv"):
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server.types import State


class TilesEnv(EnvClient[TilesAction, TilesObservation, State]):  # type: ignore[misc]
    """A game on a server; each client has its own."""

    def _step_payload(self, action: TilesAction) -> dict[str, Any]:
        return {"move": action.move}

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        ends = {"done": payload["done"], "reward": payload["reward"]}
        return StepResult(TilesObservation(**payload["observation"], **ends), **ends)

    def _parse_state(self, payload: dict[str, Any]) -> Any:
        return State(**payload)
