"""Resets, steps, states, undos and replays in any order: all ways to play show the same games."""

from copy import copy
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import settings, stateful
from hypothesis import strategies as st
from hypothesis.stateful import rule
from test_engines import MODES
from test_envs import every_variant

from tile_envs.replay import Playthrough, play_through, replay_of

N = 3
WORDS = st.integers(0, 2**64 - 1)
each = partial(st.lists, min_size=N, max_size=N)
equal = partial(data_equivalence, exact=True)


def plain(info, game=...):
    """Return an info, or that of one of many games, in plain numbers."""
    names = (name for name in info if not name.startswith(("_", "final")))
    return {name: np.asarray(info[name])[game].tolist() for name in names}


def copied(play):
    """Return a game so far, for the same environment."""
    again = copy(play)
    again.actions, again.positions = play.actions[:], play.positions[:]
    return again


class Ways(stateful.RuleBasedStateMachine):
    """N games, each alone (as `play` and replays hold it), by both engines, and in the core."""

    saved = stateful.Bundle("saved")

    def __init__(self, env_id, options):
        super().__init__()
        self.options = {"id": env_id, "max_illegal": 3, **options}

    @stateful.initialize(mode=st.sampled_from(MODES), seeds=each(WORDS))
    def make(self, mode, seeds):
        self.mode, options = mode, self.options | {"num_envs": N, "autoreset_mode": mode}
        self.many = [gym.make_vec(engine=engine, **options) for engine in ("numpy", "numba")]
        envs = [gym.make(**self.options).unwrapped for _ in range(N)]
        self.game, self.past = self.many[0].game, []
        self.core = self.game.begin(np.array(seeds, np.uint64))
        self.plays = [Playthrough(*game) for game in zip(envs, seeds, strict=True)]
        self.show([many.reset(seed=seeds) for many in self.many])

    def show(self, shown, games=range(N)):
        """What the engines returned (observations, …, infos) is that of games alone."""
        assert equal(*shown)
        for i in games:
            assert equal(shown[0][0][i], self.plays[i].position.observation)
            assert plain(shown[0][-1], i) == plain(self.plays[i].position.info)

    def begin(self, games, seeds, given=None):
        """Begin some games alone and in the core, by their seeds."""
        given = {name: values[games] for name, values in (given or {}).items()}
        begun = self.game.begin(np.array(seeds, np.uint64), *given.values())
        self.core = type(begun)(*map(np.copy, self.core))  # states that are kept share its arrays
        for array, new in zip(self.core, begun, strict=True):
            array[games] = new
        for n, (i, seed) in enumerate(zip(games, seeds, strict=True)):
            reset = {name: values[n].tolist() for name, values in given.items()}
            self.plays[i] = Playthrough(self.plays[i].env, int(seed), reset)
        self.past.clear()

    @rule(mask=each(st.booleans()).filter(any), seeds=each(WORDS), from_board=st.booleans())
    def reset(self, mask, seeds, from_board):
        """Reset some games, or all; `from_board`: to where they stand, for other replies."""
        games, options = np.flatnonzero(mask), {"reset_mask": np.array(mask)}
        at, given = self.many[0].get_state(), {}
        if from_board and not at["ended"].any():
            given = {name: at[name] for name in self.game.reset_options}
        options = given if all(mask) else given | options
        shown = [many.reset(seed=seeds, options=options) for many in self.many]
        begun = [seeds[i] for i in games]
        assert all(many.seeds[games].tolist() == begun for many in self.many)
        self.begin(games, begun, given)
        self.show(shown, games)

    @rule(seed=st.integers(0, 2**32), any_action=st.booleans(), steps=st.integers(1, 20))
    def play(self, seed, any_action, steps):
        rng = np.random.default_rng(seed)
        for words in rng.integers(2**64, size=(steps, N), dtype=np.uint64):
            if self.mode == "Disabled" and self.many[0].ended.any():
                self.reset(self.many[0].ended, words, False)
            legal = self.game.choose(self.core, words)
            self.step(words % self.game.n_actions if any_action else legal)

    def step(self, actions):
        waited = self.many[0].ended
        self.past.append((self.many[0].get_state(), self.core))
        shown = [many.step(actions) for many in self.many]
        before, over = self.core, self.core.over
        for array in before:
            array.flags.writeable = False
        self.core, step = self.game.step(before, actions)
        assert all(equal(now[over], was[over]) for now, was in zip(self.core, before, strict=True))
        assert step.infos["illegal"][over].all()
        assert not step.rewards[over].any()
        infos, seeds = shown[0][-1], self.many[0].seeds
        for i in np.flatnonzero(~waited):
            play, total = self.plays[i], self.plays[i].position.total
            play.play(int(actions[i]))
            last = play.position
            assert equal(step.observations[i], last.observation)
            assert plain(step.infos, i) == plain(last.info)
            assert step.terminations[i] == shown[0][2][i] == last.terminated
            assert shown[0][3][i] == last.truncated
            assert step.rewards[i] == shown[0][1][i] == last.total - total
            if "final_obs" in infos and infos["_final_obs"][i]:
                assert equal(infos["final_obs"][i], last.observation)
                assert plain(infos["final_info"], i) == plain(last.info)
        begun = np.flatnonzero(waited | infos.get("_final_obs", waited))
        if begun.size:
            self.begin(begun, seeds[begun])
        self.show(shown)

    @stateful.precondition(lambda self: self.past)
    @rule(moves=st.integers(1, 5))
    def undo(self, moves):
        for _ in range(min(moves, len(self.past))):
            state, self.core = self.past.pop()
            for play in self.plays:
                play.take_back()
        for many in self.many:
            many.set_state(state)

    @rule(target=saved)
    def save(self):
        return self.many[0].get_state(), self.core, [*map(copied, self.plays)]

    @rule(kept=saved, singly=st.booleans())
    def go_back(self, kept, singly):
        """Set a state that the other ways to play have left, too."""
        state, self.core, plays = kept
        self.plays = [*map(copied, plays)]
        for play in self.plays:
            play.env.set_state(play.position.state)
        states = [play.env.get_state() for play in self.plays]
        for many in self.many:
            many.set_states(states) if singly else many.set_state(state)
        self.past.clear()

    @rule()
    def replay(self):
        for play in self.plays:
            again = play_through(replay_of(play))
            assert equal(again.state, play.position.state)
            assert again[3:] == play.position[3:]

    @stateful.invariant()
    def every_state_is_the_same(self):
        state, compiled = (many.get_state() for many in self.many)
        assert equal(state, compiled)
        assert equal(self.many[0].get_states(), [play.env.get_state() for play in self.plays])
        core = {"stream": self.core.streams, **self.game.position(self.core)}
        assert equal(core, {name: state[name] for name in core})
        masks = np.array([play.env.action_masks() for play in self.plays])
        for theirs in (*(many.action_masks() for many in self.many), self.game.masks(self.core)):
            assert equal(theirs, masks)
        assert state["ended"][self.core.over].all()


@pytest.mark.parametrize("examples", [2, pytest.param(30, marks=pytest.mark.slow)])
@every_variant
def test_games_are_the_same_in_whatever_order_they_are_played(env_id, options, examples):
    rules = settings(max_examples=examples, stateful_step_count=20)
    stateful.run_state_machine_as_test(partial(Ways, env_id, options), settings=rules)
