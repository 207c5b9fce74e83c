"""Games as values: compared, hashed, pickled, written as JSON; their replies are what happens."""

import pickle
from dataclasses import FrozenInstanceError
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from players import FirstLegal

from baselines.agents import game_from_json
from tile_envs.errors import UsageError
from tile_envs.games import vector_env
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.tictactoe import TicTacToe

GAMES = [
    SlidingGame(RULES_2048),
    SlidingGame(RULES_2048, (2, 3), {2: 0.8, 4: 0.2}, [2, 2]),
    SlidingGame(RULES_2584, (3, 2), {1: 0.75, 3: 0.25}, 3),
    SlidingGame(RULES_2048, placer="adversary"),
    SlidingGame(RULES_2584, (3, 2), {1: 0.75, 3: 0.25}, placer="adversary"),
    TicTacToe(),
    TicTacToe("minimax", "O"),
    TicTacToe("minimax_first", "random"),
    TicTacToe(side="both"),
]
every_game = pytest.mark.parametrize("game", GAMES, ids=repr)


@every_game
def test_a_game_is_a_value(game):
    for same in (pickle.loads(pickle.dumps(game)), game_from_json(game.to_json())):
        assert same == game
        assert hash(same) == hash(game)
        assert type(same) is type(game)
    assert sum(other == game for other in GAMES) == 1
    with pytest.raises(FrozenInstanceError):
        game.shape = (3, 3)


def test_options_in_any_form_make_the_same_game():
    plain = SlidingGame(RULES_2048, (2, 3), {2: 0.8, 4: 0.2}, (2, 2))
    for shape, spawn, start in (
        ([2, 3], {"2": 0.8, "4": 0.2}, [2, 2]),
        (np.array([2, 3]), {4: 0.2, 2: 0.8, 8: 0.0}, np.array([2, 2])),
        ((2, 3), ((4, 0.2), (2, 0.8)), ["2", 2]),
    ):
        assert SlidingGame(RULES_2048, shape, spawn, start) == plain
    assert SlidingGame(RULES_2048) == SlidingGame(RULES_2048, (4, 4), {2: 0.9, 4: 0.1}, 2)
    assert repr(plain.spawn) == "((2, 0.8), (4, 0.2))"


@pytest.mark.parametrize("env_id", ["Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0"])
def test_environments_offer_the_game_they_are_built_on(env_id):
    options = {"side": "O"} if env_id == "TicTacToe-v0" else {"shape": [2, 3]}
    game, envs = gym.make(env_id, **options).unwrapped.game, gym.make_vec(env_id, 3, **options)
    assert game == envs.game
    again = vector_env(game, 3)
    assert again.game == game
    assert np.array_equal(again.reset(seed=4)[0], envs.reset(seed=4)[0])


@every_game
def test_what_a_game_says_is_of_the_right_form(game):
    envs = vector_env(game, 5)
    assert envs.game == game
    boards, infos = envs.reset(seed=0)
    n, cells = game.n_actions, game.shape[0] * game.shape[1]
    assert boards.shape[1:] == game.shape
    assert np.array_equal(game.legal_actions(boards), infos["action_mask"])
    after, rewards, masks = game.afterstates(boards)
    assert after.shape == (5, n, *game.shape)
    assert rewards.shape == masks.shape == (5, n)
    images, actions = game.symmetries
    assert images.shape == (len(actions), cells)
    assert np.array_equal(images[0], np.arange(cells))
    assert np.array_equal(actions[0], np.arange(n))
    assert isinstance(game.draw(boards[0], "ansi"), str)
    assert game.draw(boards[0], "rgb_array").dtype == np.uint8


