"""The n-tuple network: learns the value of afterstates by temporal differences (TD).

An episode alternates moves and new tiles.  A move leads from a state to an *afterstate*, without
chance; a new tile leads from there to the next state:

    s0 --(a0, r0)--> s0' --(new tile)--> s1 --(a1, r1)--> s1' --(new tile)--> s2 ... sT, no move

V(s') estimates the sum of the rewards that follow an afterstate.  The agent plays the action with
the highest r + V(s').  Then each afterstate is moved towards what followed it, 0 after the last:

    V(s_t') ← V(s_t') + α δ,    δ = r_t+1 + V(s_t+1') - V(s_t').

V(s') is a sum of m table entries (see `network`); each of them changes by α δ / m.  The variants:

- `direction` forward: TD(0) during the game: an afterstate is updated as soon as the next move is
  chosen (Szubert and Jaśkowski, "Temporal difference learning of n-tuple networks for the game
  2048", CIG 2014).
- `direction` backward: the game is stored and learned from its end, so that a result reaches the
  first move at once.  With λ = `trace_decay`, the target of s_t' is the λ-return
  G_t = r_t+1 + (1 - λ) V(s_t+1') + λ G_t+1.
- `method` tc, temporal coherence: each entry also has a rate of its own, |sum of its errors δ| /
  sum of all |δ|, which is 1 at first (Beal and Smith, "Temporal coherence and prediction decay in
  TD learning", IJCAI 1999; Jaśkowski, "Mastering 2048 with delayed temporal coherence learning,
  multistage weight promotion, redundant encoding and carousel shaping", 2018).
- `half_games`: the first half of the tuples learns alone, in half of the time and from fewer games;
  the second half then adds to it what it cannot tell apart, as in Barnabet's 2k48 (2026).
- `averaging`: the agent plays by the mean of its weights over the end of the budget; learning goes
  on with the weights themselves (Ruppert 1988; Polyak and Juditsky, "Acceleration of stochastic
  approximation by averaging", 1992).
- `restart`: in a fraction of the iterations, after each game comes another one from its middle,
  until a game has at most 10 moves, so that late positions are seen more often (Matsuzaki,
  "Developing a 2048 player with backward temporal coherence learning and restart", ACG 2017).
- `late_stages`: before a tile that no game has made, all values say that games end there, and so
  the agent lets them end.  Such boards have weights of their own, which begin too high, by those of
  boards half as large; and games are played again from where they entered a stage, most often from
  the last one (as in the carousel shaping of 2018).

The same algorithm stands in `plain`, in plain Python; the code that runs is in `learning`.
Deviations from the articles:

1. α is divided by m, so that α = 1 removes the whole error of a board.  In 2014, each entry changed
   by α δ.
2. Forward learning takes V(s_t') in δ from when a_t was chosen, before s_t-1' was updated.
3. E and A are numbers in single precision: A stops growing near 2^24 |δ|, which the hottest entries
   reach in an hour, while E goes on.
"""

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numba
import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from baselines.agents import Observations, ValueAgent
from baselines.ntuple.learning import ERRORS, SIZES, Played, Rule, average, play
from baselines.ntuple.network import Network, new_weights
from baselines.ntuple.values import Net, action_values, lowered, net_of
from baselines.progress import clock
from baselines.seeds import game_seeds, training_generator, training_seeds
from baselines.settings import Count, Finite, Fraction, NonNegative, Positive, Threads, check_batch
from baselines.solver.boards import initial_value
from baselines.training.learner import Learner, Metrics, State
from tile_envs.base.random_stream import Words, starts
from tile_envs.errors import UsageError
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import game_tables, rows_of

NUMBERS = ("weights", "errors", "sizes", "latest")
"""What a state calls the numbers of entries: the weights to play by, E, A, and the weights to learn
on from if the first are means."""
SAMPLES = 10
"""How many times weights are looked at for their mean."""
ON_THE_WAY = np.float32(0.2)
"""What is left of the value of a board half as large, where the next tile is still to be made."""


