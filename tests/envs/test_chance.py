"""Chance: the random stream, where and which tiles appear, and the statistics of random play."""

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import chisquare

from tile_envs import seeds
from tile_envs.base.random_stream import Stream, ahead, choose, mix, pick, seeds_of, start, starts
from tile_envs.sliding import afterstates
from tile_envs.sliding.chance import SpawnDistribution


def test_words_are_those_of_splitmix64():
    # The first words of the reference implementation seeded with 1234567.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    stream = Stream(1234567)
    assert [stream.word() for _ in expected] == expected


def test_one_by_one_and_in_bulk_the_words_agree():
    first = np.arange(5, dtype=np.uint64)
    words = mix(ahead(starts(first), 200))
    for seed in range(5):
        stream = Stream(start(seed))
        assert [stream.word() for _ in range(150)] == words[:150, seed].tolist()
        again = Stream(stream.position)
        assert [again.word() for _ in range(50)] == words[150:, seed].tolist()
    assert np.array_equal(seeds_of(starts(first)), first)


def test_lists_of_seeds_share_no_game():
    lists = [seeds(seed, 1000) for seed in (0, 1, 2, 2**32 - 1)]
    assert len(np.unique(np.concatenate(lists))) == 4000


def test_choices_stay_below_n_and_are_even():
    words = mix(ahead(np.zeros((), np.uint64), 100_000))
    for n in (1, 2, 3, 7, 16):
        counts = np.bincount(choose(words, np.array(n, np.uint64)).astype(int), minlength=n)
        assert len(counts) == n
        expected = len(words) / n
        assert ((counts - expected) ** 2 / expected).sum() < 16 + 4 * n


def test_a_tile_appears_for_its_share_of_the_low_halves_of_words():
    law = SpawnDistribution((4, 5, 6), (0.5, 0.3, 0.2))
    first, second = law.thresholds
    words = [7 << 32 | low for low in (0, first - 1, first, second - 1, second, 2**32 - 1)]
    assert (first, second) == (2**31, round(0.8 * 2**32))
    assert pick(np.array(words, np.uint64), law.arrays[1]).tolist() == [0, 0, 1, 1, 2, 2]
    assert [law.tile(word) for word in words] == [4, 4, 5, 5, 6, 6]


def first_spawns(env_id, board, action, n, **options):
    """Play one action on n copies of a board; return which cell changed and to what."""
    envs = gym.make_vec(env_id, num_envs=n, shape=board.shape, **options)
    envs.reset(seed=11, options={"board": board})
    observations, *_ = envs.step(np.full(n, action))
    after = afterstates(board[None], envs.game.rules)[0][0, action]
    new = (observations != after).reshape(n, -1)
    assert (new.sum(axis=1) == 1).all()
    return after, new.argmax(axis=1), observations.reshape(n, -1)[new]


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (4, 3), (2, 4), (4, 4), (5, 5), (8, 8)])
def test_the_new_tile_lands_uniformly_on_the_empty_cells(shape, engine):
    board = np.zeros(shape, int)
    board[:2, 0], board[1, 1] = 1, 3
    for action, turned in ((0, board), (1, board), (2, board), (3, np.fliplr(board))):
        after, cells, _ = first_spawns("Tiles2584-v0", turned, action, 20_000, engine=engine)
        counts = np.bincount(cells, minlength=board.size)[np.flatnonzero(after == 0)]
        assert counts.sum() == 20_000
        assert len(counts) == 1 or chisquare(counts).pvalue > 0.01


@pytest.mark.parametrize("env_id", ["Tiles2048-v0", "Tiles2584-v0"])
def test_nearly_full_boards_get_their_tile_too(env_id, engine):
    """Full, with one merge: one cell is empty afterwards, or two (a stale count misses them)."""
    one = np.array([[1, 1, 9, 3], [6, 8, 6, 8], [1, 3, 1, 3], [6, 8, 6, 8]])
    two = np.array([[1, 1, 9, 3], [6, 8, 6, 8]] * 2)
    for board, action, empty in ((one, 3, [3]), (two, 1, [0, 8])):
        after, cells, _ = first_spawns(env_id, board, action, 20_000, engine=engine)
        found, counts = np.unique(cells, return_counts=True)
        assert found.tolist() == np.flatnonzero(after == 0).tolist() == empty
        assert len(empty) == 1 or chisquare(counts).pvalue > 0.01


