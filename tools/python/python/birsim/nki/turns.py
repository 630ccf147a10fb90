"""The cores of a launch take turns: one traces at a time, always in the same order."""

from __future__ import annotations

import threading
from typing import Any, Callable

__all__ = ["Turns"]


class _Abandoned(BaseException):
    """Leaves a kernel whose other core has raised."""


class Turns:
    """Calls a kernel once for every core.

    Core 1 usually follows when core 0 has ended. When core 0 asks for a value that depends on the other core, that one is traced on a
    thread of its own up to where it asks for a value itself, and so on.
    """

    def __init__(self, launch: Any, cores: int, call: Callable[[], Any]) -> None:
        self.launch, self.cores, self.call = launch, cores, call
        self.done = [False] * cores
        self.results: list[Any] = [None] * cores
        self.error: BaseException | None = None
        self.thread: threading.Thread | None = None
        self.turn = 0
        self.over = False
        self.changed = threading.Condition()
        self.stood: dict[int, Any] = {}

    def _trace(self, core: int) -> None:
        before = self.launch.enter(core)
        try:
            self.results[core] = self.call()
        finally:
            self.launch.leave(before)
            self.done[core] = True

    def run(self) -> Any:
        """The result of core 0."""
        try:
            self._trace(0)
            if self.cores > 1:
                if self.thread is None:
                    self._trace(1)
                elif not self.done[1]:
                    self._switch(1, wait_for=lambda: self.done[1])
        except BaseException:
            self._abandon()
            raise
        if self.thread is not None:
            self.thread.join()
        if self.error is not None:
            raise self.error
        return self.results[0]

    def _other(self) -> None:
        try:
            self._await(1)
            self._trace(1)
        except _Abandoned:
            pass
        except BaseException as e:  # noqa: BLE001  it is raised again on the caller's thread
            self.error = e
        finally:
            with self.changed:
                self.done[1] = True
                self.turn = 0
                self.changed.notify_all()

    def _await(self, core: int) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.turn == core or self.over)
        if self.over and core == 1:
            raise _Abandoned

    def _switch(self, other: int, wait_for: Callable[[], bool] | None = None) -> None:
        me = 1 - other
        with self.changed:
            self.turn = other
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.over or (self.turn == me and (wait_for is None or wait_for())))
        if self.over and me == 1:
            raise _Abandoned

    def _abandon(self) -> None:
        with self.changed:
            self.over = True
            self.changed.notify_all()
        if self.thread is not None:
            self.thread.join()

    def give(self, core: int) -> bool:
        """Core `core` waits for the other one: lets that one trace on. False when it cannot help."""
        other = 1 - core
        if self.cores < 2 or self.done[other]:
            return False
        stand = (self.launch.instructions(), self.launch.traced())
        if self.stood.get(core) == stand:
            return False
        self.stood[core] = stand
        if self.thread is None and core == 0:
            self.thread = threading.Thread(target=self._other, name="birsim-core-1", daemon=True)
            self.thread.start()
        self._switch(other)
        if self.error is not None:
            raise self.error
        return True
