"""n-tuple networks: entries and symmetry, every update against plain Python, growth."""

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
RESTARTED = BACKWARD | {"trace_decay": 0.5, "restart": 1.0}
COHERENT = RESTARTED | {"method": "tc", "learning_rate": 1.0}
NOT_LEARNING = COHERENT | {"network": "01 12", "learning_rate": 1e-30}


def made(game=TILES_2048, seed=0, **settings):
    # Two tuples everywhere: code is compiled for their number.
    return NTuple(game, seed, NTupleSettings(**{"network": "0123 0145"} | settings))


def with_random_weights(learner):
    weights = learner.net.weights[:: learner._numbers.shape[1]]
    weights[:] = 100 * np.random.default_rng(5).random(len(weights), np.float32)
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
    weights = learner.net.weights.reshape(network.entries, -1)[:, 0].tolist()
    begin = 0
    for number, cells in enumerate(network.tuples):
        for tiles in itertools.product(range(network.values), repeat=len(cells)):
            entry = begin + oracle.entry_number(tiles, network.values)
            plain.weights[(number, *tiles)] = weights[entry]
        begin += network.values ** len(cells)
    return plain


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("shape", [(4, 4), (2, 3), (3, 2), (3, 3), (4, 3), (2, 2)])
def test_values_are_sums_over_tuples_in_all_orientations(rules, shape):
    game = SlidingGame(rules, shape)
    network = "013 12" if shape == (2, 2) else "0125 34"
    learner = with_random_weights(made(game, network=network, values=7))
    boards = boards_from_play(game)
    values, expected = learner.action_values(boards), plain_copy(learner).action_values(boards)
    assert np.array_equal(np.isfinite(values), game.legal_actions(boards) > 0)
    assert values == pytest.approx(expected, rel=1e-5)


def test_the_default_tuples_of_a_turned_board_are_turned():
    turned = made(SlidingGame(RULES_2048, (3, 4)), network="", values=4).network.tuples
    assert turned[:2] == ((0, 1, 4, 5, 8, 9), (1, 2, 5, 6, 9, 10))  # 012345 345678 on 4×3