LAWS = [
    ("Tiles2048-v0", None, {1: 0.9, 2: 0.1}),
    ("Tiles2584-v0", {1: 0.75, 3: 0.25}, {1: 0.75, 3: 0.25}),
    ("Tiles2048-v0", {"8": 0.2, "2": 0.5, "4": 0.3}, {1: 0.5, 2: 0.3, 3: 0.2}),
    ("Tiles2048-v0", {4: 1.0, 2: 0.0}, {2: 1.0}),
]


@pytest.mark.parametrize(("env_id", "spawn", "law"), LAWS)
def test_tiles_appear_by_the_law(env_id, spawn, law, engine):
    board = np.zeros((4, 4), int)
    board[0, 0] = 5
    _, _, tiles = first_spawns(env_id, board, 1, 50_000, spawn=spawn, engine=engine)
    values, counts = np.unique(tiles, return_counts=True)
    assert values.tolist() == list(law)
    if len(law) > 1:
        assert chisquare(counts, [50_000 * p for p in law.values()]).pvalue > 0.01


def test_start_boards_hold_the_tiles_asked_for_anywhere(engine):
    options = {"engine": engine, "start_tiles": [2, 2, 64]}
    boards = gym.make_vec("Tiles2048-v0", 5000, **options).reset(seed=0)[0].reshape(-1, 16)
    assert (np.sort(boards)[:, -4:] == [0, 1, 1, 6]).all()
    assert chisquare((boards > 0).sum(axis=0)).pvalue > 0.01


@pytest.mark.parametrize("shape", [(2, 3), (5, 2)])
@pytest.mark.parametrize("fraction", [0, 0.5, 1])
def test_games_begin_with_listed_boards_as_often_as_asked(shape, fraction):
    n, boards = 20_000, np.zeros((3, *shape), int)
    boards[:, 0, 0] = 9, 10, 11
    options = {"shape": shape, "starts": boards, "start_fraction": fraction}
    first, _ = gym.make_vec("Tiles2048-v0", n, **options).reset(seed=0)
    counts = np.bincount(first[:, 0, 0], minlength=12)[9:]
    assert abs(counts.sum() - n * fraction) <= 4 * (n * fraction * (1 - fraction)) ** 0.5
    assert fraction == 0 or chisquare(counts).pvalue > 1e-4
    assert ((first > 0).sum(axis=(1, 2)) == 2).sum() == n - counts.sum()


def test_random_play_has_the_known_statistics(engine):
    """20,000 games; the reference values carry a standard error of their own."""
    n = 20_000
    envs = gym.make_vec("Tiles2048-v0", num_envs=n, engine=engine)
    envs.reset(seed=1)
    envs.action_space.seed(2)
    scores, tiles, moves = np.zeros(n), np.zeros(n, int), np.zeros(n, int)
    playing = np.ones(n, bool)
    while playing.any():
        *_, terminations, _, infos = envs.step(envs.sample_legal_actions())
        moves += playing
        ended = playing & terminations
        scores[ended], tiles[ended] = infos["score"][ended], infos["max_tile"][ended]
        playing &= ~ended
    assert abs(scores.mean() - 1098.7) < 4 * np.hypot(3.8, scores.std() / n**0.5)
    assert abs(moves.mean() - 118.65) < 4 * np.hypot(0.27, moves.std() / n**0.5)
    assert abs(np.median(scores) - 1052) < 25
    shares = {16: 0.0027, 32: 0.067, 64: 0.376, 128: 0.474, 256: 0.080, 512: 0.0003}
    for tile, share in shares.items():
        assert abs((tiles == tile).mean() - share) < 0.0005 + 5 * (share / n) ** 0.5
