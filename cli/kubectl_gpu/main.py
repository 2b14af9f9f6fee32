"""Dispatches `kubectl gpu VERB …` to the module of the verb, which is imported only then."""

import importlib
import sys
from collections.abc import Sequence

from cli.kubectl_gpu.flags import Failure, Parser

COMMAND = "kubectl gpu"
VERBS = {
    "cost": ("cli.kubectl_gpu.cost", "what each pod's deletion costs, why, and which pod goes next"),
}


def usage() -> str:
    """Return the help text."""
    lines = [f"  {verb:<8} {about}" for verb, (_, about) in VERBS.items()]
    head = "GPU placement for Kubernetes, seen from kubectl.\n\nAvailable Commands:\n"
    return head + "\n".join(lines) + f'\n\nUse "{COMMAND} VERB --help" for more about a command.\n'


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; return its exit status, which is 1 for every failure, as kubectl's."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0
    try:
        return _run(words[0], words[1:])
    except Failure as failure:
        sys.stderr.write(f"{failure}\n" if str(failure) else "")
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Who reads has seen enough; the interpreter must not try to flush again.
        sys.stderr.close()
        return 1


def _run(verb: str, words: Sequence[str]) -> int:
    if verb not in VERBS:
        raise Failure(f'error: unknown command "{verb}" for "{COMMAND}"\nSee \'{COMMAND} --help\' for usage.')
    name, about = VERBS[verb]
    module = importlib.import_module(name)
    parser = Parser(f"{COMMAND} {verb}", about)
    module.add_arguments(parser)
    status: int = module.run(parser.read(words))
    return status
