"""The command line, `python -m benchmarks`: makes the rows of results and the pages."""

from baselines.command_line import answering


def main() -> None:
    """Run the command that was typed."""
    with answering("; the same command continues"):
        from benchmarks.commands import run_typed  # a signal may come while this is imported

        run_typed()


if __name__ == "__main__":
    main()
