"""`tile_envs.jax`: the games of the package as functions of JAX, and in libraries of its world."""

import os
import pickle
import re
from functools import cache, partial

import gymnasium as gym
import numpy as np
import powers3  # noqa: F401 # registers a game
import pytest
from commands import ROOT, python

from tile_envs.base.random_stream import seeds
from tile_envs.sliding import Rules, SlidingGame, register_game
from tile_envs.tictactoe.positions import solve

jax = pytest.importorskip("jax")
jnp = jax.numpy

from tile_envs.jax import Word, halves, make  # noqa: E402

ODD = Rules(
    name="Odd",  # whose order matters, which shrinks tiles, and pays more than 32 bits hold
    faces=(0, 1, 2**32 + 7, 2**33 - 1, 2**62),
    merges=[(1, 1, 3), (1, 3, 2), (3, 4, 1), (4, 4, 1)],
    spawn={1: 0.5, 2**32 + 7: 0.25, 2**62: 0.25},
    goal=2**62,
)
SLIDING = [
    ("Tiles2048-v0", {}),
    ("Tiles2048-v0", {"shape": (1, 3), "spawn": {4: 1.0}, "start_tiles": 3}),
    ("Tiles2048-v0", {"shape": (2, 2), "spawn": {2: 0.1, 4: 0.2, 16: 0.7}, "start_tiles": [8, 2]}),
    ("Tiles2048-v0", {"shape": (5, 5)}),
    ("Tiles2048-v0", {"shape": (2, 5), "spawn": {512: 1.0}, "terminate_at_goal": True}),
    ("Tiles2048-v0", {"shape": (8, 8), "spawn": {2: 0.8, 4: 0.2}}),
    ("Tiles2584-v0", {}),
    ("Tiles2584-v0", {"shape": (3, 7), "spawn": {1: 0.75, 3: 0.25}}),
    ("Powers3-v0", {"shape": (4, 2)}),
    ("Odd-v0", {"shape": (1, 3), "spawn": {1: 1 - 1e-12, 2**62: 1e-12}}),
    ("Odd-v0", {"shape": (3, 1)}),
]
SEATS = {"X": "random", "O": "minimax", "random": "minimax_first", "both": "random"}
TICTACTOE = [("TicTacToe-v0", {"side": side, "opponent": SEATS[side]}) for side in SEATS]
LONG = 2**31 - 1
TWO = "--xla_force_host_platform_device_count=2"
of_games = pytest.mark.parametrize(("env_id", "options"), [*SLIDING, *TICTACTOE])
of_both = pytest.mark.parametrize("env_id", ["Tiles2048-v0", "TicTacToe-v0"])


@pytest.fixture(autouse=True, scope="module")
def odd():
    register_game("Odd-v0", ODD)
    yield
    del gym.registry["Odd-v0"]


def boards_of(game, n, rng):
    """Return boards of any tiles, the last ones too, more or less full."""
    if not isinstance(game, SlidingGame):
        reachable = np.flatnonzero(solve().reachable)
        return solve().marks[rng.choice(reachable, n)]
    most = rng.choice([3, game.rules.largest], (n, 1, 1))
    tiles = rng.integers(1, most + 1, (n, *game.shape))
    return (tiles * (rng.random(tiles.shape) < rng.random((n, 1, 1)))).astype(np.uint8)


@cache
def player(env):
    """Return a function that plays `(steps, n)` actions in a scan."""
    return jax.jit(partial(jax.lax.scan, jax.vmap(env.step)))


def exact(value):
    return value.to_numpy() if isinstance(value, Word) else np.asarray(value)


def same(one, other):
    return all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))