@pytest.mark.parametrize(
    ("rules", "rare", "shape", "placer"),
    covering(2, RULES, (False, True), [(4, 4), (2, 3), (4, 3)], NAMED),
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


DIRECTIONS = [{}, BACKWARD, BACKWARD | {"trace_decay": 1.0}, RESTARTED]


@pytest.mark.parametrize(
    ("rules", "shape", "method", "direction"),
    covering(2, RULES, [(4, 4), (2, 3)], ["td", "tc"], DIRECTIONS),
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


def with_first_row(*rows):
    boards = np.zeros((len(rows), 4, 4), np.uint8)
    boards[:, 0] = rows
    return boards


def test_a_fraction_of_iterations_is_restarted_and_late_stages_are_in_others():
    learner = made(**NOT_LEARNING | {"restart": 0.5, "late_stages": (64,), "late_games": 200})
    again = []
    for _ in range(4):
        again.append(learner._update().again)
        learner.learn()
    assert again == [0, MIDDLE, STAGES, MIDDLE]


def test_stages_have_weights_of_their_own():
    learner = made(stages=(96, 192), initial=8.0, method="tc")
    learner.net.weights.reshape(3, -1, 3)[1, :, 0] += 1  # of sixteen entries a board
    boards = with_first_row((4, 5, 0, 0), (6, 1, 5, 0), (5, 4, 5, 0))
    boards[2, 3, 0] = 4  # the sums are 48, 98 and 96; of tiles from 32 on, 32, 96 and 64
    assert learner.action_values(boards)[:, 1] == pytest.approx((8, 8 + 16, 8))


def test_stages_begin_with_what_all_have_learned_together():
    staged, plain = made(stages=(64,), stage_games=200, **COHERENT), made(**COHERENT)
    boards = boards_from_play(TILES_2048)
    for _ in range(2):
        staged.learn(), plain.learn()
        assert np.array_equal(staged.action_values(boards), plain.action_values(boards))
    first, second = staged.net.weights.reshape(2, -1)
    assert np.array_equal(first, second)
    assert np.array_equal(first, plain.net.weights)
    staged.learn()
    assert not np.array_equal(first, second)


def test_late_stages_begin_with_boards_half_as_large():
    late = {"late_stages": (128, 112, 128), "late_games": 100}  # a set of sums
    learner = with_random_weights(made(stages=(64, 64), **late, **COHERENT))
    # The sums are 116, 60, 134 and 70.
    boards = with_first_row((6, 5, 4, 2), (5, 4, 3, 2), (7, 2, 1, 0), (6, 2, 1, 0))
    learner.learn()
    on_the_way, half, made_128, made_64 = learner.action_values(boards)[:, 2]
    assert on_the_way == pytest.approx(0.2 * half)
    assert made_128 == pytest.approx(made_64)
    first, second, *late = learner.net.weights.reshape(4, -1, 3)
    for source, numbers in zip((first, second), late, strict=True):
        assert set(numbers[:, 2].tolist()) <= set(source[:, 2].tolist())
        assert numbers[:, 2].any()
    learner.learn()
    assert learner.action_values(boards)[0, 2] != on_the_way


def test_a_carousel_plays_on_from_where_a_game_entered_each_stage():
    """The first sums are those that all games reach soon."""
    for stages, times in (((8,), 1 + 4), ((8, 12), 1 + 1 + 4), ((1 << 15,), 1)):
        late = {"restart": 0.0, "late_games": 1, "late_stages": stages}
        learner = made(**NOT_LEARNING | late)
        learner.iterations = 1  # so that the late stages have begun
        with_random_weights(learner)
        games, update = (learner.game, consecutive(0, 200)), learner._update()
        scores, _, moves, _ = learner._play(*games, update)
        same, _, alone, _ = learner._play(*games, update._replace(again=0))
        assert np.array_equal(scores, same)
        assert moves / alone == pytest.approx(times, rel=0.08)


def test_an_error_in_a_thread_is_raised_as_it_is(monkeypatch):
    def failing(*_):
        raise MemoryError("of a path")

    monkeypatch.setattr(learning, "play_forwards", failing)
    with pytest.raises(MemoryError, match="of a path"):
        made(threads=2).learn()


def test_the_first_half_of_the_tuples_learns_alone_until_the_others_join():
    learner, half = made(half_games=200), made(network="0123")
    for _ in range(2):
        assert learner.network == half.network
        learner.learn(), half.learn()
    assert learner.network.tuples[1:] == ((0, 1, 4, 5),)
    first, joined = np.split(learner.net.weights, [len(half.net.weights)])
    assert np.array_equal(first, half.net.weights)
    assert not joined.any()
    copied = copy.deepcopy(learner)
    learner.learn(), copied.learn()
    assert joined.any()
    assert not np.array_equal(first, half.net.weights)
    assert np.array_equal(learner.net.weights, copied.net.weights)
    copied.iterations = 1  # uses half of the same weights again
    assert np.shares_memory(copied.net.weights, copied._weights)


def test_seconds_of_learning_go_far_with_one_thread_and_with_two():
    one, two = (
        made(network="0123 4567", iteration_games=40, threads=threads, **COHERENT)
        for threads in (1, 2)
    )
    for learner in (one, two):
        for _ in range(5):
            learner.learn()
        assert learner.test(200)["greedy_return"] > 6000
    one.restore(two.state_dict())
    assert all(map(np.array_equal, *(n.play_greedily(consecutive(0, 70)) for n in (one, two))))


def test_diverging_is_noticed():
    learner = made(**BACKWARD, learning_rate=1000.0)
    with pytest.raises(ValueError, match=r"diverged .* learning_rate"):
        _ = [learner.learn() for _ in range(5)]


@pytest.mark.parametrize("initial", [0.0, 320_000.0])
def test_an_exported_network_plays_alike_and_is_small(initial):
    learner = made(network="0123 4567", initial=initial, **COHERENT | {"learning_rate": 0.1})
    copied = made(network="0123 4567", initial=initial)
    learner.learn()
    state = learner.export_state()
    assert state["weights"].dtype == np.float16
    assert len(state["weights"]) == learner.network.size
    copied.restore(state)
    boards = boards_from_play(TILES_2048)
    values, rounded = (each.action_values(boards) - initial for each in (learner, copied))
    assert rounded == pytest.approx(values, rel=2e-3, abs=1)
    learner.net.weights[0] = 1e9
    with pytest.raises(ValueError, match="too large for half precision"):
        learner.export_state()
