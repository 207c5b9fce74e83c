"""The command line, `python -m benchmarks`: makes the rows of results and the pages."""

from baselines.errors import handle_errors


def report() -> None:
    """Write the tables of README.md and benchmarks/README.md from the rows."""
    from benchmarks.report import write_pages

    write_pages()


def main() -> None:
    """Run the command that was typed."""
    with handle_errors("; the same command continues"):
        # A signal may come while these are imported.
        from tile_envs.extras import extra

        with extra("baselines"):
            import tyro

            from benchmarks.run import command

        tyro.extras.subcommand_cli_from_dict(
            {"run": command, "report": report},
            prog="python -m benchmarks",
            description="Make the rows of results, and the pages that show them.",
        )


if __name__ == "__main__":
    main()
