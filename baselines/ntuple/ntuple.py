"""The n-tuple network: learns the value of afterstates by temporal differences (TD).

An episode alternates moves and new tiles.  A move leads from a state to an *afterstate*, without
chance; a new tile leads from there to the next state:

    s0 --(a0, r0)--> s0' --(new tile)--> s1 --(a1, r1)--> s1' --(new tile)--> s2 ... sT, no move

V(s') estimates the sum of the rewards that follow an afterstate.  The agent plays the action with
the highest r + V(s').  Then each afterstate is moved towards what followed it, 0 after the last:

    V(s_t') ← V(s_t') + α δ,    δ = r_t+1 + V(s_t+1') - V(s_t').

V(s') is a sum of m table entries (see `network`); each of them changes by α δ / m.  The variants
are in `plain` in plain Python; the code that runs is in `learning`:

- `direction` forward, TD(0): an afterstate is updated as soon as the next move is chosen (Szubert
  and Jaśkowski, "Temporal difference learning of n-tuple networks for the game 2048", CIG 2014).
  Backward, a game is learned from its end by TD(λ): a result reaches the first move at once.
- `method` tc, temporal coherence: each entry also has a rate of its own, |sum of its errors δ| /
  sum of all |δ|, which is 1 at first (Beal and Smith, "Temporal coherence and prediction decay in
  TD learning", IJCAI 1999; Jaśkowski, "Mastering 2048 with delayed temporal coherence learning,
  multistage weight promotion, redundant encoding and carousel shaping", 2018).
- The network grows: by half of its tuples (as in Barnabet's 2k48, 2026), by stages, and by late
  stages, so that greedy play reaches tiles that it has not seen (weight promotion of 2018).
- `restart`: games are played again from their middle, until a game has at most 10 moves (Matsuzaki,
  "Developing a 2048 player with backward temporal coherence learning and restart", ACG 2017).  With
  `late_stages`, they are from where they entered each stage, most often the last one (carousel
  shaping of 2018).
- `averaging`: the agent plays by means of its weights (Ruppert 1988; Polyak and Juditsky,
  "Acceleration of stochastic approximation by averaging", 1992).

Deviations:

1. α is divided by m: with 1, a whole error is removed.  In 2014, each entry changed by α δ.
2. Forward learning takes V(s_t') in δ from when a_t was chosen, before s_t-1' was updated.
3. E and A are numbers in single precision: A stops growing near 2^24 |δ|, which the hottest entries
   reach in an hour, while E goes on.
"""

import math
from bisect import bisect
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from baselines.agents import ValueAgent
from baselines.ntuple import learning
from baselines.ntuple.learning import ERRORS, MIDDLE, SIZES, SNAPSHOTS, STAGES, Played, Update
from baselines.ntuple.network import Network, in_half_precision, new_weights, promote
from baselines.ntuple.values import Net, action_values, net_of
from baselines.progress import clock
from baselines.seeds import game_seeds, training_generator, training_seeds
from baselines.settings import Count, Finite, Fraction, NonNegative, Positive, Threads
from baselines.training.learner import Learner, Metrics, State
from tile_envs.base.random_stream import Words, starts
from tile_envs.errors import UsageError
from tile_envs.game import Floats, Ints, Observations
from tile_envs.sliding.chance import START_FRACTION
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import rows_of
from tile_envs.sliding.packed.tables import CELL_MASK

PER_ENTRY = "weights", "latest", "errors", "sizes"
"""Arrays of a checkpoint by entry; with averaging, `weights` are means, and `latest` learns."""