@dataclass(frozen=True)
class NTupleSettings:
    """The settings of an n-tuple network; the defaults are TD(0), as in 2014, of larger tuples.

    Attributes:
        network: A set (4x6, 5x6, 8x6, 4x5, 5x5, 5x4, 2x4, 17x4, 2x7), or tuples of cells, such as
            the two of "0123 4567"; by default 8x6 in 2048, 5x5 in 2584, and fitting ones on smaller
            boards.
        values: Number of values of a cell (16 in 2048, 32 in 2584); larger tiles share the last.
        half_games: Games in which only the first half of the tuples is used: these learn fast, and
            the others begin at 0 beside them.
        stages: Sums of a board's tiles from which on its values have weights of their own.
        stage_games: Games in which all stages share the weights of the first; then each stage
            begins with a copy of them.
        late_stages: Further sums, which games hardly reach at first: their values begin as those of
            boards half as large, and games are played again from where they entered a stage.
        late_games: Games after which the late stages begin, at least 1 if there are any.
        initial: Initial value of every board; optimistic values encourage exploration. None is the
            score of making the largest tile that a board can hold.
        method: Temporal differences, or tc, temporal coherence.
        direction: Whether to learn during a game, or from its end to its start.
        trace_decay: λ of the λ-return; needs direction backward.
        restart: Fraction of iterations whose games are played again from their middle; needs
            direction backward.
        learning_rate: α, the fraction of an error that one update removes.
        averaging: Fraction of the budget, at its end, of whose weights it plays by the mean.
        iteration_games: Games per iteration, without those that were begun in the middle.
        threads: Threads that play, and learn into one table without locks; only 1 is reproducible.
    """

    network: str = ""
    values: Count | None = None
    half_games: NonNegative = 0
    stages: tuple[Count, ...] = ()
    stage_games: NonNegative = 0
    late_stages: tuple[Count, ...] = ()
    late_games: NonNegative = 0
    initial: Finite | None = 0.0
    method: Literal["td", "tc"] = "td"
    direction: Literal["forward", "backward"] = "forward"
    trace_decay: Fraction = 0.0
    restart: Fraction = 0.0
    learning_rate: Positive = 0.1
    averaging: Fraction = 0.0
    iteration_games: Count = 100
    threads: Threads = 1

    def __post_init__(self) -> None:
        replayed = self.trace_decay or self.restart or self.late_stages
        if self.direction == "forward" and replayed:
            raise UsageError("trace_decay, restart and late_stages need direction backward.")
        if self.half_games and self.initial != 0:
            raise UsageError(
                f"half_games needs initial 0, got {self.initial}: give half_games 0, or no initial."
            )
        if self.stages and self.stage_games < self.half_games:
            raise UsageError(
                f"stage_games must be half_games or more, {self.half_games:,}, got "
                f"{self.stage_games:,}."
            )
        if self.late_stages and min(self.late_stages) <= max(self.stages, default=0):
            raise UsageError(
                f"late_stages must be larger than stages, got {min(self.late_stages):,}."
            )
        least = max(1, self.half_games, self.stage_games)
        if self.late_stages and self.late_games < least:
            raise UsageError(
                f"late_stages need late_games of at least {least:,}, got {self.late_games:,}."
            )

    @property
    def sums(self) -> tuple[int, ...]:
        """The sums of tiles of all stages."""
        return self.stages + self.late_stages

    @property
    def width(self) -> int:
        """Numbers per entry: its weight, and in TC the sums of its errors and of their sizes."""
        return 3 if self.method == "tc" else 1


