"""A language model as agent: it is asked for each move through an OpenAI-compatible endpoint."""

import json
import os
import threading
import time
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from tile_envs.base import checks
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.sliding.game import SlidingGame
from tile_envs.text import describe_actions, parse, show

SLIDING = (
    "You play {game}: a move slides all tiles in one direction, and those that merge add up to "
    "points. Play for the highest score. A point is an empty cell."
)
TICTACTOE = "You play {game} as X against O. Free cells show their numbers."
POSITION = "\n\n{board}\n\nLegal moves: {legal}. Answer with one of them in brackets: [{first}]."
TRANSIENT = (408, 429, 500, 502, 503, 504)
"""The status of requests that are worth another try."""
FIRST_WAIT, LONGEST_TIMEOUT = 0.5, 1e6
"""Seconds before a request is sent again, and the most that are handed to a socket."""
TOKENS = ("prompt_tokens", "completion_tokens")
OPENAI = "https", "api.openai.com"
LOOPBACK = "127.0.0.1", "localhost", "::1"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirection, which would take the key to another address."""


class LanguageModel:
    """Asks a language model for each move; a random one replaces an answer that names no legal one.

    Rows of results have its `usage`: requests, tokens of prompts and of completions, and moves that
    were replaced.

    Args:
        game: The game.
        seed: The seed of the moves that are played in place of the model's.
        url: The endpoint, to which `/chat/completions` is added.
        model: The model's name.
        key: The environment variable with the key, which goes by https or to this machine; by
            default `OPENAI_API_KEY` for https://api.openai.com, and no key elsewhere.
        body: More entries of each request, such as `{"temperature": 0}`.
        at_once: The most requests at a time.
        timeout: Seconds to wait for an answer.
        retries: How often a request that failed is sent again, after waiting 0.5, 1, 2 … seconds.
        log: The file that prompts and answers are added to, a line of JSON for each request.
    """

    def __init__(
        self,
        game: Game,
        seed: int = 0,
        url: str = "http://127.0.0.1:8000/v1",
        model: str = "",
        key: str | None = None,
        body: Mapping[str, Any] | None = None,
        at_once: int = 16,
        timeout: float = 60.0,
        retries: int = 3,
        log: str = "runs/prompts.jsonl",
    ) -> None:
        parts = urlsplit(url if isinstance(url, str) else "")
        if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
            raise UsageError(f"url must be http://… or https://… without a password, got {url!r}.")
        self.game, self._url = game, url.rstrip("/") + "/chat/completions"
        self._body = {"model": model, **checks.checked_mapping(body, "body")}
        self._timeout = min(checks.checked_number(timeout, "timeout"), LONGEST_TIMEOUT)
        if key is None and (parts.scheme, parts.hostname) == OPENAI:
            key = "OPENAI_API_KEY"
        if key and parts.scheme != "https" and parts.hostname not in LOOPBACK:
            raise UsageError(f"key={key!r} needs a url with https, got {url!r}: or leave it out.")
        self._key = os.environ.get(key, "").strip() if key else ""
        if not (self._key.isascii() and self._key.isprintable()):  # errors of a header show it
            raise UsageError(f"the key in {key} must be printable ASCII characters: set it anew.")
        self._at_once = checks.checked_count(at_once, "at_once")
        self._retries = checks.checked_integer(retries, "retries")
        self._rng = np.random.default_rng(checks.checked_seed(seed))
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._log = Path(log)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self.usage = dict.fromkeys(("requests", *TOKENS, "replaced"), 0)

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], Any]:
        """Return an action for each observation, `(n,)`, or for a single one, and `state`."""
        boards = np.asarray(observation)
        if boards.ndim == 2:  # rows and columns of a single one
            return self.choose_actions(boards[None])[0], state
        return self.choose_actions(boards), state

    def choose_actions(self, boards: NDArray[Any]) -> NDArray[np.int64]:
        """Ask for an action for each board, `(n,)`, many at a time."""
        masks, actions = self.game.legal_actions(boards), np.zeros(len(boards), np.int64)
        pool, over = ThreadPoolExecutor(self._at_once), threading.Event()
        try:
            with self._log.open("a", encoding="utf-8") as log:
                for i, entry in enumerate(pool.map(self._ask, boards, masks, repeat(over))):
                    log.write(self._without_key(json.dumps(entry)) + "\n")
                    for name in self.usage.keys() & entry.keys():
                        self.usage[name] += entry[name]
                    try:
                        actions[i] = parse(self.game, entry["answer"], masks[i], match="last")
                    except ValueError:
                        self.usage["replaced"] += 1
                        legal = np.flatnonzero(masks[i])
                        actions[i] = self._rng.choice(legal) if len(legal) else 0
        finally:
            over.set()
            pool.shutdown(wait=False, cancel_futures=True)
        return actions

    def _ask(self, board: Any, mask: Any, over: threading.Event) -> dict[str, Any]:
        """Return a request about a board, and the model's answer."""
        rules = SLIDING if isinstance(self.game, SlidingGame) else TICTACTOE
        legal = describe_actions(mask)
        words = {"board": show(self.game, board), "legal": legal, "first": legal.partition(",")[0]}
        prompt = rules.format(game=self.game) + POSITION.format(**words)
        began = time.perf_counter()
        sent = {**self._body, "messages": [{"role": "user", "content": prompt}]}
        completion = self._completion(sent, over)
        try:
            answer = str(completion["choices"][0]["message"]["content"] or "")
            used = completion.get("usage") or {}
            tokens = {name: int(used.get(name) or 0) for name in TOKENS}
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            raise self._error(f"sends no chat completion: {checks.brief(completion)}") from None
        seconds = round(time.perf_counter() - began, 3)
        return {**sent, "answer": answer, "seconds": seconds, "requests": 1, **tokens}

    def _completion(self, sent: Mapping[str, Any], over: threading.Event) -> Any:
        """Send a request, several times if need be until all is over; return what comes back."""
        headers = {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self._key}"} if self._key else {}
        request = urllib.request.Request(self._url, json.dumps(sent).encode(), headers)
        for attempt in range(self._retries + 1):
            if attempt and over.wait(FIRST_WAIT * 2 ** (attempt - 1)):
                break
            try:
                with self._opener.open(request, timeout=self._timeout) as response:
                    return json.load(response)
            except HTTPError as error:
                reason = f"answers {error.code}: {error.read(1000).decode(errors='replace')}"
                if error.code not in TRANSIENT:
                    break
            except (OSError, HTTPException, ValueError, RecursionError) as error:  # or no JSON
                reason = f"gives no answer: {error}"
        raise self._error(reason)

    def _error(self, reason: str) -> UsageError:
        return UsageError(self._without_key(f"the endpoint {self._url} {reason}"))

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text
