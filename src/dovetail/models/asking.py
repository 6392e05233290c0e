"""Sends many conversations to a model at once; replies come as they are ready."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread

from dovetail.errors import ModelError
from dovetail.ports import LLM, Completion, Message

Reply = Completion | ModelError


def ask_all(
    llm: LLM, conversations: Sequence[Sequence[Message]], *, workers: int, max_tokens: int
) -> Generator[tuple[int, Reply], None, None]:
    """Each conversation's number with its reply, or with the error it ended in.

    Closing the generator asks no more. The threads end with the process, so that an interrupt
    does not wait for a model.
    """
    todo: SimpleQueue[int] = SimpleQueue()
    for number in range(len(conversations)):
        todo.put(number)
    replies: SimpleQueue[tuple[int, Completion | Exception]] = SimpleQueue()
    closed = Event()

    def work() -> None:
        while not closed.is_set():
            try:
                number = todo.get_nowait()
            except Empty:
                return
            try:
                replies.put((number, llm.complete(conversations[number], max_tokens=max_tokens)))
            except Exception as error:  # noqa: BLE001 - raised where the replies are taken
                replies.put((number, error))

    for _ in range(max(1, min(workers, len(conversations)))):
        Thread(target=work, daemon=True).start()
    try:
        for _ in conversations:
            number, reply = replies.get()
            if isinstance(reply, Exception) and not isinstance(reply, ModelError):
                raise reply
            yield number, reply
    finally:
        closed.set()
