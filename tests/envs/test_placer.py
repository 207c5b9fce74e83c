"""Who places the new tiles: the named adversary, and objects that users bring."""

import gymnasium as gym
import numpy as np
import powers3
import pytest
from gymnasium.utils.env_checker import data_equivalence
from placers import LastCell, worst_by_force

from tile_envs.sliding import DOWN, RULES_2048, RULES_2584, SlidingGame
from tile_envs.sliding.packed.tables import packs

RULES = [RULES_2048, RULES_2584, powers3.RULES]
SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3), (2, 4), (4, 3), (4, 4)]


class Answering:
    """Gives one answer, or raises it."""

    def __init__(self, answer):
        self.answer = answer

    def place(self, boards, tiles):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)
def test_the_adversary_takes_the_cells_that_leave_the_player_the_least(rules, shape):
    """Compiled loops find the same ones.  Each tile meets all rules and all shapes."""
    from compiled_placer import cells_of

    game = SlidingGame(rules, shape, placer="adversary")
    tile, rng = 1 + (RULES.index(rules) + SHAPES.index(shape)) % 3, np.random.default_rng(0)
    boards = rng.integers(1, 6, (300, *shape), np.uint8)  # small tiles, so that many can merge
    boards *= rng.random(boards.shape) < rng.random((300, 1, 1))
    expected = [worst_by_force(game, board, tile) for board in boards]
    possible = game.possible_cells(boards, tile)
    assert [np.flatnonzero(cells).tolist() for cells in possible] == expected
    assert cells_of(game, boards, tile) == expected
    assert len({len(cells) for cells in expected}) > 2


def test_replies_of_an_object_are_what_it_chooses():
    game = SlidingGame(RULES_2584, (2, 3), {1: 0.75, 3: 0.25}, placer=LastCell())
    boards = np.array([[[0, 1, 0], [2, 0, 3]], [[1, 2, 3]] * 2, [[0, 1, 1], [1, 1, 1]]])
    parents, states, probabilities = game.replies(boards)
    assert parents.tolist() == [0, 2, 0, 2], "a full board has no reply, and none is asked for"
    assert probabilities.tolist() == [0.75, 0.75, 0.25, 0.25]
    assert states[:, 1, 1].tolist() == [1, 1, 3, 1]
    assert states[:, 0, 0].tolist() == [0, 1, 0, 3]
    assert [tiles.tolist() for _, tiles in game.placer.asked] == [[1, 1], [3, 3]]


@pytest.mark.parametrize("shape", [(2, 3), (4, 4), (5, 3)])
def test_a_word_makes_the_same_tile_with_every_placer(shape, engine):
    n, tiles = 3000, []
    board = np.zeros(shape, int)
    board[0, :2] = 5, 4
    for placer in ("random", LastCell(), *["adversary"] * packs(shape)):
        options = {"shape": shape, "placer": placer, "spawn": {2: 0.7, 8: 0.3}}
        envs = gym.make_vec("Tiles2048-v0", n, engine=engine, **options)
        envs.reset(seed=3, options={"board": board})
        observations, *_ = envs.step(np.full(n, DOWN))
        after = envs.game.afterstates(board[None])[0][0, DOWN]
        tiles.append(observations[observations != after])
        assert len(tiles[-1]) == n
    assert all(np.array_equal(tiles[0], others) for others in tiles)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_an_object_is_asked_once_a_step_for_the_games_in_which_a_tile_appears(mode):
    n, placer = 8, LastCell()
    options = {"shape": (2, 2), "placer": placer, "autoreset_mode": mode}
    envs = gym.make_vec("Tiles2048-v0", n, **options)
    before, infos = envs.reset(seed=0)
    rng, over, ends = np.random.default_rng(1), np.zeros(n, bool), 0
    for _ in range(100):
        actions = rng.integers(0, 4, n)
        legal = infos["action_mask"][np.arange(n), actions].astype(bool) & ~over
        placer.asked.clear()
        after = envs.game.afterstates(before)[0][np.arange(n), actions]
        before, _, terminated, truncated, infos = envs.step(actions)
        ended = terminated | truncated
        assert len(placer.asked) == legal.any()
        for boards, tiles in placer.asked:
            assert boards.dtype == np.uint8
            assert np.array_equal(boards, after[legal])
            for board, tile, game in zip(boards, tiles, np.flatnonzero(legal), strict=True):
                board.flat[np.flatnonzero(board == 0)[-1]] = tile
                assert ended[game] or np.array_equal(before[game], board)
        ends += ended.sum()
        over = ended & (mode == "NextStep")
    assert ends > 5


NAMED = r"Answering .* \[\[1, 2\], \[3, 0\]\], got 0"
ANSWERS = [([0], NAMED), (np.array([2**64 - 1], np.uint64), "got 18446744073709551615")]
ANSWERS += [([3.0], r"got \[3\.0\]"), (3, "got 3 "), ([[3], [3, 3]], r"\[\[3\], \[3, 3\]\]")]
ANSWERS += [(RuntimeError("no idea"), "no idea")]


@pytest.mark.parametrize(("answer", "named"), ANSWERS, ids=repr)
@pytest.mark.parametrize("many", [False, True])
def test_a_placer_that_fails_is_named_and_nothing_has_changed(answer, named, many):
    make, placer = gym.make_vec if many else gym.make, Answering(answer)
    env = make("Tiles2048-v0", shape=(2, 2), placer=placer).unwrapped
    env.reset(seed=4, options={"board": [[1, 2], [0, 3]], "score": 5})
    env.step([1] if many else 1)  # illegal
    state = env.get_state()
    error = type(answer) if isinstance(answer, Exception) else ValueError
    with pytest.raises(error, match=named):
        env.step([3] if many else 3)
    assert data_equivalence(env.get_state(), state, exact=True)
    placer.answer = [3]
    observations, *_ = env.step([3] if many else 3)
    assert np.array_equal(observations[0] if many else observations, [[1, 2], [3, 1]])
    assert env.get_state()["stream"] != state["stream"]