@every_game
def test_replies_are_what_the_environment_does(game):
    """From one afterstate, thousands of steps lead to the replies as often as they say."""
    n = 4000
    envs = vector_env(game, n)
    first = envs.reset(seed=0)[0][:1]
    start = first[0]
    if isinstance(game, TicTacToe):  # `reset` takes marks, X as 1
        start = start * (1 if start.sum() == 0 else -1)
        boards, infos = envs.reset(seed=1, options={"board": start})
        boards, marks = boards[infos["to_play"] == infos["to_play"][0]], infos["to_play"][0]
        first = boards[:1]
    else:
        envs.reset(seed=1, options={"board": start})
    action = int(game.legal_actions(first)[0].argmax())
    after = game.afterstates(first)[0][:, action]
    following, *_, infos = envs.step(np.full(n, action))
    if isinstance(game, TicTacToe):
        same = infos["to_play"] == (-marks if game.side == "both" else marks)
        following = following[same]
    replies = game.replies(after)
    assert (replies.parents == 0).all()
    assert replies.probabilities.sum() == pytest.approx(1)
    boards = [board.tobytes() for board in replies.boards]
    expected = dict(zip(boards, replies.probabilities, strict=True))
    assert len(expected) == len(replies.boards)
    found, counts = np.unique(following, axis=0, return_counts=True)
    for board, count in zip(found, counts, strict=True):
        probability = expected[board.astype(replies.boards.dtype).tobytes()]
        deviation = (len(following) * probability * (1 - probability)) ** 0.5
        assert abs(count - len(following) * probability) <= 5 * deviation
    assert len(found) > 0.9 * len(expected)


def test_afterstates_that_end_a_game_have_no_reply():
    won = np.array([[[1, 1, 1], [-1, -1, 0], [0, 0, 0]]])
    full = np.array([[[1, -1, 1], [1, -1, -1], [-1, 1, 1]]])
    for game in (TicTacToe(), TicTacToe("minimax"), TicTacToe(side="both")):
        assert len(game.replies(np.concatenate([won, full])).parents) == 0


def test_replies_of_opponents_without_a_name_are_not_known():
    game = TicTacToe(FirstLegal())
    with pytest.raises(UsageError, match="FirstLegal"):
        game.replies(np.array([[[1, 0, 0], [0, 0, 0], [0, 0, 0]]]))
    with pytest.raises(TypeError):
        game.to_json()


def test_expected_results_follow_from_replies():
    """Random play against random play, from afterstates and replies alone, layer by layer."""
    game = TicTacToe()
    boards, chances, wins = np.zeros((1, 3, 3), np.int8), np.ones(1), 0.0
    while len(boards):
        after, rewards, masks = game.afterstates(boards)
        moves = masks * (chances / np.maximum(masks.sum(axis=1), 1))[:, None]
        wins += (moves * rewards).sum()
        legal = masks.astype(bool)
        parents, boards, probabilities = game.replies(after[legal])
        chances = moves[legal][parents] * probabilities
        on = game.legal_actions(boards).any(axis=1)
        boards, chances = boards[on], chances[on]
    assert wins == pytest.approx(0.58492, abs=5e-6)


def reachable_largest(game):
    """Return the largest tile that play can reach, by trying everything."""
    boards = np.zeros((1, *game.shape), np.uint8)
    for _ in range(game.start_tiles):
        boards = np.unique(game.replies(boards).boards, axis=0)
    seen, largest = set(), 0
    while len(boards):
        largest = max(largest, int(boards.max()))
        after, _, masks = game.afterstates(boards)
        boards = np.unique(game.replies(after[masks.astype(bool)]).boards, axis=0)
        boards = np.array([b for b in boards if b.tobytes() not in seen], np.uint8)
        seen |= {b.tobytes() for b in boards}
    return largest


@pytest.mark.parametrize("rules", [RULES_2048, RULES_2584], ids=lambda rules: rules.name)
def test_the_bound_of_the_largest_tile_is_reached_on_small_boards(rules):
    for spawn in (None, {rules.faces[1]: 1.0}, {rules.faces[1]: 0.75, rules.faces[3]: 0.25}):
        game = SlidingGame(rules, (2, 2), spawn)
        assert reachable_largest(game) <= game.largest_tile <= reachable_largest(game) + 1
    assert SlidingGame(RULES_2048, (2, 2)).largest_tile == 5
    assert SlidingGame(RULES_2584, (2, 3)).largest_tile == 12  # 233, published
    assert SlidingGame(RULES_2048).largest_tile == 17
    assert SlidingGame(RULES_2584).largest_tile == 31


