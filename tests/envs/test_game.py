"""Games as values: compared, hashed, pickled, written as JSON; their replies are what happens."""

import pickle
from dataclasses import FrozenInstanceError
from functools import partial

import numpy as np
import pytest

from baselines.agents import game_from_json
from tile_envs.errors import UsageError
from tile_envs.games import vector_env
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.tictactoe import TicTacToe

GAMES = [
    SlidingGame(RULES_2048),
    SlidingGame(RULES_2048, (2, 3), {2: 0.8, 4: 0.2}, [2, 2]),
    SlidingGame(RULES_2584, (3, 2), {1: 0.75, 3: 0.25}, 3),
    SlidingGame(RULES_2584, (3, 2), {1: 0.75, 3: 0.25}, placer="adversary"),
    TicTacToe(),
    TicTacToe("minimax_first", "random"),
    TicTacToe({"minimax": 0.8, "random": 0.2}),
    TicTacToe(side="both"),
]
every_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


@every_game
def test_a_game_is_a_value(game):
    assert vector_env(game, 2).game == game
    for same in (pickle.loads(pickle.dumps(game)), game_from_json(game.to_json())):
        assert (same, hash(same), type(same)) == (game, hash(game), type(game))
    assert GAMES.count(game) == 1
    parts = (game.rules, game.distribution, game.start) if isinstance(game, SlidingGame) else ()
    for each in (game, *parts):
        with pytest.raises(FrozenInstanceError):
            each.shape = (3, 3)


def test_options_in_any_form_make_the_same_game():
    plain = SlidingGame(RULES_2048, (2, 3), {2: 0.8, 4: 0.2}, (2, 2))
    assert SlidingGame(RULES_2048, [2, 3], {"2": 0.8, "4": 0.2}, ["2", 2]) == plain
    arrays = np.array([2, 3]), {4: 0.2, 2: 0.8, 8: 0.0}, np.array([2, 2])
    assert SlidingGame(RULES_2048, *arrays) == plain
    assert SlidingGame(RULES_2048) == SlidingGame(RULES_2048, (4, 4), {2: 0.9, 4: 0.1}, 2)
    assert TicTacToe({"minimax": 1, "random": 0.0}) == TicTacToe("minimax")


@every_game
def test_replies_are_what_the_environment_does(game):
    """From one afterstate, thousands of steps lead to the replies as often as they say."""
    n = 4000
    envs = vector_env(game, n)
    first = envs.reset(seed=0)[0][:1]
    if isinstance(game, TicTacToe):  # `reset` takes marks, X as 1
        board = first[0] * (1 if first.sum() == 0 else -1)
        boards, infos = envs.reset(seed=1, options={"board": board})
        mark = infos["to_play"][0]
        first = boards[infos["to_play"] == mark][:1]
    else:
        envs.reset(seed=1, options={"board": first[0]})
    action = int(game.legal_actions(first)[0].argmax())
    after = game.afterstates(first)[0][:, action]
    following, *_, infos = envs.step(np.full(n, action))
    if isinstance(game, TicTacToe):
        following = following[infos["to_play"] == (-mark if game.side == "both" else mark)]
    parents, boards, probabilities = game.replies(after)
    assert (parents == 0).all()
    assert probabilities.sum() == pytest.approx(1)
    expected = dict(zip(map(np.ndarray.tobytes, boards), probabilities, strict=True))
    assert len(expected) == len(boards)
    found, counts = np.unique(following.astype(boards.dtype), axis=0, return_counts=True)
    for board, count in zip(found, counts, strict=True):
        probability = expected[board.tobytes()]
        deviation = (len(following) * probability * (1 - probability)) ** 0.5
        assert abs(count - len(following) * probability) <= 5 * deviation
    assert len(found) > 0.9 * len(expected)


def test_afterstates_that_end_a_game_have_no_reply():
    won, full = [[1, 1, 1], [-1, -1, 0], [0, 0, 0]], [[1, -1, 1], [1, -1, -1], [-1, 1, 1]]
    for game in (TicTacToe(), TicTacToe("minimax"), TicTacToe(side="both")):
        assert len(game.replies([won, full]).parents) == 0


def reachable_largest(game):
    """Return the largest tile that play can reach, by trying everything."""
    boards, seen = np.zeros((1, *game.shape), np.uint8), set()
    for _ in range(game.start_tiles):
        boards = game.replies(boards).boards
    while len(boards):
        after, _, masks = game.afterstates(boards)
        following = {board.tobytes() for board in game.replies(after[masks > 0]).boards} - seen
        seen |= following
        boards = np.frombuffer(b"".join(following), np.uint8).reshape(-1, *game.shape)
    return max(map(max, seen))


@pytest.mark.parametrize("rules", [RULES_2048, RULES_2584], ids=lambda rules: rules.name)
def test_the_bound_of_the_largest_tile_is_reached_on_small_boards(rules):
    for spawn in (None, {rules.faces[1]: 1.0}, {rules.faces[1]: 0.75, rules.faces[3]: 0.25}):
        game = SlidingGame(rules, (2, 2), spawn)
        assert 0 <= game.largest_tile - reachable_largest(game) <= 1
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
    "got State": lambda state: GAMES[4 if hasattr(state, "boards") else 0].begin([1, 2, 3]),
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
def test_no_game_begins_from_what_is_no_board(game):
    boards = np.zeros((3, *game.shape), int)
    for given in ([boards[:2]], [boards + 99], [boards, -1], [boards, [1]], [None, 5]):
        with pytest.raises(UsageError, match=r"board|score"):
            game.begin([5, 6, 2**63], *given)


def test_games_are_won_at_the_goal_or_by_the_side_that_is_played():
    tiles = {"max_tile": np.array([1024, 1597, 2048, 2584, 4096])}
    assert SlidingGame(RULES_2048).is_success(tiles).tolist() == [False, False, True, False, True]
    assert SlidingGame(RULES_2584).is_success(tiles).tolist() == [False, False, False, True, False]
    infos = {"winner": np.array([1, -1, 0, 1]), "to_play": np.array([1, 1, 1, -1])}
    assert TicTacToe(side="random").is_success(infos).tolist() == [True, False, False, False]
    assert TicTacToe(side="both").is_success(infos).tolist() == [True, True, False, True]