def compare(env, n, steps, seed):
    """Play n games from their seeds and n from boards, here and in numpy; count the steps."""
    rng, game, words = np.random.default_rng(seed), env.game, seeds(seed, 2 * n)
    position = {"board": boards_of(game, n, rng)}
    if isinstance(game, SlidingGame):
        position["score"] = rng.integers(2**53, size=n)
    given = game.begin(words[n:], *position.values())
    theirs = game.begin(words[:n]), given
    at = {name: halves(value) if name == "score" else value for name, value in position.items()}
    given = jax.vmap(lambda seed, at: env.begin(seed, **at))(halves(words[n:]), at)
    ours = jax.vmap(env.begin)(halves(words[:n])), given
    state = type(theirs[0])(*map(np.concatenate, zip(*theirs, strict=True)))
    states = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *ours)
    observation, info = jax.vmap(env.observe)(states)
    observations, infos = game.observe(state)
    assert np.array_equal(observation, observations)
    assert all(np.array_equal(exact(info[name]), infos[name]) for name in infos)
    actions = rng.integers(game.n_actions, size=(steps, 2 * n))
    states, took = player(env)(states, jnp.asarray(actions))
    took = jax.tree.map(exact, took, is_leaf=lambda value: isinstance(value, Word))
    played = 0
    for i in range(steps):
        played += np.count_nonzero(~state.over)
        state, step = game.step(state, actions[i])
        assert np.array_equal(took.observation[i], step.observations)
        assert np.array_equal(took.info["reward"][i], step.rewards)
        assert np.array_equal(took.reward[i], step.rewards.astype(np.float32))
        assert np.array_equal(took.terminated[i], step.terminations)
        for name, values in step.infos.items():
            assert np.array_equal(took.info[name][i], values), name
    assert not took.truncated.any()
    assert np.array_equal(states.stream.to_numpy(), state.streams)
    assert np.array_equal(jax.vmap(env.mask)(states), game.masks(state))
    return played


@of_games
def test_games_are_those_of_numpy(env_id, options):
    assert compare(make(env_id, max_illegal=LONG, **options), 50, 60, seed=1) > 300


@pytest.mark.slow
def test_ten_million_steps_are_those_of_numpy():
    total = 0
    for turn, (env_id, options) in enumerate(games := [*SLIDING, *TICTACTOE]):
        env = make(env_id, max_illegal=LONG, **options)
        while total < 10_000_000 * (turn + 1) / len(games):
            total += compare(env, 10_000, 60, seed=total)


def test_a_seed_is_an_integer_of_64_bits_in_any_form():
    env = make("Tiles2048-v0")
    begin = lambda seed: env.begin(seed).stream.to_numpy()  # noqa: E731
    for seed in (7, 2**32, 2**64 - 1, -1):
        word = np.array([seed & 2**64 - 1], np.uint64)
        assert begin(seed) == begin(halves(word)[0]) == env.game.begin(word).streams[0]
    assert begin(jnp.int32(-1)) == begin(np.int64(-1)) == begin(-1)
    assert jax.jit(env.begin)(jnp.int32(-1)).stream.to_numpy() == begin(2**64 - 1)
    for key in (jax.random.key(7), jax.random.PRNGKey(7)):
        assert begin(env.seed_of(key)) == begin(7)
    many = [2**63 + 1, -1, 2**64 + 5]  # numpy has no type for them
    assert Word(*halves(many).T).to_numpy().tolist() == [2**63 + 1, 2**64 - 1, 5]


@pytest.mark.skipif(not jax.config.jax_enable_x64, reason="needs 64-bit types")
def test_wide_seeds_scores_and_actions_keep_their_upper_halves():
    env = make("Tiles2048-v0")
    for seed in (np.uint64(2**40 + 7), np.uint64(2**64 - 1), np.int64(-3)):
        expected = env.begin(int(seed)).stream.to_numpy()
        assert jax.jit(env.begin)(seed).stream.to_numpy() == expected
        assert jax.vmap(env.begin)(seed[None]).stream.to_numpy() == expected
    begin = jax.jit(lambda score: env.begin(7, np.eye(4, dtype=np.uint8), score=score))
    assert begin(np.uint64(2**40 + 5)).score.to_numpy() == 2**40 + 5
    assert env.step(env.begin(7), np.int64(2**32))[1].info["illegal"]
    afterstate = env.afterstate(env.begin(7), 0)
    _, step = env.spawn(afterstate, np.int64(2**32))  # a cell that there is not
    assert np.array_equal(step.observation, env.observation(afterstate.state))


