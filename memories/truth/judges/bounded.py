"""Calls that may never end, so that whoever makes one waits no longer than they want to."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from memories.truth.judges.base import JudgeAway, JudgeFailed

LATE = "The judge gave no verdict in time."
LONGEST_KEPT = 60.0
"""Seconds: who waits longer than this always gets a call, however slow the last one was."""
LONGER = 1.1
"""Times the patience that was not enough: about as much is not enough either."""
MOMENT = 0.1
TURN = 0.25
"""Of the patience, for which a free place is waited for."""


class Bounded:
    """At most `places` calls at once, each in a thread of its own; a late result is dropped.

    A call that cannot be stopped keeps its place, so that calls do not pile up behind a model that hangs. Who has
    less time than the last call took is turned away at once instead of waiting in vain.
    """

    def __init__(self, *, places: int) -> None:
        self._free = threading.Semaphore(places)
        self._took = 0.0

    def run[T](self, call: Callable[[float], T], *, patience: float) -> T:
        """`call` is given the monotonic time by which it is to end. Raises JudgeFailed and what the call raises."""
        deadline = time.monotonic() + patience
        if patience < self._took:
            raise JudgeAway("The judge is slower than that.")
        if not self._free.acquire(timeout=patience * TURN):
            raise JudgeAway("The judge is busy.")
        answer: Future[T] = Future()
        threading.Thread(target=self._work, args=(call, deadline, answer), name="judge", daemon=True).start()
        try:
            return answer.result(timeout=max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            self._note_late(patience)
            raise JudgeFailed(LATE) from None
        except JudgeFailed:  # the call may notice its end a moment earlier
            if time.monotonic() > deadline - patience * MOMENT:
                self._note_late(patience)
            raise

    def _note_late(self, patience: float) -> None:
        self._took = max(self._took, min(patience * LONGER, LONGEST_KEPT))

    def _work[T](self, call: Callable[[float], T], deadline: float, answer: Future[T]) -> None:
        started = time.monotonic()
        try:
            result = call(deadline)
        except BaseException as error:  # noqa: BLE001 - raised where the result is waited for
            answer.set_exception(error)
        else:
            self._took = min(time.monotonic() - started, LONGEST_KEPT)
            answer.set_result(result)
        finally:
            self._free.release()
