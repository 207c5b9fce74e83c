"""n-tuple networks: entries and symmetry, every update against plain Python, determinism."""

import copy
import itertools

import numpy as np
import oracle
import powers3
import pytest
from covering import covering
from players import boards_from_play

from baselines.evaluation.sampled import play
from baselines.ntuple import learning
from baselines.ntuple.learning import MIDDLE, STAGES
from baselines.ntuple.ntuple import NTuple, NTupleSettings
from baselines.ntuple.plain import PlainNTuple
from baselines.seeds import game_seeds
from tile_envs.base.random_stream import Stream, consecutive, start, starts
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.sliding.chance import NAMED
from tile_envs.sliding.packed.kernels import rows_of

TILES_2048, TILES_2584 = SlidingGame(RULES_2048), SlidingGame(RULES_2584)
SMALL_BOARD = SlidingGame(RULES_2048, (2, 3))
ENVS = {RULES_2048: "Tiles2048-v0", RULES_2584: "Tiles2584-v0", powers3.RULES: "Powers3-v0"}
RULES = [*ENVS]
RARE_SPAWN = {
    RULES_2048: {2: 0.8, 4: 0.2},
    RULES_2584: {1: 0.75, 3: 0.25},
    powers3.RULES: {3: 0.5, 9: 0.3, 27: 0.2},
}
BACKWARD = {"direction": "backward"}
COHERENT = BACKWARD | {"method": "tc", "trace_decay": 0.5, "restart": 1.0, "learning_rate": 1.0}
NOT_LEARNING = COHERENT | {"network": "01", "learning_rate": 1e-30}


def made(game=TILES_2048, seed=0, **settings):
    # One tuple or two: compiled code depends on their number.
    return NTuple(game, seed, NTupleSettings(**{"network": "0123"} | settings))


def case_name(value):
    return getattr(value, "name", str(value))


def weights_of(learner):
    return learner.net.weights


def with_random_weights(learner, scale=100.0):
    weights = weights_of(learner)[:: learner._numbers.shape[1]]
    weights[:] = np.random.default_rng(5).random(len(weights), np.float32) * np.float32(scale)
    return learner


class Tie(Exception):
    """Two actions have the same value but for rounding, so that either may be played."""


class Oracle(PlainNTuple):
    """The plain learner, with the new tiles of a random stream, and no choice between equals.

    It notes the sums of the sizes of errors and of rates.
    """

    stream: Stream

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.sums = np.zeros(2)

    def update(self, afterstate, error):
        self.sums[0] += abs(error)
        super().update(afterstate, error)

    def own_rate(self, entry):
        self.sums[1] += (rate := super().own_rate(entry))
        return rate

    def reply(self, afterstate):
        """Let a tile appear as the environment does."""
        word = self.stream.word()
        cells = np.flatnonzero(afterstate == 0)
        state = afterstate.copy()
        state.flat[cells[(word >> 32) * len(cells) >> 32]] = self.game.distribution.tile(word)
        return state

    def choose(self, state):
        best, second = np.sort(self.action_values(state[None])[0])[[-1, -2]]
        if best < second + 1e-2:
            raise Tie
        return super().choose(state)


def plain_copy(learner):
    network = learner.network
    plain = Oracle(learner.game, settings=learner._settings)
    weights = weights_of(learner).reshape(network.entries, -1)[:, 0].tolist()
    begin = 0
    for number, cells in enumerate(network.tuples):
        for tiles in itertools.product(range(network.values), repeat=len(cells)):
            entry = begin + oracle.entry_number(tiles, network.values)
            plain.weights[(number, *tiles)] = weights[entry]
        begin += network.values ** len(cells)
    return plain


