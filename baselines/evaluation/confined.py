"""The process of a submission: it confines itself, and answers boards until it is ended.

It runs on the standard library alone, but for classes: seeds of games stay with the judge.
"""

import codecs
import json
import operator
import os
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from traceback import walk_tb
from types import CodeType, ModuleType
from typing import Any

STRATEGY, PROBABILITIES, SUFFIX = "strategy", "probabilities", ".py"
VALUES = "afterstate_values"
METHODS = "predict", "action_probabilities", VALUES
"""What a class is asked by: for its actions, exactly, or, without `predict`, to play greedily."""
AGENT = re.compile(
    r"(?m)^((async +)?def +strategy\b|strategy *[:=]"
    r"|[ \t]+def +(predict|choose_actions|action_values|action_probabilities|afterstate_values)\b)"
)
"""What defines an agent: a `strategy`, or a method of a class that plays, whose `predict` may be
that of its base."""
MAX_TEXT, MAX_NUMBER, MAX_FILE = 200, 199, 1 << 20
"""The most characters of an answer or an error, the largest number, and bytes of Python."""
FENCED = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
"""A block of code in an answer of a language model."""
IS_ASYNC = 0x2A0  # flags of the code of coroutines, asynchronous generators and generators


def serve(boards: int, answers: int) -> None:
    """Confine this process, then answer lists of boards, from and to file descriptors, for ever."""
    # Lines of JSON hold the arguments of `confine`, those of `loaded`, and then lists of boards.

    def tell(**message: Any) -> None:
        os.write(answers, json.dumps(message).encode() + b"\n")

    from baselines.evaluation.confinement import confine  # late: where `__main__` says it is

    folder = ""
    try:
        messages = map(json.loads, os.fdopen(boards))
        first = next(messages)
        folder, unlimited = confine(**first)
        for name in [name for name in sys.modules if name.partition(".")[0] == "baselines"]:
            del sys.modules[name]  # of which a submission sees less
        tell(unlimited=unlimited)
        answer = loaded(folder, first.get("files", ()), **next(messages))
        tell(kind=answer.__name__)
        for message in messages:
            tell(answers=answer(message))
    except BaseException as error:
        at = "" if isinstance(error, SyntaxError) else line_of(error, folder)
        error.__traceback__ = None  # which would keep what has filled the memory
        tell(error=f"{type(error).__name__}: {error}"[:MAX_TEXT].rstrip(": ") + at)
    finally:
        os._exit(0)


def line_of(error: BaseException, folder: str) -> str:
    """Return the last line of a submission's own code that an error went through, as words."""
    at = ""
    for frame, line in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file == STRATEGY or (folder and file.startswith(f"{folder}/")):
            at = f" ({file.removeprefix(f'{folder}/')}, line {line})"
    return at


def loaded(
    folder: str, files: Sequence[str], source: str, made_with: Mapping[str, Any] | None
) -> Callable[[Any], list[Any]]:
    """Load a source, or files of which one defines the agent; return what answers boards."""
    module = sys.modules[STRATEGY] = ModuleType(STRATEGY)  # where dataclasses look for theirs
    file, python = STRATEGY, [name for name in files if name.lower().endswith(SUFFIX)]
    if python:
        texts = {name: text_of(Path(folder, name)) for name in python}
        agents = [name for name in python if AGENT.search(texts[name])] if python[1:] else python
        if len(agents) != 1:
            raise NameError(f"one file must define the agent, found {', '.join(agents) or 'none'}")
        file, source = os.path.join(folder, agents[0]), texts[agents[0]]
        module.__file__ = file
        sys.path[:0] = [os.path.dirname(file)] * bool(python[1:])
    exec(code_of(source, file), vars(module))
    found = {n: each for n, each in vars(module).items() if made_with and is_agent(each)}
    if callable(play := getattr(module, STRATEGY, None)):
        found[STRATEGY] = play
    if len(found) != 1:
        wanted = f"class with {' or '.join(METHODS)}, or " * bool(made_with)
        told = ", ".join(found) or "none"
        raise NameError(f"expected one {wanted}function strategy(board), found {told}")
    if made_with and STRATEGY not in found:
        return answering(*found.values(), **made_with)
    if getattr(getattr(play, "__code__", None), "co_flags", 0) & IS_ASYNC:
        raise TypeError("strategy is async or a generator: expected a function with an answer")

    def strategy(boards: Any) -> list[Any]:
        return [as_answer(found[STRATEGY](board)) for board in boards]

    return strategy


