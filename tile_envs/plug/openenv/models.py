"""What goes over the wire: an answer of a player, and what the player sees."""

from pydantic import Field

from tile_envs.errors import extra

with extra("openenv"):
    from openenv.core.env_server.types import Action, Observation


class TilesAction(Action):  # type: ignore[misc]
    """An answer, in any form that `tile_envs.text.parse` reads."""

    move: str = Field(description="a move, such as 'up' or '[up]', or the number of a cell")


class TilesObservation(Observation):  # type: ignore[misc]
    """What a player sees."""

    text: str = Field(description="what was wrong, the board, the score and the legal moves")
    board: list[list[int]] = Field(description="faces, 0 for empty; or marks, 1 X and -1 O")
    legal_moves: list[str] = Field(description="the words of the legal moves; none at the end")
    wrong: bool = Field(description="whether the answer named no legal move")
