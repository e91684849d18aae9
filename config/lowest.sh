#!/bin/sh
# Prepares build/lowest: a virtual environment with the lowest versions of everything that we need
# (config/requirements/lowest.txt) on the oldest Python of this machine that we support.
#
#   make lowest     runs the tests in it
#
# Debian 12 has the oldest Python 3.11 that we know. Where there is only a newer Python, that one is
# taken; the first line says which.
set -eu
cd "$(dirname "$0")/.."
folder=$PWD/build/lowest

say() { printf 'lowest: %s\n' "$*"; }

# Prints the version and path of each Python on the PATH that we support and that can build us.
pythons() {
    printf '%s:/usr/bin\n' "$PATH" | tr ':' '\n' | while read -r directory; do
        for name in python3 python3.11 python3.12 python3.13 python3.14; do
            [ -x "$directory/$name" ] || continue
            "$directory/$name" -c 'import ensurepip, os.path, sys, sysconfig, venv
is_usable = sys.version_info >= (3, 11) and sys.prefix == sys.base_prefix
if is_usable and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    print("%d.%d.%d" % sys.version_info[:3], sys.executable)' 2>/dev/null || continue
        done
    done
}

oldest=$(pythons | sort -V | head -n 1)
if [ -z "$oldest" ]; then
    say "no Python here is 3.11 or newer and has its modules venv and its headers (Debian: python3-venv python3-dev)"
    exit 1
fi
say "Python $oldest, and the lowest versions that pyproject.toml admits"

stamp=$({ pwd && echo "$oldest" && cat pyproject.toml meson.build meson.options config/backend.py \
    config/lowest.sh config/requirements/lowest.txt; } | cksum)
if [ "$(cat "$folder/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$folder"
    "${oldest#* }" -m venv "$folder"
    install() {
        "$folder/bin/python" -m pip install --no-input --disable-pip-version-check \
            --no-build-isolation --no-compile "$@" >>"$folder/pip.log" 2>&1
    }
    # ninja is that of .venv, which is on the PATH of ./test.
    PATH=$folder/bin:$PWD/.venv/bin:$PATH
    export PATH
    # Some tools of the tests come as sources, whose builds need a part of the first two files.
    if ! { install --require-hashes --requirement config/requirements/build.txt &&
        install --require-hashes --requirement config/requirements/runtime.txt &&
        install --require-hashes --requirement config/requirements/lowest.txt &&
        install --no-deps "--config-settings=builddir=$folder/core" \
            --config-settings=setup-args=-Dbuildtype=release --editable .; }; then
        tail -n 30 "$folder/pip.log"
        say "pip could not install what is needed; is this machine online?"
        exit 1
    fi
    echo "$stamp" >"$folder/stamp"
fi
# Compiles the core if it changed, once, rather than in several tests at a time.
"$folder/bin/python" -c 'import commentsvc._core'
