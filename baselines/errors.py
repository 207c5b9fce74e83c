"""The signal that ends a command."""

import signal


class Interrupted(KeyboardInterrupt):
    """A signal, of this number, has ended a command; a run that it ended can be resumed."""

    def __init__(self, cause: int | KeyboardInterrupt, message: str = "") -> None:
        super().__init__(message)
        number = cause if isinstance(cause, int) else getattr(cause, "number", signal.SIGINT)
        self.number: int = number
