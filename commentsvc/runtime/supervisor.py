"""The supervisor of several processes on one machine: `serve --processes N`, with PostgreSQL.

The supervisor opens the listening sockets and starts N instances of the service, which all accept
connections from them. In shared memory they see how many connections each has, so that all get as
many. The first one starts alone, since it makes the tables. An instance that ends
is started again, after pauses that grow; connections that nobody has accepted wait in the socket
meanwhile, and the other instances accept them. The supervisor has no part in requests.

    DATA/control.sock      the supervisor: passes commands on to an instance, hands over
    DATA/control-K.sock    instance K
    DATA/lock, lock-K      held by the supervisor, and by instance K

With `--take-over`, a new supervisor gets the listening sockets and the lock from the former one.
Then each new instance takes over from the former instance of the same number, with its idle
connections, while the others serve. If a new instance fails, the new supervisor ends, and the
former one starts the instances again that are missing.

If the service manager watches the supervisor (WatchdogSec=), this watches the instances: one whose
event loop does not answer a ping for as long is killed, and started again.

The standard input of an instance is a pipe from the supervisor: when the supervisor dies, the
instances stop. On its standard output an instance says that it is ready, in one line.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from commentsvc.db.lock import Lock
from commentsvc.http.bridge import COUNT_BYTES, Sockets, close_all
from commentsvc.http.listening import open_listeners, unix_path
from commentsvc.runtime import control, handover, process
from commentsvc.runtime.control import Control, ControlError, NoServer, Request
from commentsvc.runtime.control_commands import CommandResult
from commentsvc.runtime.handover import InheritedState
from commentsvc.runtime.systemd import Notifier
from commentsvc.settings import data_dir
from commentsvc.settings.schema import ServerSettings
from commentsvc.util.threads import PROCESS, run_in

_log = logging.getLogger(__name__)

# Seconds before an instance that ended is started again; they double until LONGEST_PAUSE.
FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 30.0
# Seconds after which an instance that ends has not failed at its start.
SETTLED: Final = 60.0
# Seconds for running commands at a stop.
COMMAND_GRACE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to start: `command` is that of an instance, without its number and sockets.

    `announce` is called with the address when all instances are ready.
    """

    data: Path
    processes: int
    command: Sequence[str]
    server: ServerSettings
    announce: Callable[[str], None]
    manager: Notifier
    takes_over: bool


@dataclass(slots=True)
class _Instance:
    """An instance, by its number, and the process that runs it now."""

    number: int
    process: Process | None = None
    pause: float = 0.0  # seconds before the last start
    ready: asyncio.Event = field(default_factory=asyncio.Event)


def run(plan: Plan) -> int:
    """Supervise until a signal, or a new supervisor, asks to stop; return the exit code.

    Raise OSError, ControlError, DatabaseError or SocketsUnusable if it cannot start. If an instance
    cannot, it has said why.
    """
    process.set_up_logging()
    return asyncio.run(_Supervisor(plan).run())


