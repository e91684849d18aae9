"""Firefox, driven over its own protocol, Marionette: Playwright knows only builds of its own.

A message is a JSON array after its length: `[0, number, command, arguments]`, and for the answer
`[1, number, error, result]`. The commands are those of WebDriver.
"""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import find_program
from tests.e2e.program import wait_for

PREFERENCES = {
    "marionette.port": 0,  # any; it stands in a file then
    "network.cookie.cookieBehavior": 1,  # third-party cookies are blocked
}


class Firefox:
    """One window, and those that it opens."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._file = self._socket.makefile("rb")
        self._receive()  # which names the protocol
        self._number = 0
        self._ask("WebDriver:NewSession", capabilities={})

    def _receive(self) -> Any:  # Any: JSON
        size = b""
        while (character := self._file.read(1)).isdigit():
            size += character
        assert character == b":", "Firefox has ended"
        return json.loads(self._file.read(int(size)))

    def _ask(self, command: str, **arguments: object) -> Any:  # Any: JSON
        self._number += 1
        message = json.dumps([0, self._number, command, arguments]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._receive()
        if error:
            raise LookupError(f"{command}: {error['message']}")
        return result

    def visit(self, address: str) -> None:
        """Open a page in this window."""
        self._ask("WebDriver:Navigate", url=address)

    def click(self, xpath: str) -> None:
        """Click the first such element, when it is there and nothing moves it any more."""
        found = self._find(xpath)
        wait_for(self._is_loaded, "the page")
        self._ask("WebDriver:ElementClick", id=found)

    def run(self, script: str, *values: object) -> Any:  # Any: JSON
        """Run the body of a function in the page; return what it returns."""
        return self._ask("WebDriver:ExecuteScript", script=script, args=values)["value"]

    def _is_loaded(self) -> bool:
        return bool(self.run("return document.readyState") == "complete")

    def write(self, xpath: str, text: str) -> None:
        """Type a text into the first such element, when it is there."""
        self._ask("WebDriver:ElementSendKeys", id=self._find(xpath), text=text)

    def wait(self, xpath: str) -> None:
        """Wait for such an element."""
        self._find(xpath)

    def _find(self, xpath: str) -> str:
        found: list[str] = []

        def is_found() -> bool:
            elements = self._ask("WebDriver:FindElements", using="xpath", value=xpath)
            found.extend(name for element in elements for name in element.values())
            return bool(found)

        wait_for(is_found, xpath)
        return found[0]

    def switch(self, windows: int) -> None:
        """Wait until there are so many windows; go on in the newest."""
        handles: list[str] = []

        def is_found() -> bool:
            handles[:] = self._ask("WebDriver:GetWindowHandles")
            return len(handles) == windows

        wait_for(is_found, f"{windows} windows")
        self._ask("WebDriver:SwitchToWindow", handle=handles[-1])

    def cookies(self) -> list[str]:
        """Return the names of the cookies of the page in this window."""
        return [cookie["name"] for cookie in self._ask("WebDriver:GetCookies")]

    def close(self) -> None:
        """End the session."""
        self._file.close()
        self._socket.close()


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """Start Firefox with a new profile in that folder; third-party cookies are blocked."""
    program = find_program("firefox-esr", "firefox")
    profile.mkdir()
    lines = [f"user_pref({json.dumps(key)}, {value});\n" for key, value in PREFERENCES.items()]
    (profile / "user.js").write_text("".join(lines))
    words = ("--headless", "--marionette", "--no-remote", "--profile", str(profile))
    process = subprocess.Popen(
        [program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        port = profile / "MarionetteActivePort"
        wait_for(lambda: port.exists() and port.read_text() != "", "Firefox")
        with closing(Firefox(int(port.read_text()))) as browser:
            yield browser
    finally:
        process.kill()
        process.wait()