FOREIGN = {
    "int64": lambda state: state._replace(streams=state.streams.astype(np.int64)),
    "float64": lambda state: state._replace(**{state._fields[3]: state[3] * 1.0}),
    r"\(2,": lambda state: state._replace(over=state.over[:2]),
    "list": lambda state: state._replace(over=state.over.tolist()),
    r"shape \(\)": lambda state: type(state)(*(array[0] for array in state)),
    r"got \(array": tuple,
    "got State": lambda state: (TicTacToe() if hasattr(state, "boards") else GAMES[0]).begin(
        [1, 2, 3]
    ),
}


@pytest.mark.parametrize("found", FOREIGN)
@pytest.mark.parametrize("game", [*GAMES[:2], SlidingGame(RULES_2048, (5, 5)), TicTacToe()])
def test_a_state_of_another_form_is_refused_in_one_line(game, found):
    words, state = np.zeros(3, np.uint64), FOREIGN[found](game.begin([1, 2, 3]))
    played = (partial(call, actions=[0, 0, 0]) for call in (game.step, game.play))
    chosen = partial(game.choose, words=words)
    for call in (*played, chosen, game.masks, game.observe, game.position):
        with pytest.raises(UsageError, match=rf"^state.* {found}.*$"):
            call(state)


@every_game
def test_games_begin_by_any_integers_and_there_may_be_none(game):
    for seeds in ([2**64 + 5, -1], (5, 2**64 - 1), np.array([5, -1])):
        begun, wanted = game.begin(seeds), game.begin(np.array([5, 2**64 - 1], np.uint64))
        assert all(map(np.array_equal, begun, wanted))
    for none in (game.begin([]), game.begin((), np.zeros(game.shape, int))):
        assert game.step(none, [])[1].observations.shape == (0, *game.shape)
    for bad in ("12", [1.0, 2], [True, 2], ["1", 2], [[1], [2]], {1, 2}, np.array([True, False])):
        for call in (game.begin, lambda seeds: vector_env(game, 2).reset(seed=seeds)):
            with pytest.raises(UsageError, match=r"seeds? must be"):
                call(bad)


@every_game
def test_games_begin_from_boards_as_those_of_environments_do(game):
    envs, seeds = vector_env(game, 3), [5, 6, 2**63]
    envs.reset(seed=8), envs.step(envs.sample_legal_actions())
    boards = envs.get_state()["board"]
    scored = [{}, {"score": 7}, {"score": [7, 8, 2**53]}]
    for board in (boards, boards[1].tolist()):
        for score in scored[: 1 if isinstance(game, TicTacToe) else 3]:
            envs.reset(seed=seeds, options={"board": board} | score)
            state = game.begin(seeds, board, *score.values())
            assert all(map(np.array_equal, state, envs._engine.games.state))
    for given in ([boards[:2]], [np.full(game.shape, 99)], [boards, -1], [boards, [1]], [None, 5]):
        with pytest.raises(UsageError, match=r"board|score"):
            game.begin(seeds, *given)


@pytest.mark.parametrize("text", ["[]", '{"side": "Z"}', '{"rules": 3}', "{", '{"color": 1}'])
def test_texts_that_are_no_games_are_refused(text):
    with pytest.raises(ValueError, match=r"game|side|rules|Expecting"):
        game_from_json(text)


def test_games_are_won_at_the_goal_or_by_the_side_that_is_played():
    tiles = {"max_tile": np.array([1024, 1597, 2048, 2584, 4096])}
    assert SlidingGame(RULES_2048).is_success(tiles).tolist() == [False, False, True, False, True]
    assert SlidingGame(RULES_2584).is_success(tiles).tolist() == [False, False, False, True, False]
    infos = {"winner": np.array([1, -1, 0, 1]), "to_play": np.array([1, 1, 1, -1])}
    assert TicTacToe(side="random").is_success(infos).tolist() == [True, False, False, False]
    assert TicTacToe(side="both").is_success(infos).tolist() == [True, True, False, True]