@pytest.mark.parametrize("rules", RULES, ids=case_name)
@pytest.mark.parametrize("shape", [(4, 4), (2, 3), (3, 2), (3, 3), (4, 3), (2, 2)])
def test_values_are_sums_over_tuples_in_all_orientations(rules, shape):
    game = SlidingGame(rules, shape)
    network = "0125 34" if shape in ((2, 3), (3, 2), (3, 3)) else "012"
    learner = with_random_weights(made(game, network=network, values=7))
    boards = boards_from_play(game)
    values, expected = learner.action_values(boards), plain_copy(learner).action_values(boards)
    assert np.array_equal(np.isfinite(values), game.legal_actions(boards) > 0)
    assert values == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("rules", "rare", "shape", "placer"),
    covering(2, RULES, (False, True), [(4, 4), (2, 3), (4, 3)], NAMED),
    ids=case_name,
)
def test_compiled_games_are_those_of_the_package(rules, rare, shape, placer):
    options = {"shape": shape, "spawn": RARE_SPAWN[rules] if rare else None, "placer": placer}
    game = SlidingGame(rules, **options)
    learner = with_random_weights(made(game, network="012 134"))
    scores, tiles, moves, _ = learner.play_greedily(game_seeds(77, 30, "evaluation"))
    record = play(learner, ENVS[rules], options, 30, seed=77)
    assert np.array_equal(record.returns, scores)
    assert np.array_equal(record.tiles, np.array(rules.faces)[tiles])
    assert record.moves == moves


DIRECTIONS = [
    {},
    BACKWARD,
    BACKWARD | {"trace_decay": 0.5},
    BACKWARD | {"trace_decay": 1.0},
    BACKWARD | {"trace_decay": 0.5, "restart": 1.0},
]


@pytest.mark.parametrize(
    ("rules", "shape", "method", "direction"),
    covering(3, RULES, [(4, 4), (2, 3)], ["td", "tc"], DIRECTIONS),
    ids=case_name,
)
def test_learning_does_as_plain_python_does(rules, shape, method, direction):
    game = SlidingGame(rules, shape)
    settings = {"network": "0123 124", "values": 7, "learning_rate": 0.5, "method": method}
    learner = made(game, **settings | direction)
    plain = plain_copy(with_random_weights(learner))
    boards = np.random.default_rng(0).integers(1, 6, (25, *shape), np.uint8)
    boards[:, 0, 1] = 0
    learned, sums = 0, np.zeros(2)
    for seed, board in enumerate(boards):
        before = copy.deepcopy(plain)
        plain.stream = Stream(start(seed))
        learn = plain.learn_backward if direction else plain.learn_forward
        try:
            episode = learn(board)
        except Tie:
            plain = before
            continue
        rows, positions = rows_of(game, board[None]), starts(np.array([seed], np.uint64))
        update, way = learner._update(), learner._settings.direction
        scores, tiles, _, added = learning.play(learner.net, update, rows, positions, way, 1)
        sums += added
        assert scores[0] == sum(move.reward for move in episode)
        assert tiles[0] == max(move.afterstate.max() for move in episode)
        learned += 1
        if learned == 3:
            break
    assert learned == 3
    assert sums == pytest.approx(plain.sums, rel=1e-3)
    expected = plain.action_values(boards)
    assert learner.action_values(boards) == pytest.approx(expected, rel=1e-4, abs=1e-2)


def test_the_plain_learner_learns():
    learner = PlainNTuple(SMALL_BOARD, settings=NTupleSettings(learning_rate=1.0))
    scores = [learner.learn() for _ in range(150)]
    assert np.mean(scores[-50:]) > 1.2 * np.mean(scores[:50])
    assert learner.action_values(boards_from_play(SMALL_BOARD)[:0]).shape == (0, 4)


def with_first_row(*rows):
    boards = np.zeros((len(rows), 4, 4), np.uint8)
    boards[:, 0] = rows
    return boards


def times_played(learner, n):
    """Return by what the moves of n games grow as games are played again; scores do not change."""
    games, update = (learner.game, consecutive(0, n)), learner._update()
    scores, _, moves, _ = learner._play(*games, update)
    same, _, alone, _ = learner._play(*games, update._replace(again=0))
    assert np.array_equal(scores, same)
    return moves / alone


def test_a_restart_begins_in_the_middle_of_the_last_game():
    """Chains of games halve in length, so moves double or so."""
    assert 1.4 < times_played(with_random_weights(made(**NOT_LEARNING)), 50) < 4


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"restart": 0.4}, [0, 0, MIDDLE, 0, MIDDLE]),
        ({"restart": 0.5, "late_stages": (64,), "late_games": 200}, [0, MIDDLE, STAGES, MIDDLE]),
    ],
)
def test_a_fraction_of_iterations_is_restarted_and_late_stages_are_in_others(settings, expected):
    learner, again, moves = made(**NOT_LEARNING | settings), [], [0]
    for _ in expected:
        again.append(learner._update().again)
        learner.learn()
        moves.append(learner.moves)
    more = np.diff(moves) > 1.3 * np.diff(moves).min()
    assert again == expected
    assert more.tolist() == [kind > 0 for kind in again]


