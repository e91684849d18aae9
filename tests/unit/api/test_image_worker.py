"""What the image worker makes of pictures: all that people send, and hostile files."""

import subprocess
import sys
import zlib
from io import BytesIO
from pathlib import Path
from struct import pack
from typing import Any, Literal

import pytest
from PIL import Image, ImageCms, PngImagePlugin

from commentsvc.api import image_worker
from commentsvc.api.image_worker import BYTES, SIDE, TooLargeError, convert

SECRET = b"52.5200 N 13.4050 E"


def picture(kind: str, size: tuple[int, int] = (40, 30), mode: str = "RGB", **how: object) -> bytes:
    output = BytesIO()
    Image.new(mode, size, "red" if mode != "1" else 1).save(output, kind, **how)
    return output.getvalue()


def made(content: bytes) -> Image.Image:
    size, _, file = convert(content).partition(b"\n")
    image = Image.open(BytesIO(file))
    assert (image.format, b"%dx%d" % image.size) == ("WEBP", size)
    return image


def with_exif() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    exif[0x010E] = SECRET.decode()
    return picture("JPEG", exif=exif.tobytes(), comment=SECRET)


def with_text() -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", SECRET.decode())
    return picture("PNG", pnginfo=info)


def chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, rows: bytes) -> bytes:
    """Return a grey PNG of that size with these rows, which may be too few."""
    head = pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def animated(kind: str) -> bytes:
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue")]
    output = BytesIO()
    frames[0].save(output, kind, save_all=True, append_images=frames[1:], duration=100)
    return output.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_each_kind_becomes_webp(kind: str) -> None:
    assert made(picture(kind)).size == (40, 30)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "CMYK"])
def test_each_mode_becomes_webp(mode: str) -> None:
    kind = "JPEG" if mode == "CMYK" else "PNG"
    output = BytesIO()
    Image.new(mode, (5, 4)).save(output, kind)
    assert made(output.getvalue()).size == (5, 4)


def test_nothing_but_pixels_survives() -> None:
    turned = convert(with_exif())
    assert turned.startswith(b"30x40\n")
    hidden = [with_text(), picture("GIF", comment=SECRET), picture("PNG") + SECRET, with_exif()]
    polyglot = picture("PNG") + b"<script>alert(1)</script>PK\x03\x04" + SECRET
    for content in (*hidden, polyglot):
        file = convert(content)
        assert SECRET in content or b"52.5200" in content
        assert b"52.5200" not in file
        assert b"<script" not in file
        assert not made(content).getexif()


def test_a_large_picture_is_made_smaller() -> None:
    assert made(picture("JPEG", (4_000, 3_000))).size == (SIDE, 1_200)
    assert made(picture("PNG", (100, 3_200))).size == (50, SIDE)


def test_a_file_has_a_bound_whatever_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Image.effect_noise((900, 900), 200)
    output = BytesIO()
    noise.save(output, "PNG")
    assert len(convert(output.getvalue())) <= BYTES + 20
    monkeypatch.setattr(image_worker, "BYTES", 1_000)
    with pytest.raises(TooLargeError):
        convert(output.getvalue())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF89a",
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        picture("PNG")[:-30],
        picture("JPEG", (400, 300))[:300],
        picture("BMP"),
        picture("TIFF"),
        animated("GIF"),
        animated("PNG"),
        animated("WEBP"),
        png(5_000, 5_000, b"\0"),
        b"%PDF-1.7\n" + picture("JPEG"),
    ],
    ids=range(12),
)
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises((OSError, ValueError)):
        convert(content)


@pytest.mark.parametrize(
    "bomb",
    [
        png(60_000, 60_000, bytes(10_000_000)),
        png(25_001, 1_000, b""),
        picture("JPEG", (50_001, 1_000)),
    ],
    ids=["flood", "just", "JPEG"],
)
def test_a_bomb_is_refused_by_its_head(bomb: bytes) -> None:
    with pytest.raises(TooLargeError):
        convert(bomb)


def run(content: bytes, script: str) -> bytes:
    command = [sys.executable, "-I", script]
    return subprocess.run(command, input=content, capture_output=True, check=False).stdout


def test_the_process_says_what_became_of_a_picture() -> None:
    script = image_worker.__file__
    assert run(picture("PNG"), script).startswith(b"40x30\nRIFF")
    assert run(png(60_000, 60_000, b""), script) == b"too large"
    assert run(b"no picture", script) == b""


def with_profile(kind: str, space: Literal["LAB", "XYZ", "sRGB"]) -> bytes:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile(space))
    return picture(kind, icc_profile=profile.tobytes())


@pytest.mark.parametrize(
    "content",
    [
        *(picture(kind) for kind in ("JPEG", "MPO", "PNG", "WEBP", "GIF")),
        *(picture("GIF", mode=mode) for mode in ("1", "L", "P", "RGBA")),
        *(picture("PNG", mode=mode) for mode in ("1", "LA", "P", "I;16")),
        *(with_profile("JPEG", "LAB"), with_profile("PNG", "sRGB"), with_profile("WEBP", "sRGB")),
        *(with_exif(), with_text(), picture("JPEG", (3_000, 40), "CMYK", progressive=True)),
    ],
    ids=range(19),
)
def test_the_closed_in_process_makes_the_same_of_a_picture(content: bytes) -> None:
    """Of Pillow, nothing can be loaded any more; it loads some things as late as a picture."""
    assert run(content, image_worker.__file__) == convert(content)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_picture_with_a_broken_colour_profile_is_taken(kind: str) -> None:
    for profile in (
        b"no profile" * 50,
        ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()[:200],
    ):
        image = made(picture(kind, icc_profile=profile))
        assert "icc_profile" not in image.info


