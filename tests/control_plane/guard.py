"""A process that runs one server and stops it when the process that asked for it is gone. Standard library only.

Run as `guard.py LOG GRACE_SECONDS COMMAND…`: its first line of output is the server's process id, its exit code the
server's.

Its standard input is a pipe whose other end only the caller holds: the kernel closes that end on any death of the
caller, SIGKILL too. PR_SET_PDEATHSIG alone would not do, since that signal comes when the *thread* that forked ends,
and control planes are started from threads; here it only ties the server to this guard, which has a single thread.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1


def die_with_guard() -> None:
    """Ask the kernel to kill this process once the guard is dead."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def wait(server: subprocess.Popen[bytes]) -> None:
    """Return when the server has ended or the caller has closed its end of the pipe."""
    ended = os.pidfd_open(server.pid)
    select.select([sys.stdin, ended], [], [])


def stop(server: subprocess.Popen[bytes], grace_seconds: float) -> int:
    """End the server politely, then not; give its exit code."""
    server.terminate()
    try:
        return server.wait(grace_seconds)
    except subprocess.TimeoutExpired:
        server.kill()
        return server.wait()


def main(log: str, grace_seconds: str, *command: str) -> int:
    """Run the server until it ends or the caller does."""
    with open(log, "ab") as output:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=die_with_guard
        )
    print(server.pid, flush=True)
    wait(server)
    code = stop(server, float(grace_seconds))
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
