"""The command line, `python -m benchmarks`: makes the rows of results and the pages."""

import sys

from baselines.__main__ import handle_errors


def report() -> None:
    """Write the tables and figures of README.md and of the pages in `benchmarks` from the rows."""
    from benchmarks.report import write_pages

    write_pages()


def main() -> None:
    with handle_errors("; the same command continues"):
        # A signal may come while these are imported.
        from tile_envs.errors import extra

        with extra("baselines"):
            from baselines.commands import parse
            from benchmarks.run import run

        description = "Make the rows of results, and the pages that show them."
        parse((run, report), "python -m benchmarks", description, sys.argv[1:])()


if __name__ == "__main__":
    main()
