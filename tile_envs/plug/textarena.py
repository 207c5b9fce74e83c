"""The games in TextArena; importing this module registers them, under ids of this package.

`tile_envs/2048-v0` and `tile_envs/2584-v0` are for one player and end at their goal;
`tile_envs/TicTacToe-v0` is for two.  `ta.make` takes the options of the environments.
"""

import math
from typing import Any

import gymnasium as gym

import tile_envs  # noqa: F401 # registers the environments
from tile_envs.errors import UsageError, extra
from tile_envs.plug.text import TextEnv, instructions
from tile_envs.sliding.game import SlidingGame
from tile_envs.tictactoe.positions import PLAYED
from tile_envs.tictactoe.render import LETTERS

with extra("textarena"):
    import textarena as ta
    from textarena.wrappers import ActionFormattingWrapper, LLMObservationWrapper

MARKS = PLAYED["both"]
"""By player, the marks of tic-tac-toe; X moves first."""


class TilesArena(ta.Env):  # type: ignore[misc]
    """A game for TextArena's players; a second wrong answer in a row ends it, as in its own games.

    The reward of a sliding game is 1 for the goal, else the logarithm of the largest tile as a
    fraction of the goal's; in tic-tac-toe the winner gets 1, the other -1.
    """

    def __init__(self, env_id: str, **options: Any) -> None:
        super().__init__()
        if options.get("side", "both") != "both":
            raise UsageError("tic-tac-toe in TextArena is for two players: leave out side.")
        self._env = TextEnv(gym.make(env_id, **options))
        self._rules = getattr(self._env.game, "rules", None)

    def reset(self, num_players: int, seed: int | None = None) -> None:
        """Start the game of a seed; Python's own random numbers are left alone."""
        text, _ = self._env.reset(seed=seed)
        players = ta.TwoPlayerState if self._rules is None else ta.SinglePlayerState
        self.state = players(num_players=num_players)
        self.state.reset(game_state={}, player_prompt_function=self._prompt)
        self.state.add_observation(text, ta.ObservationType.GAME_BOARD)

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play what an answer names (see `tile_envs.text.parse`)."""
        state, kinds = self.state, ta.ObservationType
        state.add_observation(action, kinds.PLAYER_ACTION, from_id=state.current_player_id)
        text, _, terminated, truncated, info = self._env.step(action)
        over = terminated or truncated
        if self._rules is not None:
            reward = min(1.0, math.log2(info["max_tile"]) / math.log2(self._rules.goal))
            if info["wrong"]:
                state.set_invalid_move(text.partition("\n")[0], reward)
            elif over:
                state.set_outcome(reward, f"The largest tile is {info['max_tile']}.")
        elif info["wrong"]:
            state.set_invalid_move(text.partition("\n")[0])
        elif info["winner"]:
            state.set_winner(MARKS.index(info["winner"]), f"{LETTERS[info['winner']]} has won.")
        elif over:
            state.set_draw("Nobody has won.")
        state.add_observation(text, kinds.GAME_BOARD)
        return state.step()  # type: ignore[no-any-return]

    def _prompt(self, player_id: int, game_state: Any) -> str:
        game = self._env.game
        side = "" if isinstance(game, SlidingGame) else f" You set {LETTERS[MARKS[player_id]]}."
        return instructions(game) + side


for _name, _options in (
    ("2048", {"env_id": "Tiles2048-v0", "terminate_at_goal": True}),
    ("2584", {"env_id": "Tiles2584-v0", "terminate_at_goal": True}),
    ("TicTacToe", {"env_id": "TicTacToe-v0", "side": "both"}),
):
    _wrappers = [LLMObservationWrapper, ActionFormattingWrapper]
    ta.register(f"tile_envs/{_name}-v0", f"{__name__}:TilesArena", _wrappers, **_options)