@of_both
def test_bits_choose_legal_actions_and_what_is_no_action_is_illegal(env_id):
    env = make(env_id)
    state, _ = env.step(env.begin(7), 0)
    for bits in jax.random.bits(jax.random.key(0), (32,)):  # of 64 with 64-bit types on
        assert env.mask(state)[env.choose(state, bits)]
    for action in (-1, 9, 2**31 - 1, np.uint32(2**32 - 4)):
        after, step = env.step(state, action)
        assert step.info["illegal"]
        assert same(after, state._replace(illegal_run=state.illegal_run + 1))


WRONG = [
    ("integer", lambda env: halves([2**63, 0.5])),
    ("seed", lambda env: env.begin([1, 2, 3])),
    ("bits", lambda env: env.choose(env.begin(7), np.int32(5))),
    ("action", lambda env: env.step(env.begin(7), True)),
    ("board", lambda env: jax.jit(env.begin)(7, np.zeros(3, np.int8))),
    ("'scor'", lambda env: jax.jit(partial(env.begin, scor=5))(7)),
    ("placed", lambda env: make("Tiles2048-v0", placer="adversary")),
    (r"jax\.vmap", lambda env: env.step(jax.vmap(env.begin)(halves([7, 8])), 0)),
]


@of_both
def test_what_numpy_refuses_or_there_is_not_in_jax_is_refused(env_id):
    env = make(env_id)
    for named, call in WRONG:
        with pytest.raises(ValueError, match=named):
            call(env)


@of_both
def test_an_environment_that_was_used_is_pickled(env_id):
    from tile_envs.jax import pgx_env

    shell = pgx_env(env_id)
    shell.env.step(shell.env.begin(7), 0)
    assert pickle.loads(pickle.dumps(shell)).env == shell.env


@pytest.mark.skipif(len(jax.devices()) < 2, reason="needs two devices")
@pytest.mark.parametrize(("env_id", "options"), [SLIDING[0], SLIDING[3], SLIDING[6], TICTACTOE[2]])
def test_games_on_two_devices_are_those_of_one(env_id, options):
    env, words, over = make(env_id, **options), halves(seeds(5, 8)), jax.sharding.PartitionSpec("d")

    def play(words):
        def tick(states, _):
            states, _ = jax.vmap(env.step)(states, jax.vmap(env.choose)(states, words[:, 1]))
            return states, None

        states, _ = jax.lax.scan(tick, jax.vmap(env.begin)(words), length=8)
        return states, jax.vmap(jax.vmap(env.replies))(jax.vmap(env.afterstates)(states))

    expected = jax.jit(play)(words)
    for kind in (jax.sharding.AxisType.Explicit, jax.sharding.AxisType.Auto):
        mesh = jax.make_mesh((2,), ("d",), axis_types=(kind,))
        split = jax.device_put(words, jax.sharding.NamedSharding(mesh, over))
        by_hand = jax.shard_map(play, mesh=mesh, in_specs=over, out_specs=over)
        found = [jax.jit(play)(split), jax.jit(by_hand)(split)]
        with jax.set_mesh(mesh):
            found.append(jax.jit(play)(split))
        assert all(same(one, expected) for one in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", [{"JAX_ENABLE_X64": "1"}, {"XLA_FLAGS": TWO, "JAX_PLATFORMS": "cpu"}]
)
def test_all_of_this_holds_with_64_bit_types_and_on_two_devices(setting):
    words = ("-m", "pytest", "-q", "-n", "0", "-m", "not slow", __file__)
    python(*words, env=os.environ | setting)