@dataclass(frozen=True)
class NTupleSettings:
    """The settings of an n-tuple network; the defaults are TD(0), as in 2014, of larger tuples.

    Attributes:
        network: A set (4x6, 5x6, 8x6, 5x5, 5x4, 17x4), or tuples of cells, such as "0123 4567"; by
            default 8x6 in 2048, 5x5 in 2584, and fitting ones on smaller boards.
        values: Number of values of a cell (16 in 2048, 32 in 2584); larger tiles share the last.
        half_games: Games in which only the first half of the tuples is used: these learn fast, and
            the others begin at 0 beside them.
        stages: Sums of a board's large tiles from which on its values have weights of their own;
            tiles smaller than all that make up these sums do not count.
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
    values: Annotated[int, Interval(ge=2, le=CELL_MASK + 1)] | None = None
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
            raise UsageError(f"half_games needs initial 0, got {self.initial}.")
        if (least := min(self.late_stages, default=math.inf)) <= max(self.stages, default=0):
            raise UsageError(f"late_stages must be larger than stages, got {least:,}.")
        growths = {"half_games": True, "stage_games": self.stages, "late_games": self.late_stages}
        games = {name: getattr(self, name) for name, is_used in growths.items() if is_used}
        if [*games.values()] != sorted(games.values()) or games.get("late_games") == 0:
            raise UsageError(f"these must rise, and late_games be at least 1: got {games}.")


class NTuple(ValueAgent, Learner):
    """An n-tuple network of the values of afterstates, and the agent that plays by it.

    Attributes:
        weights_version: Raised on every change of its values; a search then clears its table.
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
        self.game, settings = game, self._settings
        self.weights_version = self.samples = 0
        width = 3 if settings.method == "tc" else 1  # the numbers of an entry: its weight, E and A
        stages = settings.stages + settings.late_stages
        whole = Network.of(game, settings.network, settings.values, stages)
        self._networks = whole.steps(early=len(set(settings.stages)))
        begins = 0, settings.half_games, settings.stage_games, settings.late_games
        self._begins = [*accumulate(begins, max)]  # after so many games it uses each network
        self._nets: dict[tuple[Network, bool], Net] = {}
        self._name = np.frombuffer(str(whole).encode(), np.uint8)
        self._initial = np.float32(settings.initial / whole.per_board)
        end, columns = whole.entries * width, width + (settings.averaging > 0)
        learned, means = np.split(new_weights(whole, columns, settings.iteration_games), [end])
        self._numbers, self._means = learned.reshape(-1, width), means.reshape(-1, 1)
        if self._initial:
            self._numbers[:, 0] = self._initial

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_nets": {}}  # copies would not share the weights

    @property
    def _weights(self) -> NDArray[np.float32]:  # those that it plays by
        return self._means[:, 0] if self.samples else self._numbers[:, 0]

    @property
    def games(self) -> int:
        """The number of games it has learned from, without those begun in the middle."""
        return self.iterations * self._settings.iteration_games

    @property
    def network(self) -> Network:
        return self._networks[bisect(self._begins, self.games) - 1]

    @property
    def net(self) -> Net:
        return self._net(of_means=self.samples > 0)

    def _net(self, of_means: bool) -> Net:
        key = network, _ = self.network, of_means
        if key not in self._nets:
            numbers = (self._means if of_means else self._numbers)[: network.entries]
            self._nets[key] = net_of(network, self.game, numbers.reshape(-1))
        return self._nets[key]

    def action_values(self, observations: Observations) -> Floats:
        return action_values(self.net, rows_of(self.game, observations)).astype(np.float64)

    def learn(self) -> Metrics:
        """Return as `error` the mean |δ|, and with TC as `rate` the mean |E| / A."""
        self.weights_version += 1
        rng, settings = training_generator(self._seed, self.iterations), self._settings
        seeds = training_seeds(rng, settings.iteration_games)
        began, update, per_board = clock(), self._update(), self.network.per_board
        scores, tiles, moves, sums = self._play(self.game, seeds, update)
        speed = moves / (clock() - began)
        self.moves, self.iterations = self.moves + moves, self.iterations + 1
        self._grow(before=self.games - len(seeds))
        self._average()
        error, rate = (sums / max(moves, 1)).tolist()
        if not math.isfinite(error):
            advice = f"train again with a learning_rate below {settings.learning_rate}"
            raise UsageError(f"learning has diverged after {self.games:,} games: {advice}.")
        metrics = self._metrics(scores, tiles) | {"return": self.mean_return(scores)}
        metrics |= {"error": error} | ({"rate": rate / per_board} if update.coherent else {})
        return metrics | {"moves": float(self.moves), "moves_per_second": speed}

    def _grow(self, before: int) -> None:
        """Give the stages that begin after these games, but not `before`, their first values."""
        *_, early, whole = self._networks
        *_, copied, promoted = (before < begin <= self.games for begin in self._begins)
        first_late = 1 + len(early.stages)
        for numbers in (self._numbers, self._means)[: 1 + (self.samples > 0)]:
            stages = numbers.reshape(1 + len(whole.stages), whole.size, -1)
            if copied:
                stages[1:first_late] = stages[0]
            if promoted:
                promote(whole, self.game.rules.faces, stages, first_late)

    def _average(self) -> None:
        if not (averaging := self._settings.averaging):
            return
        due = SNAPSHOTS - (1 - self.progress) / averaging * SNAPSHOTS
        if self.samples > due + 1:  # of a smaller budget
            self.samples = 0
        if self.samples <= due:
            if not self.samples:
                self._means[:] = 0  # as after a checkpoint, which does not hold means of nothing
            self.samples += 1
            learning.average(self._means, self._numbers, np.float32(1 / self.samples))

    def _update(self) -> Update:
        settings, number = self._settings, self.iterations
        rate = np.float32(settings.learning_rate / self.network.per_board)
        again = STAGES if settings.late_stages and self.games >= self._begins[-1] else 0
        if int((number + 1) * settings.restart) > int(number * settings.restart):
            again = MIDDLE  # as evenly as the fraction allows
        return Update(rate, np.float32(settings.trace_decay), settings.method == "tc", again)

    def _play(self, game: SlidingGame, seeds: Words, update: Update) -> Played:
        boards, positions = game.start.boards(starts(seeds))
        net, s = self._net(of_means=False) if update.rate > 0 else self.net, self._settings
        return learning.play(net, update, rows_of(game, boards), positions, s.direction, s.threads)

    def test(self, games: int) -> Metrics:
        """Play games that are the same every time; `entries` is the fraction of entries in use."""
        scores, tiles, *_ = self.play_greedily(game_seeds(0, games, "test"))
        metrics = {f"greedy_{name}": value for name, value in self._metrics(scores, tiles).items()}
        used = np.count_nonzero(self._weights != self._initial)
        return metrics | {"entries": used / len(self._weights)}

    def play_greedily(self, seeds: Words) -> Played:
        """Play the games of seeds as the environment does, without `starts` and learning."""
        game = replace(self.game, starts=None, start_fraction=START_FRACTION)
        return self._play(game, seeds, Update(np.float32(0)))

    def _metrics(self, scores: Ints, tiles: Ints) -> Metrics:
        rules = self.game.rules
        goal = rules.index_of(rules.goal)
        reached = enumerate(rules.faces[goal : goal + 5], goal)
        metrics = {f"reach_{face}": float((tiles >= tile).mean()) for tile, face in reached}
        return {"return": float(scores.mean())} | metrics

    def state_dict(self) -> State:
        state = {
            "network": self._name,
            "iterations": np.array(self.iterations),
            "moves": np.array(self.moves),
            "recent returns": self.recent,
            "weights": self._weights,
        }
        if self._settings.method == "tc":
            state |= {"errors": self._numbers[:, ERRORS], "sizes": self._numbers[:, SIZES]}
        if self._settings.averaging:
            state |= {"latest": self._numbers[:, 0], "samples": np.array(self.samples)}
        return state

    def load_state_dict(self, state: State) -> None:
        names = [name.tobytes().decode(errors="replace") for name in (state["network"], self._name)]
        if names[0] != names[1]:
            raise UsageError("the checkpoint's network is {}, expected {}.".format(*names))
        self.weights_version += 1
        self.samples = int(state.get("samples", 0))  # first: it says which the weights are
        own = self.state_dict()
        if not self.samples:
            state.pop("latest", None)  # they are the weights
        for name in PER_ENTRY:
            if name in state:
                own[name][:] = state.pop(name)  # one by one: all of them may fill the memory
        self.iterations, self.moves = int(state["iterations"]), int(state["moves"])
        self.recent = state["recent returns"].copy()

    def restore(self, state: State) -> None:
        if "weights" in state and state["weights"].dtype == np.float16:  # as it was exported
            state["weights"] = state["weights"] + self._initial
        super().restore(state)

    def export_state(self) -> State:
        """Return what weights have learned beyond their initial value, in half precision."""
        kept = {n: a for n, a in self.state_dict().items() if n not in (*PER_ENTRY, "samples")}
        return kept | {"weights": in_half_precision(self._weights - self._initial)}
