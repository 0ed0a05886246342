"""Reads PDFs and source code in a child process, with limits of time and memory.

pdfium and the parsers of languages are native code: a page can make it unpack gigabytes, run for
minutes or crash, and nothing in the same process could stop it. The child reads one file after the
other; of a PDF it sends each page at once, so that the pages before a failure are not lost.
"""

from __future__ import annotations

import sys

from kinen.errors import Unreadable
from kinen.model.late import Any, contextlib, json
from kinen.text import budget

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

    from kinen.extract.code import Symbol
    from kinen.model.documents import Extract

SECONDS = 10
MEMORY_MB = 400
TURNS = 200
"""PDFs that a child reads before it is replaced, because pdfium leaks memory."""


class Reader:
    """Reads PDFs and source code through a child, which is started when first needed."""

    def __init__(self, seconds: int = SECONDS, memory_mb: int = MEMORY_MB) -> None:
        self._seconds = seconds
        self._memory = memory_mb
        self._process: subprocess.Popen[bytes] | None = None
        self._turns = 0

    def pdf(self, data: bytes, most: int = budget.TEXT) -> tuple[Extract, bool]:
        """The text of a PDF, and whether it is complete.

        Raises Unreadable if there is no text. After a timeout or crash, the pages so far count.
        """
        from kinen.extract import pdf

        if self._turns >= TURNS:
            self.close()
        messages, reason = self._ask("pdf", str(most), data)
        self._turns += 1
        pages = [message["page"] for message in messages if "page" in message]
        last = messages[-1] if messages else {}
        if "unreadable" in last:
            raise Unreadable(last["unreadable"])
        if "metadata" in last:
            return pdf.assemble(pages, last["metadata"], last["cut"]), True
        cut = f"{reason} at page {len(pages) + 1}"
        if not any(pages):
            raise Unreadable(cut)
        return pdf.assemble(pages, {}, f"only the first {len(pages)} pages were read: {cut}"), False

    def symbols(self, data: bytes, suffix: str) -> list[Symbol]:
        """The symbols of a source file; raises Unreadable if it cannot be parsed."""
        from kinen.extract.code import Symbol

        messages, reason = self._ask("code", suffix, data)
        answer = messages[-1] if messages else {"unreadable": reason}
        if "unreadable" in answer:
            raise Unreadable(answer["unreadable"])
        return [Symbol(*row) for row in answer["symbols"]]

    def close(self) -> None:
        process = self._process
        self._process = None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()

    def _ask(self, form: str, option: str, data: bytes) -> tuple[list[dict[str, Any]], str]:
        """The messages of the child about a file, and why there are no more if it failed."""
        import subprocess
        import threading

        if self._process is None or self._process.poll() is not None:
            self.close()
            self._turns = 0
            command = [sys.executable, "-m", "kinen.extract.child", str(self._memory)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        process = self._process
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._seconds, stop)
        timer.start()
        messages: list[dict[str, Any]] = []
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(f"{form} {len(data)} {option}\n".encode() + data)
                process.stdin.flush()
            for line in process.stdout:
                with contextlib.suppress(ValueError):  # killed in the middle of a line
                    messages.append(json.loads(line))
                if not line.endswith(b"\n") or "page" not in messages[-1]:
                    break
        finally:
            timer.cancel()
        if messages and "page" not in messages[-1]:
            return messages, ""
        self.close()
        if late.is_set():
            return messages, f"reading it took more than {self._seconds} s (index.file_seconds)"
        return messages, f"it needs more than {self._memory} MB (index.file_memory_mb), or crashes"


def main(memory_mb: int) -> None:
    """The child: reads files from standard input, each after a line with form, length and option.

    The option is the most characters of a PDF, and the suffix of a source file.
    """
    most = memory_mb << 20
    # On Windows only the time is limited; elsewhere a lower limit may hold already.
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stdin = sys.stdin.buffer
    while head := stdin.readline():
        form, length, option = head.decode().split()
        data = stdin.read(int(length))
        try:
            if form == "pdf":
                from kinen.extract import pdf

                metadata, cut = pdf.read(data, int(option), lambda page: _send(page=page))
                _send(metadata=metadata, cut=cut)
            else:
                from kinen.extract.code import symbols

                _send(symbols=symbols(data, option))
        except Unreadable as error:
            _send(unreadable=error.message)


def _send(**message: Any) -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