@of_both
def test_illegal_actions_in_a_row_truncate_as_in_the_environment(env_id):
    env, twin = gym.make(env_id, max_illegal=3), make(env_id, max_illegal=3)
    step, rng, truncations = jax.jit(twin.step), np.random.default_rng(0), 0
    for seed in range(4):
        env.reset(seed=seed)
        state, over = twin.begin(seed), False
        while not over:
            legal = np.flatnonzero(env.unwrapped.action_masks())
            action = int(rng.choice(legal)) if rng.random() < 0.3 else int(legal[0])
            observation, reward, terminated, truncated, info = env.step(action)
            state, took = step(state, action)
            assert np.array_equal(took.observation, observation)
            assert (took.reward, took.terminated, took.truncated) == (reward, terminated, truncated)
            assert took.info["illegal"] == info["illegal"]
            over, truncations = terminated or truncated, truncations + truncated
        again, took = step(state, legal[0])
        assert took.reward == 0
        assert took.info["illegal"]
        assert same(again, state)


@of_games
def test_the_model_is_that_of_numpy(env_id, options):
    env = make(env_id, **options)
    game, n, rng = env.game, 20, np.random.default_rng(2)
    boards = boards_of(game, n, rng)
    states = jax.vmap(lambda board: env.begin(0, board))(boards)
    seen = np.asarray(jax.vmap(env.observation)(states))
    expected, rewards, masks = game.afterstates(seen)
    afterstates = jax.jit(jax.vmap(env.afterstates))(states)
    assert np.array_equal(afterstates.legal, masks)
    assert np.array_equal(jax.vmap(jax.vmap(env.observation))(afterstates.state), expected)
    _, steps, probabilities = jax.jit(jax.vmap(jax.vmap(env.replies)))(afterstates)
    steps, chances = np.asarray(steps.observation), np.asarray(probabilities)
    assert chances.sum(axis=2) == pytest.approx(1)
    if isinstance(game, SlidingGame):
        assert np.array_equal(afterstates.reward.to_numpy(), rewards)
    for i, action in zip(*np.nonzero(masks), strict=True):
        parents, wanted, shares = game.replies(expected[i, action][None])
        some = chances[i, action] > 0
        found, chance = steps[i, action, some], chances[i, action, some]
        if len(parents):  # else the game has ended
            order, ours = (np.lexsort(b.reshape(len(b), -1).T) for b in (wanted, found))
            assert np.array_equal(wanted[order], found[ours])
            assert chance[ours] == pytest.approx(shares[order], rel=1e-5)


@pytest.mark.parametrize(("env_id", "options"), [SLIDING[0], TICTACTOE[2]])
def test_a_step_is_one_of_the_replies_and_search_sees_no_stream(env_id, options):
    env = make(env_id, **options)
    step, replies = jax.jit(env.step), jax.jit(lambda *given: env.replies(env.afterstate(*given)))
    state = env.begin(5)
    for _ in range(6):
        action = int(env.mask(state).argmax())
        states, steps, probabilities = replies(state, action)
        state, took = step(state, action)
        found = (np.asarray(steps.observation) == took.observation).all(axis=(1, 2))
        (i, *_) = np.flatnonzero(found & (np.asarray(probabilities) > 0))
        assert (steps.reward[i], steps.terminated[i]) == (took.reward, took.terminated)
        assert not states.stream.to_numpy().any()
        if took.terminated:
            break


def test_a_step_holds_words_of_32_bits_at_most_and_calls_nothing_back():
    for env_id in ("Tiles2048-v0", "TicTacToe-v0"):
        env = make(env_id)
        text = str(jax.make_jaxpr(env.step)(env.begin(0), jnp.int32(0)))
        assert "callback" not in text
        assert all(leaf.dtype.itemsize <= 4 for leaf in jax.tree.leaves(env.step(env.begin(0), 0)))
        if not jax.config.jax_enable_x64:  # else the counters of loops have 64 bits
            assert not any(kind in text for kind in ("i64", "u64", "f64", "i16", "u16", "f16"))


