"""Image worker: a process of its own that makes a new, small WebP file of one uploaded picture.

It reads the picture from its input, and writes ``WIDTHxHEIGHT``, a line break and the new file;
`TOO_LARGE` for a picture that is too large; nothing for another one that it cannot use. Only pixels
survive: no metadata, and nothing that was hidden in or behind the picture. The process has
bounds for memory and CPU time, so a hostile file ends this process and nothing else. It has no
environment, and cannot open a file or a socket: it may have no further descriptors. `api.images`
starts it as a script: it imports nothing of ours.
"""

import resource
import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path

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


def _in_srgb(image: Image.Image) -> Image.Image:
    """Return an image with the colours that browsers assume of a file without a profile."""
    profile = image.info.get("icc_profile")
    if not profile:
        return image
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile))
        made = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"))
    except ImageCms.PyCMSError:  # one for other kinds of pictures, or a broken one
        return image
    return made or image


def _close_in() -> None:
    """Let this process open nothing more; all that Pillow needs is loaded before."""
    Image.init()
    ImageCms.createProfile("sRGB")
    Image.new("RGB", (1, 1)).save(BytesIO(), "WEBP")
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Convert the picture of the standard input."""
    with suppress(OSError):  # where memory is short, this process goes, and not the service
        Path("/proc/self/oom_score_adj").write_text("1000")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    _close_in()
    try:
        made = convert(sys.stdin.buffer.read())
    except TooLargeError:
        made = TOO_LARGE
    except Exception:
        made = b""
    sys.stdout.buffer.write(made)


if __name__ == "__main__":
    main()
