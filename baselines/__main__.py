"""The command line, `python -m baselines`: trains, evaluates and plays with agents."""

from baselines.command_line import answering


def main() -> None:
    """Run the command that was typed."""
    with answering():
        from baselines.commands import run_typed  # a signal may come while this is imported

        run_typed()


if __name__ == "__main__":
    main()
