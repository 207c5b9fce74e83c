"""Learning the value of afterstates by playing: TD(0), TD(λ) and temporal coherence.

Greedy play chooses the move with the highest reward plus value of the board it leads to, before the
new tile appears.  That afterstate s then moves towards what follows from it,

    V(s) ← V(s) + α (r' + V(s') - V(s)),

r' being the reward of the next move and s' the afterstate it leads to; 0 after the last move.  The
change is shared out among the entries whose sum V is.

forward     TD(0) while the game is played (Szubert and Jaśkowski, CIG 2014).
backward    The game is stored and learned from its end, so that a result reaches the first move at
            once; with λ the target is r' + (1 - λ) V(s') + λ (the target of s').
coherent    Temporal coherence (Beal and Smith, "Temporal coherence and prediction decay in TD
            learning", IJCAI 1999; Jaśkowski, "Mastering 2048 with delayed temporal coherence
            learning, multistage weight promotion, redundant encoding and carousel shaping", 2018):
            every entry has a rate of its own, |sum of its errors| / (sum of their sizes).
restart     After each game one from its middle, as long as that is more than a few moves, so that
            late positions are seen as often as early ones (Matsuzaki, "Developing a 2048 player
            with backward temporal coherence learning and restart", ACG 2017).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from baselines.agent import Observations, ValueAgent
from baselines.checks import check, check_least, check_positive, check_shares
from baselines.kernels import (
    ACTIONS_END,
    NEXT,
    ONE,
    Game,
    Lines,
    Pushed,
    Word,
    compiled,
    compiled_loop,
    game_of,
    is_vertical,
    mixed,
    push,
    rows_of,
    spawned,
    transposed,
)
from baselines.learner import TEST_SEED, Learner, State
from baselines.ntuple.network import (
    Indices,
    Net,
    Network,
    look_up,
    new_weights,
    sum_up,
)
from tile_envs.random_stream import Words, starts
from tile_envs.sliding.env import SlidingEnv

Played = tuple[NDArray[np.int64], NDArray[np.int64], int]
"""Scores `(n,)`, the largest tiles' indices `(n,)`, and how many moves were made in all."""

SHORTEST_RESTART = 10  # moves
ERRORS, SIZES = Word(1), Word(2)  # where a coherent entry has its sums; its weight comes first


