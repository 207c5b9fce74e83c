"""The command line, `python -m baselines`: trains, evaluates and plays with agents."""

from baselines.errors import handle_errors


def main() -> None:
    """Run the command that was typed."""
    with handle_errors():
        # Late: a signal may come while modules are imported.
        from tile_envs.errors import extra

        with extra("baselines"):
            from baselines.commands import run_typed

        run_typed()


if __name__ == "__main__":
    main()