def test_stages_have_weights_of_their_own():
    learner = made(stages=(64,), initial=8.0, method="tc")
    weights_of(learner).reshape(2, -1, 3)[1, :, 0] += 1  # of eight entries a board
    low, high = learner.action_values(with_first_row((4, 5, 0, 0), (4, 5, 4, 0)))[:, 1]
    assert (low, high) == pytest.approx((8, 8 + 8))  # the sums of the tiles are 48 and 64


def test_stages_begin_with_what_all_have_learned_together():
    staged, plain = made(stages=(64,), stage_games=200, **COHERENT), made(**COHERENT)
    boards = boards_from_play(TILES_2048)
    for _ in range(2):
        staged.learn(), plain.learn()
        assert np.array_equal(staged.action_values(boards), plain.action_values(boards))
    first, second = weights_of(staged).reshape(2, -1)
    assert np.array_equal(first, second)
    assert np.array_equal(first, weights_of(plain))
    staged.learn()
    assert not np.array_equal(first, second)


def test_late_stages_begin_with_boards_half_as_large():
    late = {"late_stages": (112, 128), "late_games": 100}
    learner = with_random_weights(made(stages=(64,), **late, **COHERENT))
    # The sums are 116, 60, 134 and 70.
    boards = with_first_row((6, 5, 4, 2), (5, 4, 3, 2), (7, 2, 1, 0), (6, 2, 1, 0))
    learner.learn()
    on_the_way, half, made_128, made_64 = learner.action_values(boards)[:, 2]
    assert on_the_way == pytest.approx(0.2 * half)
    assert made_128 == pytest.approx(made_64)
    first, second, *late = weights_of(learner).reshape(4, -1, 3)
    for source, numbers in zip((first, second), late, strict=True):
        assert set(numbers[:, 2].tolist()) <= set(source[:, 2].tolist())
        assert numbers[:, 2].any()
    learner.learn()
    assert learner.action_values(boards)[0, 2] != on_the_way


def test_a_late_stage_may_begin_below_the_smallest_tile():
    learner = made(late_stages=(1,), late_games=1, **COHERENT)
    learner.learn()
    assert weights_of(learner).reshape(2, -1, 3)[1, :, 2].any()


def test_a_carousel_plays_on_from_where_a_game_entered_each_stage():
    """The first sums are those that all games reach soon."""
    for stages, games in (((8,), 1 + 4), ((8, 12), 1 + 1 + 4), ((1 << 15,), 1)):
        learner = in_its_last_stage(TILES_2048, stages)
        assert times_played(learner, 200) == pytest.approx(games, rel=0.08)


def in_its_last_stage(game, stages):
    """Return a learner whose late stages have begun."""
    late = {"restart": 0.0, "late_games": 1, "late_stages": stages}
    learner = made(game, **NOT_LEARNING | late)
    learner.iterations = 1
    return with_random_weights(learner)


def test_a_carousel_plays_from_boards_of_its_game_alone():
    """Also where a game begins beyond stages, here with a sum of 24."""
    game = SlidingGame(RULES_2048, (2, 2), starts=[[[3, 3], [2, 2]]], start_fraction=1.0)
    learner = in_its_last_stage(game, (8, 20))
    learner._play(game, consecutive(0, 20), learner._update())
    *before, last = weights_of(learner).reshape(3, -1, 3)[:, :, 2]  # sums of sizes
    assert last.any()
    assert not np.any(before)


def test_stages_are_a_set_of_sums():
    settings = {"network": "01", "iteration_games": 50, "stage_games": 50, "late_games": 100}
    one, other = (
        made(SMALL_BOARD, stages=stages, late_stages=late, **settings, **COHERENT)
        for stages, late in (((8, 16), (30, 40)), ((16, 8, 8), (40, 30, 40)))
    )
    for _ in range(4):
        assert one.learn()["return"] == other.learn()["return"]
        assert np.array_equal(weights_of(one), weights_of(other))
    assert weights_of(one).reshape(5, -1).any(axis=1).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_thread_is_raised_as_it_is(threads, monkeypatch):
    def failing(*_):
        raise MemoryError("of a path")

    monkeypatch.setattr(learning, "play_forwards", failing)
    with pytest.raises(MemoryError, match="of a path"):
        made(threads=threads).learn()