@pytest.mark.parametrize("bound", ["MEMORY = 120 << 20", "SECONDS = 0"])
def test_the_process_has_bounds(tmp_path: Path, bound: str) -> None:
    """A picture of 24 million pixels does not fit into less memory, and needs more time."""
    text = Path(image_worker.__file__).read_text()
    name = bound.partition(" =")[0]
    before = next(line for line in text.splitlines() if line.startswith(f"{name} ="))
    script = tmp_path / "worker.py"
    script.write_text(text.replace(before, bound))
    assert run(png(4_900, 4_900, bytes(4_900 * 4_901)), str(script)) == b""


@pytest.mark.parametrize(
    ("kind", "side", "how"),
    [
        ("WEBP", 5_000, {"lossless": True}),
        ("PNG", 5_000, {}),
        ("JPEG", 7_071, {"progressive": True, "subsampling": 0}),
    ],
)
def test_no_picture_takes_more_than_half_a_gigabyte(
    kind: str, side: int, how: dict[str, Any]
) -> None:
    """A WebP file of 2 KB took 770 MiB, and where memory was short, it ended the service."""
    command = [sys.executable, "-I", "-c", MEASURE, image_worker.__file__]
    content = picture(kind, (side, side), **how)
    done = subprocess.run(command, input=content, capture_output=True, check=True)
    assert done.stdout.startswith(b"1600x1600\n")
    assert int(done.stderr) < 512 << 10


# A small process between, since a child is counted with the memory of its parent at first.
MEASURE = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-I", sys.argv[1]])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


CLOSED_IN = """
import ctypes, importlib.util, os, resource, signal, socket, sys
spec = importlib.util.spec_from_file_location("worker", sys.argv[1])
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
call = ctypes.CDLL(None, use_errno=True)
def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "")
no_file = (resource.RLIMIT_NOFILE, (64, 64))
assert worker._close_in()
tries = {
    "socket": lambda: socket.socket(),
    "unix socket": lambda: socket.socket(socket.AF_UNIX),
    "pair": socket.socketpair,
    "file": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "folder": lambda: os.open("/", os.O_RDONLY),
    "environment": lambda: os.open("/proc/self/environ", os.O_RDONLY),
    "new file": lambda: os.open("/tmp/x", os.O_WRONLY | os.O_CREAT),
    "pipe": os.pipe,
    "copy": lambda: os.dup(0),
    "copy over": lambda: os.dup2(0, 1),
    "status": lambda: os.stat("/etc/passwd"),
    "removal": lambda: os.unlink("/tmp/x"),
    "link": lambda: os.symlink("/tmp/x", "/tmp/y"),
    "root": lambda: os.chroot("/"),
    "program": lambda: os.execv("/bin/true", ["true"]),
    "process": lambda: os.fork() or os._exit(0),
    "limit": lambda: resource.setrlimit(*no_file),
    "limit of another": lambda: resource.prlimit(os.getppid(), *no_file),
    "signal": lambda: os.kill(os.getppid(), signal.SIGCONT),
    "user": lambda: checked(call.setuid(0)),
    "namespace": lambda: checked(call.unshare(0x10000000)),
    "trace": lambda: checked(call.ptrace(16, os.getppid(), 0, 0)),
    "mount": lambda: checked(call.mount(b"none", b"/mnt", b"tmpfs", 0, 0)),
    "filter": lambda: checked(call.prctl(22, 0, 0, 0, 0)),
}
for name, work in tries.items():
    try:
        work()
    except (OSError, ValueError):
        continue
    print(name)
print(sorted(set(os.environ) - {"LC_CTYPE"}))
"""


def test_a_hostile_picture_reaches_no_file_socket_process_limit_or_environment() -> None:
    """CI runs this as root, who could undo a mere limit of descriptors."""
    command = [sys.executable, "-I", "-c", CLOSED_IN, image_worker.__file__]
    done = subprocess.run(command, capture_output=True, check=True, env={}, cwd="/", text=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("closed", "status"), [(True, 0), (False, image_worker.UNFILTERED)])
def test_the_worker_closes_itself_in_before_it_reads_a_picture(
    monkeypatch: pytest.MonkeyPatch, closed: bool, status: int
) -> None:
    done: list[str] = []

    def close_in() -> bool:
        done.append("close in")
        return closed

    def convert(_content: bytes) -> bytes:
        done.append("convert")
        return b""

    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    monkeypatch.setattr("pathlib.Path.write_text", lambda *_: 0)
    monkeypatch.setattr(image_worker, "_close_in", close_in)
    monkeypatch.setattr(image_worker, "convert", convert)
    monkeypatch.setattr(image_worker, "sys", _Streams())
    assert image_worker.main() == status
    assert done == ["close in", "convert"]


def test_no_filter_is_made_for_an_unknown_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert not image_worker._filter_calls()


class _Streams:
    """Standard input and output, which are empty."""

    class _Stream:
        buffer = BytesIO()

    stdin = stdout = _Stream()