def text_of(path: Path) -> str:
    """Return the text of a file of Python, in the encoding of its byte order mark, or UTF-8."""
    if (size := path.stat().st_size) > MAX_FILE:
        raise OSError(f"{path.name} has {size / (1 << 20):,.1f} MiB, expected at most 1")
    content = path.read_bytes()
    is_wide = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return content.decode("utf-16" if is_wide else "utf-8-sig", errors="replace")


def code_of(source: str, file: str) -> CodeType:
    """Compile a source; of an answer with words around it, its last fenced block."""
    try:
        return compile(source, file, "exec", dont_inherit=True)
    except SyntaxError:
        if not (blocks := FENCED.findall(source)):
            raise
        return compile(textwrap.dedent(blocks[-1][1]), file, "exec", dont_inherit=True)


def is_agent(value: Any) -> bool:
    """Tell whether a value is a class of the source, not an imported one, that can be asked."""
    is_own = isinstance(value, type) and value.__module__ == STRATEGY
    return is_own and any(hasattr(value, method) for method in METHODS)


def as_answer(answer: Any) -> str | int:
    """Return an answer as a text or an integer, -1 for anything else."""
    if isinstance(answer, str):
        return answer[:MAX_TEXT]
    with suppress(TypeError):
        number = int(operator.index(answer))  # numpy's as well
        return number if abs(number) <= MAX_NUMBER else -1
    return -1


def answering(kind: type[Any], game: str, seed: int, exact: bool) -> Callable[[Any], list[Any]]:
    """Make an agent, `kind(game, seed)`; return its `actions`, or if exact its `probabilities`.

    Without `predict`, these are the actions with the highest reward plus `afterstate_values`.
    """
    import numpy as np  # late: strategies do without

    from baselines.agents import game_from_json, instance
    from tile_envs.agents import ask
    from tile_envs.base.checks import shaped_actions

    own = game_from_json(game)
    agent, dtype = instance(kind, {"game": own, "seed": seed}), own.observation_space.dtype

    def probabilities(boards: Any) -> list[Any]:
        return list(np.asarray(agent.action_probabilities(np.array(boards, dtype))).tolist())

    def actions(boards: Any) -> list[Any]:
        observations = np.array(boards, dtype)
        chosen, state = ask(agent, observations, own.legal_actions(observations))
        if state is not None:
            raise ValueError("predict returns a state: a submission is a function of the board")
        return list(shaped_actions(chosen, len(boards)).tolist())

    def greedy(boards: Any) -> list[Any]:
        afterstates, rewards, masks = own.afterstates(np.array(boards, dtype))
        legal, q = masks > 0, np.full(masks.shape, -np.inf)
        values = np.asarray(agent.afterstate_values(afterstates[legal]), np.float64)
        if values.shape != (n := legal.sum(),) or not np.isfinite(values).all():
            got = f"shape {values.shape}" if values.shape != (n,) else "NaN or infinity"
            raise ValueError(f"{VALUES} of {n} boards must be {n} finite numbers, got {got}")
        q[legal] = rewards[legal] + values
        return list(q.argmax(axis=1).tolist())

    if exact and hasattr(agent, "action_probabilities"):
        return probabilities
    if hasattr(agent, "predict"):
        return actions
    if not hasattr(agent, VALUES):
        raise TypeError("action_probabilities are graded exactly: add --exact, or define predict")
    return greedy


if __name__ == "__main__":
    sys.path.append(sys.argv[3])
    serve(*map(int, sys.argv[1:3]))