def test_the_first_half_of_the_tuples_learns_alone_until_the_others_join():
    learner = made(network="0123 0145", half_games=200, **COHERENT)
    half, boards = made(**COHERENT), boards_from_play(TILES_2048)
    for _ in range(2):
        assert learner.network == half.network
        learner.learn(), half.learn()
    assert learner.network.tuples[1:] == ((0, 1, 4, 5),)
    assert np.allclose(learner.action_values(boards), half.action_values(boards))
    first, joined = np.split(weights_of(learner), [len(weights_of(half))])
    assert np.array_equal(first, weights_of(half))
    assert not joined.any()
    before = first.copy()
    copied = copy.deepcopy(learner)
    learner.learn()
    assert joined.any()
    assert not np.array_equal(first, before)
    for _ in range(2):
        assert len(copied.learn()) > 5
        copied.iterations = 1  # uses half of the same weights again
        assert np.shares_memory(copied.net.weights, copied._weights)


def test_optimistic_values_are_the_first_of_every_board():
    settings, board = NTupleSettings(network="0123", initial=80.0), with_first_row((1, 0, 0, 0))
    for kind in (NTuple, PlainNTuple):
        values = kind(TILES_2048, 0, settings).action_values(board)
        assert values.tolist() == [pytest.approx([-np.inf, 80, 80, -np.inf])]


@pytest.mark.parametrize(
    ("rules", "mean"), [(RULES_2048, 6000), pytest.param(RULES_2584, 12000, marks=pytest.mark.slow)]
)
def test_seconds_of_learning_go_far(rules, mean):
    learner = made(SlidingGame(rules), network="2x4", iteration_games=40, **COHERENT)
    for _ in range(5):
        learner.learn()
    assert learner.test(200)["greedy_return"] > mean


def test_two_threads_play_and_learn_as_one_does():
    one, two = (made(network="2x4", threads=threads, **COHERENT) for threads in (1, 2))
    for _ in range(3):
        one.learn(), two.learn()
    assert two.test(300)["greedy_return"] > 0.7 * one.test(300)["greedy_return"]
    one.restore(two.state_dict())
    assert all(map(np.array_equal, *(n.play_greedily(consecutive(0, 70)) for n in (one, two))))


def test_diverging_is_noticed():
    learner = made(**BACKWARD, learning_rate=1000.0)
    with pytest.raises(ValueError, match=r"diverged .* learning_rate"):
        _ = [learner.learn() for _ in range(5)]
    late = made(SMALL_BOARD, stages=(64,))
    weights_of(late).reshape(2, -1)[1] = np.inf  # no start board has such an entry
    with pytest.raises(ValueError, match="diverged after 100 games"):
        late.learn()


def test_entries_in_use_are_counted():
    learner = made(SMALL_BOARD, initial=8.0, iteration_games=1, **COHERENT)
    assert learner.test(1)["entries"] == 0
    learner.learn()
    used = np.count_nonzero(weights_of(learner)[2::3])  # sums of sizes
    assert 0 < learner.test(1)["entries"] * learner.network.entries == pytest.approx(used)


@pytest.mark.parametrize("initial", [0.0, 320_000.0])
def test_an_exported_network_plays_alike_and_is_small(initial):
    learner = made(network="2x4", initial=initial, **COHERENT | {"learning_rate": 0.1})
    copied = made(network="2x4", initial=initial)
    learner.learn()
    state = learner.export_state()
    assert state["weights"].dtype == np.float16
    assert len(state["weights"]) == learner.network.size
    copied.restore(state)
    boards = boards_from_play(TILES_2048)
    values, rounded = (each.action_values(boards) - initial for each in (learner, copied))
    assert rounded == pytest.approx(values, rel=2e-3, abs=1)
    weights_of(learner)[0] = 1e9
    with pytest.raises(ValueError, match="too large for half precision"):
        learner.export_state()
