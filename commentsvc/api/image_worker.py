"""Image worker: a process of its own that makes a new, small WebP file of one uploaded picture.

It reads the picture from its input, and writes ``WIDTHxHEIGHT``, a line break and the new file;
`TOO_LARGE` for a picture that is too large; nothing for another one that it cannot use. Only pixels
survive: no metadata, and nothing that was hidden in or behind the picture. The process has
bounds for memory and CPU time, so a hostile file ends this process and nothing else. It has no
environment, may have no further descriptors, and, also as root, may make no system calls but CALLS:
it opens no file and no socket, starts no program, and changes no other process and no limit. If the
kernel refuses this, it exits with UNFILTERED. `api.images` starts it as a script: it imports
nothing of ours.
"""

import ctypes
import platform
import resource
import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from struct import pack

from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError

KINDS = ("JPEG", "PNG", "WEBP", "GIF")
# Pixels of an uploaded picture. The cameras of phones make JPEGs with 12 to 50 million, which are
# read with fewer. Other kinds are read whole, and WebP takes 16 bytes for each pixel.
JPEG_PIXELS = 50_000_000
PIXELS = 25_000_000
SIDE = 1_600  # pixels of the longer side of the new picture
BYTES = 400_000  # of the new file
# Qualities and longer sides; the next pair is used if a file is too large.
ATTEMPTS = ((80, SIDE), (60, SIDE), (60, 1_200), (50, 800), (30, 400))
MEMORY = 640 << 20  # bytes of address space
SECONDS = 10  # of CPU time
TOO_LARGE = b"too large"
UNFILTERED = 3  # the exit status of a worker that could make other system calls, too
# The system calls that a worker may make once it has loaded Pillow: it reads, writes, gets memory
# and exits. With the architectures of linux/audit.h, and numbers as in their asm/unistd.h.
CALLS = {
    "x86_64": (
        0xC000003E,
        {"read": 0, "write": 1, "close": 3, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11}
        | {"brk": 12, "rt_sigreturn": 15, "mremap": 25, "madvise": 28, "exit": 60, "futex": 202}
        | {"clock_gettime": 228, "exit_group": 231, "getrandom": 318},
    ),
    "aarch64": (
        0xC00000B7,
        {"read": 63, "write": 64, "close": 57, "lseek": 62, "mmap": 222, "mprotect": 226}
        | {"munmap": 215, "brk": 214, "rt_sigreturn": 139, "mremap": 216, "madvise": 233}
        | {"exit": 93, "futex": 98, "clock_gettime": 113, "exit_group": 94, "getrandom": 278},
    ),
}
# Of linux/prctl.h, linux/seccomp.h and linux/bpf_common.h.
SET_SECCOMP, SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
ALLOW, FAIL = 0x7FFF0000, 0x00050001  # a call that fails gets EPERM
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER_AT, ARCHITECTURE_AT = 0, 4  # in struct seccomp_data


class TooLargeError(Exception):
    """The picture has too many pixels, or too much detail for BYTES."""


def convert(content: bytes) -> bytes:
    """Return the size and the new file. Raise TooLargeError, and others for an unusable picture."""
    try:
        image: Image.Image = Image.open(BytesIO(content), formats=KINDS)
    except Image.DecompressionBombError as error:
        raise TooLargeError from error
    if image.width * image.height > (JPEG_PIXELS if image.format == "JPEG" else PIXELS):
        raise TooLargeError
    if image.format in ("GIF", "PNG", "WEBP") and getattr(image, "n_frames", 1) > 1:
        raise UnidentifiedImageError  # it is animated
    image.draft("RGB", (SIDE, SIDE))  # a JPEG is read with fewer pixels
    if image.mode not in ("RGB", "RGBA"):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    image.thumbnail((SIDE, SIDE), reducing_gap=2.0)
    image = _in_srgb(ImageOps.exif_transpose(image))
    image.info.clear()
    for quality, side in ATTEMPTS:
        image.thumbnail((side, side))
        output = BytesIO()
        image.save(output, "WEBP", quality=quality, exif=b"", icc_profile=b"", xmp=b"")
        if output.tell() <= BYTES:
            return b"%dx%d\n%b" % (*image.size, output.getvalue())
    raise TooLargeError


def answer(content: bytes) -> bytes:
    """Return what this process says of a picture: see above."""
    try:
        return convert(content)
    except TooLargeError:
        return TOO_LARGE
    except Exception:
        return b""


def _in_srgb(image: Image.Image) -> Image.Image:
    """Return an image with the colours that browsers assume of a file without a profile."""
    profile = image.info.get("icc_profile")
    if not profile:
        return image
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile))
        made = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"))
    except (ImageCms.PyCMSError, OSError):  # one for other kinds of pictures, or a broken one
        return image
    return made or image


def _filter_calls() -> bool:
    """Forbid this process all system calls but CALLS; return False if that is not possible.

    See seccomp(2). The filter needs no privilege, and nobody can remove it.
    """
    if platform.machine() not in CALLS or sys.maxsize < 1 << 32:
        return False
    architecture, calls = CALLS[platform.machine()]
    number = len(calls)
    steps = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_IF_EQUAL, 0, number + 1, architecture),
        (LOAD, 0, 0, NUMBER_AT),
        *((JUMP_IF_EQUAL, number - i, 0, call) for i, call in enumerate(calls.values())),
        (RETURN, 0, 0, FAIL),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(pack("=HBBI", *step) for step in steps))
    program = pack("@HP", len(steps), ctypes.addressof(code))  # a struct sock_fprog
    prctl = ctypes.CDLL(None).prctl
    prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # else the next call needs CAP_SYS_ADMIN
    return bool(prctl(SET_SECCOMP, FILTER, program, 0, 0) == 0)


def _close_in() -> bool:
    """Let this process open nothing more; return whether it can make no call but CALLS either.

    All that Pillow needs is loaded before; some of it only a picture of that kind loads.
    """
    Image.init()
    ImageCms.createProfile("sRGB")
    for kind in KINDS:
        picture = BytesIO()
        Image.new("RGB", (1, 1)).save(picture, kind)
        convert(picture.getvalue())
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return _filter_calls()


def main() -> int:
    """Convert the picture of the standard input; return the exit status."""
    with suppress(OSError):  # where memory is short, this process goes, and not the service
        Path("/proc/self/oom_score_adj").write_text("1000")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    filtered = _close_in()
    sys.stdout.buffer.write(answer(sys.stdin.buffer.read()))
    return 0 if filtered else UNFILTERED


if __name__ == "__main__":
    sys.exit(main())