@dataclass(frozen=True)
class NTupleSettings:
    """How an n-tuple network looks and learns.

    Attributes:
        network: A set (4x6, 5x6, 8x6, 4x5, 5x5, 5x4, 2x4, 17x4, 2x7), or tuples of cells such as
            "0123 4567"; not given, 5x6 in 2048, 5x5 in 2584, and fitting ones on smaller boards.
        values: How many tiles a cell tells apart (16 in 2048, 32 in 2584); larger ones share the
            last value.
        stages: Faces of tiles that begin a stage with weights of its own once they are reached.
        stage_games: So many games all stages share the weights of the first; then each begins with
            a copy of them.
        initial: What every board is worth at first; optimistic values make all moves be tried.
        method: td or tc, for temporal coherence.
        direction: forward or backward.
        trace: λ, from 0 to 1; needs backward.
        restart: Whether games are played again from their middle; needs backward.
        learning_rate: α, above 0; the share of an error that one update makes up for.
        halving_games: After so many games α is halved, again and again; 0 is never.
        batch: Games a round, not counting those that were begun in the middle.
        threads: How many play at once and learn into one table, unlocked; only 1 is reproducible.
    """

    network: str = ""
    values: int | None = None
    stages: tuple[int, ...] = ()
    stage_games: int = 0
    initial: float = 0.0
    method: str = "tc"
    direction: str = "backward"
    trace: float = 0.5
    restart: bool = True
    learning_rate: float = 1.0
    halving_games: int = 0
    batch: int = 100
    threads: int = 1

    def check(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: If a setting is outside its own, or does not go with another.
        """
        check("method", self.method, self.method in ("td", "tc"), "td or tc")
        known = self.direction in ("forward", "backward")
        check("direction", self.direction, known, "forward or backward")
        check("initial", self.initial, math.isfinite(self.initial), "a finite number")
        check_shares(self, "trace")
        check_positive(self, "learning_rate")
        check_least(self, 0, "stage_games", "halving_games")
        check_least(self, 1, "batch")
        check("threads", self.threads, 1 <= self.threads <= 256, "from 1 to 256")
        if self.direction == "forward":
            check("trace", self.trace, self.trace == 0, "0 with direction forward")
            check("restart", self.restart, not self.restart, "False with direction forward")

    @property
    def width(self) -> int:
        """How many numbers are kept for an entry."""
        return 3 if self.method == "tc" else 1


class Rule(NamedTuple):
    """How an update changes a network, as compiled loops take it.

    Attributes:
        rate: The change of an entry is this times the error; 0 does not learn.
        trace: λ.
        coherent: Whether each entry has a rate of its own, too.
        restart: Whether games are played again from their middle.
    """

    rate: np.float32
    trace: np.float32
    coherent: bool
    restart: bool


class NTuple(ValueAgent, Learner):
    """An n-tuple network of the value of afterstates, and the agent that plays by it.

    Args:
        env: The game.
        sides: None: a sliding game has one player.
        settings: How it looks and learns.
        seed: Starts the games it learns from.

    Attributes:
        env: The game.
        network: The shape of the network.
        game: The game for compiled loops.
        moves: How many moves it has made to learn from, since it was made.

    Raises:
        ValueError: If a setting is out of its range, the game is none with tiles that slide, or
            there is not enough memory.
    """

    def __init__(
        self, env: gym.Env[Any, Any], sides: tuple[str, ...], settings: NTupleSettings, seed: int
    ) -> None:
        settings.check()
        game = env.unwrapped
        if not isinstance(game, SlidingEnv):
            raise ValueError("an n-tuple network plays the sliding games, not tic-tac-toe.")
        self._settings, self._seed = settings, seed
        self.env = game
        self.network = Network.of(game, settings.network, settings.values, settings.stages)
        self.game = game_of(game)
        weights = new_weights(self.network, settings.width, settings.initial)
        self._staged = self.network.with_weights(weights)
        self.rounds = 0
        self.moves = 0

    @property
    def games(self) -> int:
        """How many games it has learned from, not counting those begun in the middle."""
        return self.rounds * self._settings.batch

    @property
    def net(self) -> Net:
        """The network for compiled loops, with its weights."""
        if self.games >= self._settings.stage_games:
            return self._staged
        return self._staged._replace(stages=np.zeros_like(self._staged.stages))

    def learn(self) -> dict[str, float]:
        """Play a round of games and learn from them.

        Returns:
            The mean score, how often the largest tiles were reached, and the moves per second.

        Raises:
            RuntimeError: If the weights have grown beyond all bounds.
        """
        settings = self._settings
        rng = np.random.default_rng([self._seed, self.rounds])
        seeds = rng.integers(1 << 64, size=settings.batch, dtype=np.uint64)
        began = time.perf_counter()
        rows, positions = self._starts(seeds)
        backward = settings.direction == "backward"
        scores, tiles, moves = self._play(rows, positions, self._rule(), backward)
        speed = moves / (time.perf_counter() - began)
        self.moves += moves
        figures = self._figures(scores, tiles) | {"moves_per_second": speed}
        shared = self.games < settings.stage_games
        self.rounds += 1
        if shared and self.games >= settings.stage_games:
            stages = self.net.weights.reshape(1 + len(self.network.stages), -1)
            stages[1:] = stages[0]
        values = _values(self.game, self.net, rows)
        if np.isnan(values).any() or np.isposinf(values).any():
            raise RuntimeError(
                f"learning has diverged after {self.games:,} games: give a learning_rate below "
                f"{settings.learning_rate}; the last checkpoint is from before that."
            )
        return figures

    def test(self, games: int) -> dict[str, float]:
        """Play games without learning; the mean score and how often the largest tiles were reached.

        Args:
            games: How many; they are the same ones every time, and none that is learned from.
        """
        seeds = np.arange(TEST_SEED, TEST_SEED + games, dtype=np.uint64)
        scores, tiles, _ = self.play_greedily(seeds)
        figures = self._figures(scores, tiles)
        return {f"greedy_{name}": value for name, value in figures.items()}

    def values(self, observations: Observations) -> NDArray[np.float64]:
        """Return what each action is worth, reward included, `(n, 4)`; minus infinity if illegal.

        Raises:
            ValueError: If these are not boards of the game and shape.
        """
        rows = rows_of(self.env, observations)
        return _values(self.game, self.net, rows).astype(np.float64)

    def state(self) -> State:
        """Return the weights, what they mean, and the number of rounds."""
        network = np.frombuffer(str(self.network).encode(), np.uint8)
        return {"weights": self.net.weights, "network": network, "rounds": np.array(self.rounds)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what another network knew; see `Learner.restore`.

        Raises:
            ValueError: If its shape is another.
        """
        weights = state.get("weights")
        if weights is not None and weights.dtype == np.float16:  # as `exported` gives them
            state = {**state, "weights": weights.astype(np.float32)}
        super().restore(state)

    def exported(self) -> State:
        """Return what it takes to play: the weights in half precision, without rates of their own.

        They are those of a network that learns by the method td.

        Raises:
            ValueError: If a weight is too large for half precision.
        """
        weights = self.net.weights[:: self._settings.width]
        if max(weights.max(), -weights.min()) > np.finfo(np.float16).max:
            raise ValueError("a weight is too large for half precision: the network cannot shrink.")
        return self.state() | {"weights": weights.astype(np.float16)}

    def _take_over(self, state: Mapping[str, NDArray[Any]]) -> None:
        if not np.array_equal(state["network"], self.state()["network"]):
            theirs = state["network"].tobytes().decode(errors="replace")
            raise ValueError(f"the checkpoint's network is {theirs}, expected {self.network}.")
        self.net.weights[:] = state["weights"]
        self.rounds = int(state["rounds"])

    def _rule(self) -> Rule:
        """Return how this round learns."""
        settings = self._settings
        halvings = self.games // settings.halving_games if settings.halving_games else 0
        rate = settings.learning_rate * 0.5**halvings / self.network.per_board
        coherent = settings.method == "tc"
        return Rule(np.float32(rate), np.float32(settings.trace), coherent, settings.restart)

    def _starts(self, seeds: Words) -> tuple[Words, Words]:
        """Return the rows that games start from, and the positions of their streams after that."""
        boards, positions = self.env.start.boards(starts(seeds))
        return rows_of(self.env, boards), positions

    def play_greedily(self, seeds: Words) -> Played:
        """Play the games of seeds as the environment would, without learning."""
        rule = Rule(np.float32(0), np.float32(0), coherent=False, restart=False)
        return self._play(*self._starts(seeds), rule, backward=False)

    def _play(self, rows: Words, positions: Words, rule: Rule, backward: bool) -> Played:
        """Play games, and learn by a rule, on several threads."""
        play = play_backwards if backward else play_forwards
        threads = self._settings.threads
        begins = np.cumsum(_shares(len(rows), threads))[:-1]
        parts = zip(np.split(rows, begins), np.split(positions, begins), strict=True)
        with ThreadPoolExecutor(threads) as pool:
            played = [pool.submit(play, self.game, self.net, rule, *part) for part in parts]
        scores, tiles, moves = zip(*(future.result() for future in played), strict=True)
        return np.concatenate(scores), np.concatenate(tiles), sum(moves)

    def _figures(self, scores: NDArray[np.int64], tiles: NDArray[np.int64]) -> dict[str, float]:
        rules = self.env.rules
        figures = {"mean": float(scores.mean())}
        first = rules.index_of(int(rules.name))  # the tile that wins has given the game its name
        for tile in range(first, min(first + 5, rules.largest + 1)):
            figures[f"reach_{rules.faces[tile]}"] = float((tiles >= tile).mean())
        return figures


def _shares(games: int, threads: int) -> list[int]:
    """Divide games into shares for threads to take: ever smaller ones, so that all end together."""
    if threads == 1:
        return [games]
    shares: list[int] = []
    while (left := games - sum(shares)) > 0:
        shares.append(max(1, left // (4 * threads)))
    return shares


@compiled
def pushed_to(
    game: Game, action: Word, a: Word, b: Word, c: Word, d: Word, columns: Lines
) -> Pushed:
    """Push a board, given as its rows and its columns."""
    if is_vertical(action):
        return push(game, action, columns[0], columns[1], columns[2], columns[3])
    return push(game, action, a, b, c, d)


@compiled
def rows_after(game: Game, action: Word, after: Pushed) -> Lines:
    """Return the rows of an afterstate; on a square board columns are as good."""
    if not game.square and is_vertical(action):
        return transposed(after.a, after.b, after.c, after.d)
    return after.a, after.b, after.c, after.d


@compiled
def look_up_afterstate(
    game: Game, net: Net, action: Word, after: Pushed, indices: Indices, at: Word
) -> None:
    """Write the indices of an afterstate's entries, from a place on."""
    a, b, c, d = rows_after(game, action, after)
    look_up(game, net, a, b, c, d, net.stages[after.largest], indices, at)


@compiled
def value_of(game: Game, net: Net, action: Word, after: Pushed, indices: Indices) -> np.float32:
    """Return the value of an afterstate, and leave its indices at the beginning of `indices`."""
    look_up_afterstate(game, net, action, after, indices, Word(0))
    return sum_up(net, indices, Word(0), net.stages[after.largest])


@compiled
def best_move(
    game: Game,
    net: Net,
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    indices: Indices,
    at: Word,
) -> tuple[Word, Pushed, np.float32, np.float32, Word]:
    """Choose a move.

    All afterstates are looked up before any is summed up, so that waiting for the memory overlaps.

    Args:
        game: The game.
        net: The network.
        a: The first row.
        b: The second.
        c: The third.
        d: The fourth.
        indices: Room for four afterstates (see `room_for`) ...
        at: ... from here on.

    Returns:
        The best action (4 if none is legal), its afterstate, the value of that without the reward
        and with it, and where its indices begin.
    """
    columns = transposed(a, b, c, d)
    entries, room = Word(net.turns) * net.lanes, room_for(net, Word(1))
    legal = Word(0)
    action = Word(0)
    while action < ACTIONS_END:
        after = pushed_to(game, action, a, b, c, d, columns)
        if after.changed:
            legal |= ONE << action
            place = at + action * room
            look_up_afterstate(game, net, action, after, indices, place)
            indices[place + entries] = after.reward
            indices[place + entries + ONE] = after.largest
        action += ONE
    best, value, highest = ACTIONS_END, np.float32(0), np.float32(-np.inf)
    action = Word(0)
    while action < ACTIONS_END:
        if legal >> action & ONE:
            place = at + action * room
            reward, largest = indices[place + entries], indices[place + entries + ONE]
            found = sum_up(net, indices, place, net.stages[largest])
            if found + np.float32(reward) > highest:
                best, value, highest = action, found, found + np.float32(reward)
        action += ONE
    chosen = pushed_to(game, best & Word(3), a, b, c, d, columns)
    return best, chosen, value, highest, at + best * room


@compiled
def room_for(net: Net, afterstates: Word) -> Word:
    """Return the room that `best_move` needs: their indices, and beside them reward and stage."""
    return afterstates * (Word(net.turns) * net.lanes + Word(2))


@compiled
def following(game: Game, action: Word, after: Pushed, word: Word) -> tuple[Word, ...]:
    """Return the rows of the board once a random word has made a new tile appear."""
    a, b, c, d = spawned(game, after, word)
    if is_vertical(action):
        return transposed(a, b, c, d)
    return a, b, c, d


@compiled
def adjust(
    net: Net,
    indices: Indices,
    at: Word,
    stage: Word,
    error: np.float32,
    rule: Rule,
) -> None:
    """Move the entries of a board by its error."""
    change = rule.rate * error
    size = abs(error)
    for turn in range(net.turns):
        begin = at + Word(turn) * net.lanes
        if rule.coherent:
            for lane in range(Word(len(net.used))):
                entry = stage + indices[begin + lane]
                sizes = net.weights[entry + SIZES]
                share = abs(net.weights[entry + ERRORS]) / sizes if sizes > 0 else np.float32(1)
                net.weights[entry] += change * share
                net.weights[entry + ERRORS] += error
                net.weights[entry + SIZES] = sizes + size
        else:
            for lane in range(Word(len(net.used))):
                net.weights[stage + indices[begin + lane]] += change


@compiled_loop
def play_forwards(game: Game, net: Net, rule: Rule, boards: Words, positions: Words) -> Played:
    """Play games, and learn from each move as soon as the next one is chosen.

    Args:
        game: The game.
        net: The network; its weights are changed in place.
        rule: How to learn; without a rate, play only.
        boards: The rows to start from, `(n, 4)`.
        positions: Those of the games' random streams, `(n,)`.

    Returns:
        Scores `(n,)`, the largest tiles' indices `(n,)`, and how many moves were made in all.
    """
    scores, tiles = np.zeros(len(boards), np.int64), np.zeros(len(boards), np.int64)
    room = room_for(net, ACTIONS_END)
    indices = np.zeros(2 * room, np.uint32)  # those of the last move are kept beside the next one's
    moves = 0
    learning = rule.rate > 0
    for number in range(len(boards)):
        a, b, c, d = boards[number, 0], boards[number, 1], boards[number, 2], boards[number, 3]
        position, score, largest, is_first = positions[number], Word(0), Word(0), True
        last_value, last_at, last_stage, side = np.float32(0), Word(0), Word(0), Word(0)
        while True:
            action, after, value, _, at = best_move(game, net, a, b, c, d, indices, side)
            if learning and not is_first:
                target = np.float32(0)
                if action < ACTIONS_END:
                    target = np.float32(after.reward) + value
                adjust(net, indices, last_at, last_stage, target - last_value, rule)
            if action == ACTIONS_END:
                break
            is_first, side = False, room - side
            last_value, last_at, last_stage = value, at, net.stages[after.largest]
            moves += 1
            score += after.reward
            largest = max(largest, after.largest)
            position += NEXT
            a, b, c, d = following(game, action, after, mixed(position))
        scores[number], tiles[number] = score, largest
    return scores, tiles, moves


@compiled_loop
def play_backwards(game: Game, net: Net, rule: Rule, boards: Words, positions: Words) -> Played:
    """Play games, and learn from each once it has ended, from its last move to the first.

    Arguments and result are those of `play_forwards`; moves after a restart count, too.
    """
    scores, tiles = np.zeros(len(boards), np.int64), np.zeros(len(boards), np.int64)
    indices = np.zeros(room_for(net, ACTIONS_END), np.uint32)
    path = np.zeros((1 << 14, 8), np.uint64)
    moves = 0
    for number in range(len(boards)):
        a, b, c, d = boards[number, 0], boards[number, 1], boards[number, 2], boards[number, 3]
        position, from_start = positions[number], True
        while True:
            score, largest, length = Word(0), Word(0), 0
            while True:
                action, after, _, _, _ = best_move(game, net, a, b, c, d, indices, Word(0))
                if action == ACTIONS_END:
                    break
                if length == len(path):
                    path = np.concatenate((path, np.zeros_like(path)))
                path[length, 0] = action
                path[length, 1], path[length, 2] = after.a, after.b
                path[length, 3], path[length, 4] = after.c, after.d
                path[length, 5], path[length, 6] = after.reward, after.largest
                path[length, 7] = after.pattern
                length += 1
                score += after.reward
                largest = max(largest, after.largest)
                position += NEXT
                a, b, c, d = following(game, action, after, mixed(position))
            moves += length
            if from_start:
                scores[number], tiles[number] = score, largest
                from_start = False
            learn_backwards(game, net, rule, path[:length], indices)
            if not rule.restart or length <= SHORTEST_RESTART:
                break
            action, after = stored(path[length // 2])
            position += NEXT
            a, b, c, d = following(game, action, after, mixed(position))
    return scores, tiles, moves


@compiled
def learn_backwards(game: Game, net: Net, rule: Rule, path: Words, indices: Indices) -> None:
    """Learn from a game, from its last afterstate to the first.

    Args:
        game: The game.
        net: The network; its weights are changed in place.
        rule: How to learn.
        path: Action, lines, reward, largest tile and pattern of each move, `(n, 8)`.
        indices: Room for a board's indices.
    """
    target = np.float32(0)
    for i in range(len(path) - 1, -1, -1):
        action, after = stored(path[i])
        error = target - value_of(game, net, action, after, indices)
        stage = net.stages[after.largest]
        adjust(net, indices, Word(0), stage, error, rule)
        value = sum_up(net, indices, Word(0), stage)
        target = np.float32(after.reward) + value + rule.trace * (target - value)


@compiled
def stored(move: Words) -> tuple[Word, Pushed]:
    """Return the action and the afterstate of a move that was stored, `(8,)`."""
    after = Pushed(True, move[1], move[2], move[3], move[4], move[5], move[6], move[7])
    return move[0], after


@compiled_loop
def _values(game: Game, net: Net, rows: Words) -> NDArray[np.float32]:
    """Return what each action is worth on boards, `(n, 4)`; minus infinity if illegal."""
    values = np.full((len(rows), 4), -np.inf, np.float32)
    indices = np.zeros(room_for(net, ONE), np.uint32)
    for i in range(len(rows)):
        a, b, c, d = rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3]
        columns = transposed(a, b, c, d)
        for direction in range(4):
            action = Word(direction)
            after = pushed_to(game, action, a, b, c, d, columns)
            if after.changed:
                value = value_of(game, net, action, after, indices)
                values[i, direction] = value + np.float32(after.reward)
    return values
