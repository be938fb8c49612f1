"""How the command ends, by kind of failure."""

from __future__ import annotations

from enum import IntEnum

from relayger.client.errors import APIError, InvalidArgument, NetworkError, RelaygerError


class Exit(IntEnum):
    """The exit codes; scripts may rely on them."""

    FINE = 0
    OTHER = 1  # a thread that ended without an answer, a fault of the service
    USAGE = 2
    NOT_SIGNED_IN = 3
    REFUSED = 4
    NOT_FOUND = 5
    RATE_LIMITED = 6
    NETWORK = 7
    NO_ANSWER_YET = 8


_BY_STATUS = {
    400: Exit.USAGE,
    401: Exit.NOT_SIGNED_IN,
    404: Exit.NOT_FOUND,
    413: Exit.USAGE,
    415: Exit.USAGE,
    429: Exit.RATE_LIMITED,
    502: Exit.NETWORK,
    503: Exit.NETWORK,
    504: Exit.NETWORK,
}


def exit_for(error: RelaygerError) -> Exit:
    """The exit code that tells of an error."""
    if isinstance(error, NetworkError):
        return Exit.NETWORK
    if isinstance(error, InvalidArgument):
        return Exit.USAGE
    if isinstance(error, APIError):
        return _BY_STATUS.get(error.status, Exit.REFUSED if 400 <= error.status < 500 else Exit.OTHER)
    return Exit.OTHER