class _Supervisor:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._instances = [_Instance(number) for number in range(1, plan.processes + 1)]
        self._listeners: tuple[int, ...] = ()
        self._counts = -1
        self._address = ""
        self._control: Control | None = None
        self._lock = -1
        self._are_ready = asyncio.Event()
        self._is_started = False
        self._has_failed = False
        self._successor: asyncio.Task[None] | None = None
        self._is_replaced = False

    async def run(self) -> int:
        plan = self._plan
        self._stop_requested = process.expect_stop()
        data_dir.prepare(plan.data)
        async with AsyncExitStack() as stack:
            passed = plan.manager.sockets()
            inherited, talk = await self._inherit()
            if talk is not None:
                stack.callback(talk.close)
            self._lock = stack.enter_context(Lock(plan.data, inherited.lock)).fileno()
            self._listeners = passed or inherited.sockets.listeners or open_listeners(plan.server)
            stack.callback(self._let_go, borrowed=bool(passed))
            self._counts = os.memfd_create("connections")
            stack.callback(os.close, self._counts)
            os.ftruncate(self._counts, COUNT_BYTES * plan.processes)
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self._pass_on)
            keeping = [asyncio.create_task(self._keep(each)) for each in self._instances]
            stack.push_async_callback(self._stop, keeping)
            if not await self._all_ready():
                return int(self._has_failed)
            await self._listen()
            stack.push_async_callback(self._close_control)
            stack.enter_context(_ready(plan, self._address))
            if talk is not None:
                talk.sendall(handover.READY)
            for watch in (plan.manager.watch(), *map(self._watch, self._instances)):
                stack.callback(asyncio.create_task(watch).cancel)
            await self._stop_requested.wait()
        return 0

    async def _inherit(self) -> tuple[InheritedState, socket.socket | None]:
        """Get the listening sockets and the lock of a supervisor that is to be replaced."""
        plan = self._plan
        if plan.takes_over:
            path = plan.data / data_dir.CONTROL
            with contextlib.suppress(NoServer):
                return await run_in(
                    PROCESS, handover.take_over, path, plan.manager.address, several=True
                )
        return InheritedState(), None

    async def _all_ready(self) -> bool:
        """Wait until all instances are ready; return False after a failure or a signal."""
        events = (self._stop_requested, self._are_ready)
        waiting = [asyncio.create_task(event.wait()) for event in events]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        self._is_started = not self._stop_requested.is_set()
        return self._is_started

    async def _keep(self, instance: _Instance) -> None:
        """Start an instance, and start it again whenever it ended, until the supervisor stops."""
        if instance.number > 1:
            await self._instances[0].ready.wait()  # it makes the tables
        takes_over = self._plan.takes_over
        loop = asyncio.get_running_loop()
        while not self._stop_requested.is_set():
            began = loop.time()
            code = await self._live(instance, takes_over=takes_over)
            takes_over = False
            if self._successor is not None:  # a new supervisor's instance may have its place
                await self._successor
            if self._stop_requested.is_set():
                return
            if not self._is_started:
                self._has_failed = True
                self._stop_requested.set()
                return
            instance.pause = pause = next_pause(instance.pause, loop.time() - began)
            _log.warning(
                "process %d ended (%s) and is started again in %g s",
                instance.number,
                f"signal {-code}" if code < 0 else f"exit code {code}",
                pause,
            )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stop_requested.wait()

    async def _watch(self, instance: _Instance) -> None:
        """Kill the process of an instance whenever it hangs, as the service manager would.

        Return at once if the service manager does not watch.
        """
        patience = self._plan.manager.watchdog
        path = self._plan.data / data_dir.control_socket(instance.number)
        while patience:
            await asyncio.sleep(patience / 2)
            child = instance.process
            hangs = await run_in(PROCESS, control.hangs, path, patience)
            if hangs and child is not None and child is instance.process:
                _log.error("process %d does not answer and is killed", instance.number)
                child.kill()

    async def _live(self, instance: _Instance, *, takes_over: bool) -> int:
        """Start an instance and wait until it ends; return its exit code."""
        words = [*self._plan.command, f"--instance={instance.number}"]
        words += [f"--inherited={','.join(map(str, self._listeners))}"]
        words += [f"--counts={self._counts},{self._plan.processes}"]
        words += ["--take-over"] * takes_over
        passed = (*self._listeners, self._counts)
        # A group of its own, so that Control+C in a terminal reaches it only once.
        child = await asyncio.create_subprocess_exec(
            *words, stdin=PIPE, stdout=PIPE, pass_fds=passed, process_group=0
        )
        instance.process = child
        if self._stop_requested.is_set():
            child.terminate()
        assert child.stdout is not None, "it is a pipe"
        line = (await child.stdout.readline()).decode()
        if line:
            self._address = line.split()[-1]
            instance.ready.set()
            if all(each.ready.is_set() for each in self._instances):
                self._are_ready.set()
        code = await child.wait()
        instance.process = None
        # A signal may have left it no time to remove its socket; of a new supervisor's instance it
        # has the same path.
        if code < 0 and self._successor is None and not self._is_replaced:
            (self._plan.data / data_dir.control_socket(instance.number)).unlink(missing_ok=True)
        return code

    async def _stop(self, keeping: Sequence[asyncio.Task[None]]) -> None:
        """Stop all instances, which answer what they have read; wait for their end."""
        self._stop_requested.set()
        self._plan.manager.notify("STOPPING=1")
        process.end_at_once()
        self._signal(signal.SIGTERM)
        for task in keeping:
            if not self._instances[0].ready.is_set():
                task.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)

    def _pass_on(self) -> None:
        self._signal(signal.SIGUSR1)

    def _signal(self, number: signal.Signals) -> None:
        for instance in self._instances:
            if instance.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    instance.process.send_signal(number)

    async def _listen(self) -> None:
        ready = CommandResult(
            address=self._address,
            proxy_header=self._plan.server.proxy_protocol,
            manager=self._plan.manager.address,
        )
        self._control = Control(
            self._plan.data / data_dir.CONTROL,
            execute=self._execute,
            ready=ready,
            accept=self._accept,
            several=True,
        )
        await self._control.start()

    async def _close_control(self) -> None:
        if self._control is not None:
            await self._control.stop(COMMAND_GRACE)
            self._control = None

    async def _execute(self, order: Request) -> CommandResult:
        """Let an instance execute a command. Raise ControlError."""
        for instance in self._instances:
            with contextlib.suppress(NoServer):
                path = self._plan.data / data_dir.control_socket(instance.number)
                return await run_in(PROCESS, control.ask, path, order)
        raise ControlError("no process is ready")

    def _accept(self, successor: socket.socket) -> bool:
        """Begin to hand over to a new supervisor; return False if that is not possible now."""
        if self._stop_requested.is_set() or self._successor is not None:
            return False
        self._successor = asyncio.create_task(self._hand_over(successor))
        return True

    async def _hand_over(self, successor: socket.socket) -> None:
        """Give a new supervisor what it needs; stop when it is ready, else go on."""
        await self._close_control()  # the new one listens at the same path
        borrowed = bool(self._plan.manager.sockets())
        state = InheritedState(Sockets(self._listeners, (), borrowed), lock=self._lock)
        if await run_in(PROCESS, handover.give, successor, state):
            self._is_replaced = True
            self._stop_requested.set()
        else:
            await self._listen()
        self._successor = None

    def _let_go(self, *, borrowed: bool) -> None:
        """Close the listening sockets, and remove the path of one that nobody else uses."""
        path = unix_path(self._plan.server.listen)
        if path and not borrowed and not self._is_replaced:
            path.unlink(missing_ok=True)
        close_all(self._listeners)


def next_pause(pause: float, lived: float) -> float:
    """Return the seconds before an instance starts again that `lived` so long, after a `pause`."""
    return FIRST_PAUSE if lived > SETTLED else min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * pause))


@contextlib.contextmanager
def _ready(plan: Plan, address: str) -> Iterator[None]:
    plan.announce(address)
    plan.manager.notify("READY=1", f"MAINPID={os.getpid()}")
    yield
