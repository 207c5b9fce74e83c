"""Starts the server of the games, on the loopback interface by default."""

import argparse
import json
import sys

from tile_envs.base.checks import checked_mapping
from tile_envs.errors import MISTAKE, UsageError, extra, is_mistake, message_of
from tile_envs.games import resolve_id


def main() -> int:
    """Serve until stopped; return the exit status."""
    parser = argparse.ArgumentParser("python -m tile_envs.plug.openenv", description=__doc__)
    parser.add_argument("--env", default="Tiles2048-v0", help="the id of the environment")
    parser.add_argument("--env-kwargs", default="{}", metavar="JSON", help="its options")
    parser.add_argument("--reward", default="score", help="score, log2 or goal: see TextEnv")
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
    parser.add_argument("--port", default=8000, type=int, help="default: %(default)s")
    args = parser.parse_args()
    try:
        with extra("openenv"):
            import uvicorn

            from tile_envs.plug.openenv.server.app import make_app
        try:
            options = checked_mapping(json.loads(args.env_kwargs), "--env-kwargs")
        except json.JSONDecodeError as error:
            raise UsageError(f"--env-kwargs must be JSON, got {args.env_kwargs!r}.") from error
        app = make_app(resolve_id(args.env), args.reward, **options)
    except Exception as error:
        if not is_mistake(error) and not isinstance(error, TypeError):  # Gymnasium's, of an option
            raise
        print(message_of(error), file=sys.stderr)
        return MISTAKE
    uvicorn.run(app, host=args.host, port=args.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