class NTuple(ValueAgent, Learner):
    """An n-tuple network of the values of afterstates, and the agent that plays by it.

    Arguments and errors are those of `Learner`.

    Attributes:
        game: The game.
        moves: The number of moves it has learned from.
        changes: How often its values have changed: what was computed from them before is stale.
        samples: How many weights each mean is of; it plays by the weights themselves if none.
    """

    Settings = NTupleSettings
    plays = SlidingGame
    version = 3
    test_games = 300
    moves = 0
    # It takes only the memory of its weights.
    for_playing: ClassVar[dict[str, Any]] = {"method": "td", "learning_rate": 0.1, "averaging": 0.0}
    _settings: NTupleSettings

    def __init__(
        self, game: SlidingGame, seed: int = 0, settings: Any = None, sides: tuple[str, ...] = ()
    ) -> None:
        super().__init__(game, seed, settings, sides)
        config: Any = numba.config
        if config.DISABLE_JIT:  # which works with what is not written in SIMD
            raise DependencyNotInstalled("n-tuple networks are compiled: unset NUMBA_DISABLE_JIT.")
        self.game, settings = game, self._settings
        check_batch(settings.iteration_games, "iteration_games", 100)  # bytes of a game
        self._whole = Network.of(game, settings.network, settings.values, settings.sums)
        self._n_early = len(set(settings.stages))  # all others are late
        self._tables = game_tables(game)
        numbers = new_weights(self._whole, settings.width + (settings.averaging > 0))
        learned = self._whole.entries * settings.width
        self._numbers = numbers[:learned].reshape(-1, settings.width)  # w, E and A of all entries
        self._means = numbers[learned:].reshape(-1, 1)
        self._initial = np.float32(initial_value(settings.initial, game) / self._whole.per_board)
        self._nets = self._phases()
        self.changes = self.samples = 0
        if self._initial:
            self._weights[:] = self._initial

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_tables": None, "_nets": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Anew: writeable copies would be other types for compiled code, and share no weights.
        vars(self).update(state, _tables=game_tables(state["game"]))
        self._nets = self._phases()

    def _phases(self) -> list[tuple[float, Network, list[Net]]]:
        """Return the networks it learns one after the other, each with the game at which it ends.

        Each is the beginning of the whole one, with the weights to learn, and with their means.
        """

        def nets(network: Network) -> list[Net]:
            parts = (numbers[: network.entries].reshape(-1) for numbers in kinds if len(numbers))
            return [net_of(network, self.game.rules, part) for part in parts]

        settings, whole, kinds = self._settings, self._whole, (self._numbers, self._means)
        n = self._n_early
        early, one_stage = (replace(whole, stages=whole.stages[:end]) for end in (n, 0))
        half = replace(one_stage, tuples=whole.tuples[: -(-len(whole.tuples) // 2)])
        ends = settings.half_games, settings.stage_games, settings.late_games, math.inf
        phases = zip(ends, (half, one_stage, early, whole), strict=True)
        return [(end, network, nets(network)) for end, network in phases if end > 0]

    @property
    def _weights(self) -> NDArray[np.float32]:  # those that it plays by
        return self._means[:, 0] if self.samples else self._numbers[:, 0]

    @property
    def games(self) -> int:
        """The number of games it has learned from, without those begun in the middle."""
        return self.iterations * self._settings.iteration_games

    @property
    def network(self) -> Network:
        """The shape of the network that it uses by now."""
        return self._used[0]

    @property
    def net(self) -> Net:
        """The network for compiled loops, with the weights that it plays by."""
        _, nets = self._used
        return nets[-1 if self.samples else 0]

    @property
    def _used(self) -> tuple[Network, list[Net]]:
        games = self.games
        return next((network, nets) for end, network, nets in self._nets if games < end)

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return r + V(s') of each action, `(n, 4)`; minus infinity for illegal ones."""
        rows = rows_of(self.game, observations)
        return action_values(self._tables, self.net, rows).astype(np.float64)

    def learn(self) -> Metrics:
        """Play and learn from the games of one iteration.

        Returns:
            The mean score of the last training games; the fractions of this iteration's games that
            reached the largest tiles; the mean size of errors |δ|; with TC the mean rate |E| / A of
            the entries that were updated; all moves so far, and those per second.
        """
        self.changes += 1
        rng = training_generator(self._seed, self.iterations)
        seeds = training_seeds(rng, self._settings.iteration_games)
        began = clock()
        rows, positions = self._starts(self.game, seeds)
        rule, direction, per_board = self._rule(), self._settings.direction, self.network.per_board
        scores, tiles, moves, sums = self._play(rows, positions, rule, direction)
        speed = moves / (clock() - began)
        self.moves += moves
        self.iterations += 1
        self._begin_stages(self.games - len(seeds))
        self._average()
        error, rate = (sums / max(moves, 1)).tolist()
        if not math.isfinite(error):
            raise UsageError(
                f"learning has diverged after {self.games:,} games: train again with a "
                f"learning_rate below {self._settings.learning_rate}."
            )
        metrics = self._metrics(scores, tiles) | {"return": self.mean_return(scores)}
        metrics |= {"error": error}
        if rule.coherent:
            metrics["rate"] = rate / per_board
        return metrics | {"moves": float(self.moves), "moves_per_second": speed}

    def _begin_stages(self, before: int) -> None:
        """Give stages their first weights, if their time came after so many games."""
        settings, sums, faces = self._settings, self._whole.stages, self.game.rules.faces
        kinds = [self._numbers, *[self._means] * (self.samples > 0)]
        stages = [numbers.reshape(1 + len(sums), -1, numbers.shape[1]) for numbers in kinds]
        if before < settings.stage_games <= self.games:
            for numbers in stages:
                numbers[1 : 1 + self._n_early] = numbers[0]
        if before < settings.late_games <= self.games:
            for stage in range(1 + self._n_early, 1 + len(sums)):
                tiles = _fewest_tiles(faces, max(sums[stage - 1], faces[1]))
                like = bisect(sums, sum(faces[tile - 1] for tile in tiles))
                lower = lowered(self._whole, max(1, tiles[-1] - 1))
                for numbers in stages:
                    np.take(numbers[like], lower, axis=0, out=numbers[stage], mode="clip")
                    numbers[stage, :, 0] *= ON_THE_WAY if len(tiles) > 1 else 1

    def _average(self) -> None:
        """Look at the weights for their mean, when it is time."""
        settings = self._settings
        if not settings.averaging:
            return
        due = SAMPLES - (1 - self.progress) / settings.averaging * SAMPLES
        if self.samples > due + 1:  # of a smaller budget
            self.samples = 0
        if self.samples <= due:
            if not self.samples:
                self._means[:] = 0  # as after a checkpoint, which does not hold means of nothing
            self.samples += 1
            average(self._means, self._numbers, np.float32(1 / self.samples))

    def _rule(self) -> Rule:
        settings = self._settings
        rate = settings.learning_rate / self.network.per_board
        decay, coherent = np.float32(settings.trace_decay), settings.method == "tc"
        share, number = settings.restart, self.iterations  # as even as the fraction allows
        restart = int((number + 1) * share) > int(number * share)
        carousel = bool(settings.late_stages) and self.games >= settings.late_games and not restart
        return Rule(np.float32(rate), decay, coherent, restart, carousel)

    def _starts(self, game: SlidingGame, seeds: Words) -> tuple[Words, Words]:
        """Return the rows that games start from, and the positions of their streams after that."""
        boards, positions = game.start.boards(starts(seeds))
        return rows_of(game, boards), positions

    def _play(self, rows: Words, positions: Words, rule: Rule, direction: str) -> Played:
        net = self._used[1][0] if rule.rate > 0 else self.net
        threads = self._settings.threads
        return play(self._tables, net, rule, rows, positions, direction, threads)

    def test(self, games: int) -> Metrics:
        """Return the metrics of games that are the same every time, and never learned from.

        `entries` is the fraction of entries in use: those that differ from their initial value.
        """
        scores, tiles, *_ = self.play_greedily(game_seeds(0, games, "test"))
        metrics = {f"greedy_{name}": value for name, value in self._metrics(scores, tiles).items()}
        used = np.count_nonzero(self._weights != self._initial)
        return metrics | {"entries": used / len(self._weights)}

    def play_greedily(self, seeds: Words) -> Played:
        """Play the games of seeds as the environment does, without `starts` and learning."""
        rule = Rule(np.float32(0), np.float32(0), coherent=False)
        return self._play(*self._starts(self.game.without_starts(), seeds), rule, "forward")

    def _metrics(self, scores: NDArray[np.int64], tiles: NDArray[np.int64]) -> Metrics:
        rules = self.game.rules
        metrics = {"return": float(scores.mean())}
        goal = rules.index_of(rules.goal)
        for tile in range(goal, min(goal + 5, rules.largest + 1)):
            metrics[f"reach_{rules.faces[tile]}"] = float((tiles >= tile).mean())
        return metrics

    def state_dict(self) -> State:
        """Return the numbers of entries, what they mean, and the counts of what it has learned."""
        network = np.frombuffer(str(self._whole).encode(), np.uint8)
        counts = {"iterations": np.array(self.iterations), "moves": np.array(self.moves)}
        counts |= {"recent returns": self.recent}
        numbers = {"weights": self._weights}
        if self._settings.method == "tc":
            numbers |= {"errors": self._numbers[:, ERRORS], "sizes": self._numbers[:, SIZES]}
        if self._settings.averaging:
            numbers |= {"latest": self._numbers[:, 0], "samples": np.array(self.samples)}
        return {"network": network, **counts, **numbers}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a state."""
        if not np.array_equal(state["network"], self.state_dict()["network"]):
            theirs = state["network"].tobytes().decode(errors="replace")
            raise UsageError(f"the checkpoint's network is {theirs}, expected {self._whole}.")
        self.changes += 1
        self.samples = int(state.get("samples", 0))  # first: it says which the weights are
        for name, numbers in self.state_dict().items():
            if name in NUMBERS:
                numbers[:] = state[name]
        self.iterations, self.moves = int(state["iterations"]), int(state["moves"])
        self.recent = state["recent returns"].copy()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Check a state, exported or not, and take it over."""
        weights = state.get("weights")
        if weights is not None and weights.dtype == np.float16:  # as `export_state` gives them
            state = {**state, "weights": weights + self._initial}
        super().restore(state)

    def export_state(self) -> State:
        """Return what weights have learned beyond their initial value, in half precision.

        They are rounded to a 32nd of their mean size at most, so that files compress well.
        """
        learned = self._weights - self._initial
        if max(learned.max(), -learned.min()) > np.finfo(np.float16).max:
            raise UsageError("a weight is too large for half precision: the network cannot shrink.")
        step = 2.0 ** (np.log2(abs(learned).mean() or 1.0) // 1 - 5)
        rounded = (np.round(learned / step) * step).astype(np.float16)
        left_out = (*NUMBERS, "samples")
        state = {name: a for name, a in self.state_dict().items() if name not in left_out}
        return state | {"weights": rounded}


def _fewest_tiles(faces: Sequence[int], total: int) -> list[int]:
    """Return the tiles, from the largest on, of a board with so large a sum that has the fewest."""
    tiles = []
    for tile in range(len(faces) - 1, 0, -1):
        while faces[tile] <= total:
            tiles.append(tile)
            total -= faces[tile]
    return tiles
