"""The random stream: its published values, and the same numbers one by one as in bulk."""

import gymnasium as gym
import numpy as np

from tile_envs import seeds
from tile_envs.base.random_stream import Stream, ahead, choose, mix, seeds_of, start, starts


def test_words_are_those_of_splitmix64():
    # The first words of the reference implementation seeded with 1234567.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    stream = Stream(1234567)
    assert [stream.word() for _ in expected] == expected


def test_one_by_one_and_in_bulk_the_words_agree():
    seeds = np.arange(5, dtype=np.uint64)
    words = mix(ahead(starts(seeds), 200))
    for seed in range(5):
        stream = Stream(start(seed))
        assert [stream.word() for _ in range(200)] == words[:, seed].tolist()
    assert np.array_equal(seeds_of(starts(seeds)), seeds)


def test_a_stream_goes_on_from_its_position():
    stream = Stream(start(3))
    for _ in range(70):
        stream.word()
    again = Stream(stream.position)
    assert [stream.word() for _ in range(70)] == [again.word() for _ in range(70)]


def test_lists_of_seeds_share_no_game():
    lists = [seeds(seed, 1000) for seed in (0, 1, 2, 2**32 - 1)]
    assert len(np.unique(np.concatenate(lists))) == 4000
    boards, _ = gym.make_vec("Tiles2048-v0", 3).reset(seed=seeds(7, 3))
    singles = [gym.make("Tiles2048-v0").reset(seed=int(seed))[0] for seed in seeds(7, 3)]
    assert np.array_equal(boards, singles)


def test_choices_stay_below_n_and_are_even():
    words = mix(ahead(np.zeros((), np.uint64), 100_000))
    for n in (1, 2, 3, 7, 16):
        counts = np.bincount(choose(words, np.array(n, np.uint64)).astype(int), minlength=n)
        assert len(counts) == n
        expected = len(words) / n
        assert ((counts - expected) ** 2 / expected).sum() < 16 + 4 * n
