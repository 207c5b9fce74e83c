"""The signal that ends a command."""


class Interrupted(KeyboardInterrupt):
    """A signal, of this number, has ended a command; a run that it ended can be resumed."""

    def __init__(self, number: int, message: str = "") -> None:
        super().__init__(message)
        self.number = number
