"""The command line, `python -m benchmarks`: makes the rows of results and the pages."""

from baselines.errors import answering


def main() -> None:
    """Run the command that was typed."""
    with answering("; the same command continues"):
        # A signal may come while these are imported.
        from tile_envs.extras import extra

        with extra("baselines"):
            from benchmarks.commands import run_typed

        run_typed()


if __name__ == "__main__":
    main()
