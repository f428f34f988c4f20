"""How a command says what went wrong."""


class CommandError(Exception):
    """Printed as one line, ``cenote COMMAND: …``; the exit code is 1."""