@pytest.mark.filterwarnings("ignore")  # gymnax warns of what it deprecates
def test_gymnax_plays_the_game_of_a_key_and_begins_another_in_the_step_that_ends_it():
    gymnax = pytest.importorskip("gymnax")
    from gymnax.wrappers.compat import LegacyStepAPIWrapper
    from gymnax.wrappers.purerl import LogWrapper

    from tile_envs.jax import gymnax_env

    env, params = gymnax_env("Tiles2048-v0", shape=(2, 2))
    assert env.observation_space(params).shape == (2, 2)
    assert gymnax.make("TicTacToe-v0", side="both")[0].num_actions == 9
    game = make("Tiles2048-v0", shape=(2, 2)).game
    log, old = LogWrapper(env), LegacyStepAPIWrapper(env)
    observation, state = log.reset(jax.random.key(7), params)
    theirs, ended = game.begin([7]), False
    while not ended:
        action = int(game.masks(theirs)[0].argmax())
        assert env.action_mask(state.env_state)[action]
        key = jax.random.key(100 + int(state.env_state.time))
        *_, done, _ = old.step(key, state.env_state, action, params)
        observation, state, reward, ended, truncated, info = log.step(key, state, action, params)
        theirs, step = game.step(theirs, [action])
        assert np.array_equal(info["final_observation"], step.observations[0])
        assert (reward, ended, truncated, done) == (step.rewards[0], *step.terminations, 0, ended)
    assert info["returned_episode_returns"] == theirs.scores[0]
    seed = env.env.seed_of(jax.random.split(key)[1])
    assert np.array_equal(observation, env.env.observation(env.env.begin(seed)))
    few = params.replace(max_steps_in_episode=1)
    _, state = env.reset(jax.random.key(7), few)
    assert env.step(key, state, 0, few)[4]


def test_states_are_as_those_of_pgx():
    auto_reset = pytest.importorskip("pgx.experimental").auto_reset
    from tile_envs.jax import pgx_env

    env = pgx_env("TicTacToe-v0", side="both")
    step, state = jax.jit(env.step), env.init(jax.random.key(0))
    for turn, cell in enumerate((0, 3, 1, 4, 2)):  # X wins in the first row
        assert state.current_player == turn % 2
        assert not state.rewards.any()
        own = np.asarray(env.observe(state, 1 - turn % 2))
        assert np.array_equal(own, -np.asarray(state.observation))
        state = step(state, cell)
    assert state.terminated
    assert state.legal_action_mask.all()
    assert state.rewards.tolist() == [1, -1]
    assert not step(state, 5).rewards.any()
    env = pgx_env("Tiles2048-v0", shape=(2, 2))
    step = jax.jit(jax.vmap(auto_reset(env.step, env.init)))
    states, ends = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 8)), 0
    for turn in range(30):
        actions = states.legal_action_mask.argmax(axis=1)
        states = step(states, actions, jax.random.split(jax.random.key(turn), 8))
        ends += states.terminated.sum()
        assert not states.game.over.any()
    assert ends > 8


def test_ppo_learns_in_a_compiled_function_and_plays_in_numpy():
    pytest.importorskip("optax")
    tyro = pytest.importorskip("tyro")
    from baselines.evaluation.sampled import play
    from benchmarks.libraries.purejax_ppo import Args, train
    from benchmarks.tables.ladder import RUNGS

    (asked,) = (rung["program"] for rung in RUNGS if "program" in rung)  # it needs a GPU
    assert tyro.cli(Args, args=asked.split()[1:]).minutes == 5
    agent, _ = train(Args(total_timesteps=300_000, num_envs=128, width=32, minutes=10))
    assert play(agent, "Tiles2048-v0", episodes=50).returns.mean() > 2_000


def test_mctx_searches_the_true_model():
    pytest.importorskip("mctx")
    from baselines.evaluation.sampled import play
    from benchmarks.libraries.mctx_2048 import train

    settings = {"num_envs": 16, "num_steps": 16, "width": 8, "total_timesteps": 1}
    searcher = train("Tiles2048-v0", num_simulations=4, **settings)
    scores = play(searcher, "Tiles2048-v0", {"shape": (4, 4)}, episodes=4).returns
    assert scores.mean() > 500


def test_the_code_of_the_page_runs():
    pytest.importorskip("torch")
    page = (ROOT / "tile_envs" / "README.md").read_text()
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "import jax" in b)
    exec(compile(block, "README.md", "exec"), {})
