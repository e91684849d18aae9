#!/bin/sh
# Prepares this folder: finds what the machine lacks, makes .venv, builds and installs commentsvc.
#
#   sh config/bootstrap.sh         the program: leaves .venv/bin/commentsvc working
#   sh config/bootstrap.sh demo    and what builds the demo blog (for ./run)
#   sh config/bootstrap.sh test    and what the tests need (for ./test)
#   sh config/bootstrap.sh dev     and the developers' tools; the core keeps its assertions
#
# A level contains those above it. One more is the program and what packs it (`dist`).
# When nothing changed since the last time, this takes a few milliseconds: each level leaves two
# stamps in .venv, one for what is in .venv and one for the machine's packages. A stamp holds the
# checksum of the files that decide what is installed. If packages could not be installed, there is no
# stamp, and the next run tries again. The installation is editable: a changed Python file is used at
# once; if a source of the core changed, the next process that imports the core compiles it first.
#
# pip is called plainly, so that its own settings (files, environment) hold; what it says is in
# build/pip.log. config/packages.sh calls apt, and nothing that it installs is started.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'commentsvc: %s\n' "$*" >&2; }

die() {
    say "$@"
    exit 1
}

level=${1:-core}
case $level in
    core) levels="core" ;;
    demo) levels="core demo" ;;
    dist) levels="core dist" ;;
    test) levels="core demo test" ;;
    dev) levels="core demo test dev" ;;
    *) die "unknown level '$level'; known: core, demo, dist, test, dev" ;;
esac

# Where it does not run, a container does.
container="run it in a container: docker build -t commentsvc . && docker run --rm -p 127.0.0.1:8080:8080 -v comments:/data commentsvc"
[ "$(uname -s)" = Linux ] || die "this is $(uname -s), and the program needs Linux;" "$container"

# The path is part of the stamp: the programs in .venv/bin name their interpreter by it.
stamp=$({ pwd && cat pyproject.toml meson.build meson.options config/backend.py config/bootstrap.sh config/packages.sh config/requirements/*.txt; } | cksum)

# A run as root leaves files that its user cannot change.
if [ "$(id -u)" -ne 0 ]; then
    foreign=$(find . -maxdepth 0 ! -writable -print -quit &&
        find .venv build var -maxdepth 2 ! -type l ! -writable -print -quit 2>/dev/null) || true
    [ -z "$foreign" ] || die "$foreign belongs to somebody else, as after \`sudo ./run\`;" \
        "run: sudo chown -R $(id -un) '$PWD'"
fi

# True when .venv holds the level and stands on an interpreter that still exists.
is_built() {
    [ -x .venv/bin/commentsvc ] && [ -x .venv/bin/python ] &&
        [ "$(cat ".venv/stamp-$level" 2>/dev/null)" = "$stamp" ] &&
        [ -x "$(sed -n 's/^executable = //p' .venv/pyvenv.cfg)" ]
}

# compile_sources: compiles what has changed to bytecode. An editable package reads it, but never
# writes it: without this, each start would compile all modules, which takes longer than the rest.
compile_sources() {
    .venv/bin/python -m compileall -q commentsvc || say "going on without bytecode (slower starts)"
}

# Root gets more packages than a user.
packages_stamp="$stamp $(id -u)"
if is_built && [ "$(cat ".venv/stamp-$level-packages" 2>/dev/null)" = "$packages_stamp" ]; then
    compile_sources
    exit 0
fi
mkdir -p build

# ---------------------------------------------------------------- what the machine lacks

# Prints the name of the first Python that is new enough, or nothing.
find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
}

# Prints the Debian packages without which nothing works here.
missing_packages() {
    python=$(find_python)
    "${python:-false}" -c 'import ensurepip, venv' 2>/dev/null ||
        echo "${python:-python3}-venv"
    "${python:-false}" -c 'import os.path, sysconfig
open(os.path.join(sysconfig.get_path("include"), "Python.h")).close()' 2>/dev/null ||
        echo "${python:-python3}-dev"
    echo '#include <stdio.h>' | ${CC:-cc} -E - >/dev/null 2>&1 ||
        echo gcc libc6-dev
    find /etc/ssl/certs /etc/pki/tls/certs 2>/dev/null | grep -q pem ||
        echo ca-certificates
}

# True when the fuzz targets can be built.
has_fuzzer() {
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null
}

# Prints the packages of the proxies in config/proxy, and of what their tests ask them with.
missing_proxies() {
    for name in nginx caddy haproxy hitch curl; do
        command -v "$name" >/dev/null || [ -x "/usr/sbin/$name" ] || echo "$name"
    done
    command -v certutil >/dev/null || echo libnss3-tools
}

# True when the load test's clients, which speak TLS, can be built.
has_openssl() {
    echo '#include <openssl/ssl.h>' | ${CC:-cc} -E - >/dev/null 2>&1
}

# Ubuntu's package of that name only asks a daemon to fetch the browser from elsewhere; its program
# fails where there is no such daemon.
has_browser() {
    for name in chromium-headless-shell chromium chromium-browser google-chrome; do
        "$name" --version >/dev/null 2>&1 && return
    done
    return 1
}

# The whole browser has a back/forward cache; the one without a window has none.
has_whole_browser() {
    for name in chromium google-chrome; do
        "$name" --version >/dev/null 2>&1 && return
    done
    return 1
}

is_ubuntu() { grep -qx 'ID=ubuntu' /etc/os-release; }

# Prints the Debian packages without which some tests are skipped.
missing_test_packages() {
    has_browser || is_ubuntu || echo chromium-headless-shell fonts-dejavu-core
    has_whole_browser || is_ubuntu || echo chromium
    # Ubuntu has Firefox only as a snap.
    command -v firefox-esr >/dev/null || is_ubuntu || echo firefox-esr
    # It runs an example of the manual.
    command -v php >/dev/null || echo php-cli
    has_openssl || echo libssl-dev
    has_fuzzer || echo clang libclang-rt-dev
    command -v git >/dev/null || echo git
    command -v ab >/dev/null || echo apache2-utils
    command -v wrk >/dev/null || echo wrk
    [ "$(uname -m)" = x86_64 ] || command -v shellcheck >/dev/null || echo shellcheck
    # An older Hugo beside ours, for the Hugo module.
    [ -x /usr/bin/hugo ] || echo hugo
    # Builds a blog with our part for it.
    command -v jekyll >/dev/null || echo jekyll
    # Its IMAP server is started by tests, as an ordinary user.
    [ -x /usr/sbin/dovecot ] || echo dovecot-imapd
    # Its mail server delivers answers, from a temporary folder. There can be only one.
    [ -x /usr/sbin/postfix ] || [ -e /usr/sbin/sendmail ] || echo postfix
    # It is started by tests, as an ordinary user, in a temporary folder.
    [ -d /usr/lib/postgresql ] || echo postgresql
    # A pool in front of it, started in the same way.
    [ -x /usr/sbin/pgbouncer ] || echo pgbouncer
    # Its programs judge our units; as the first process it is not needed.
    command -v systemd-analyze >/dev/null || echo systemd
    # It counts the instructions of a request.
    command -v callgrind_control >/dev/null || echo valgrind
    missing_proxies
    missing_emulator
    missing_engine
}

# Prints what compiles the C tests for 64-bit ARM, and emulates such a processor.
missing_emulator() {
    [ "$(uname -m)" = x86_64 ] || return 0
    command -v aarch64-linux-gnu-gcc >/dev/null || echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    command -v qemu-aarch64-static >/dev/null || echo qemu-user-static
}

# Prints what builds and runs the container image and bare systems. Both need root, and say
# themselves what else they lack.
missing_engine() {
    [ "$(id -u)" -eq 0 ] || return 0
    # Debian 13 keeps the engine, its client and what builds images in packages of their own.
    { [ -x /usr/sbin/dockerd ] || [ -x /usr/bin/dockerd ]; } && command -v docker >/dev/null ||
        echo docker.io docker-cli docker-buildx
    command -v docker-compose >/dev/null || docker compose version >/dev/null 2>&1 || echo docker-compose
    [ -x /usr/sbin/debootstrap ] || echo debootstrap
}

may_install() {
    command -v apt-get >/dev/null && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }
}

install_packages() {
    say "installing with apt: $*"
    sh config/packages.sh "$@"
}

# Prints the lines in which a log names the fault, the last of them.
fault_of() { grep -E '^(E|ERROR): ' "$1" | tail -n 1; }

old=$(python3 --version 2>/dev/null) || old=
if [ -n "$old" ] && [ -z "$(find_python)" ]; then
    die "Python 3.11 or newer is needed, and this machine has $old;" \
        "Debian 12 and Ubuntu 24.04 are the first that bring one"
fi
# Prints what installs the same on systems without apt, or nothing.
other_command() {
    for line in "dnf install python3-devel gcc" "yum install python3-devel gcc" "pacman -S python gcc" \
        "zypper install python3-devel gcc" "apk add python3-dev gcc musl-dev" "emerge dev-lang/python gcc"; do
        ! command -v "${line%% *}" >/dev/null || { echo "$line" && return; }
    done
}

packages=$(missing_packages | tr '\n' ' ')
if [ -n "$packages" ]; then
    if ! command -v apt-get >/dev/null; then
        line=$(other_command)
        die "Python 3.11 or newer with its headers and venv, and a C compiler are needed, and this system has no" \
            "apt to install them. Install them${line:+ (as root: $line)} and try again, or $container"
    fi
    if ! may_install; then
        say "this machine lacks a few packages that only root may install. Run this line, then try again:"
        line="apt-get update && apt-get install -y --no-install-recommends ${packages% }"
        if command -v sudo >/dev/null; then
            printf 'sudo sh -c "%s"\n' "$line"
        else
            printf 'su -c "%s"\n' "$line"
        fi
        exit 1
    fi
    # shellcheck disable=SC2086 # One word each.
    install_packages $packages ||
        die "apt could not install ${packages% }. Is this machine online? $(fault_of build/apt.log)"
    [ -n "$(find_python)" ] ||
        die "Python 3.11 or newer is needed, and this system brings $(python3 --version);" \
            "Debian 12 and Ubuntu 24.04 are the first that bring one"
    packages=$(missing_packages | tr '\n' ' ')
    [ -z "$packages" ] || die "still missing after the installation: $packages"
fi

tries_again=
case $level in
    test | dev)
        packages=$(missing_test_packages | tr '\n' ' ')
        if [ -n "$packages" ]; then
            # shellcheck disable=SC2086 # One word each.
            { may_install && install_packages $packages; } || tries_again=yes
            packages=$(missing_test_packages | tr '\n' ' ')
        fi
        [ -z "$packages" ] ||
            say "going on without: ${packages% } (the tests that need them are skipped)"
        ;;
esac

# ---------------------------------------------------------------- .venv

# One at a time: ./run and ./test may be started together.
exec 9>build/bootstrap.lock
flock 9

# Notes that this system has given all the packages that it can.
note_packages() {
    for name in $levels; do
        [ -n "$tries_again" ] || printf '%s\n' "$packages_stamp" >".venv/stamp-$name-packages"
    done
}

if is_built; then
    compile_sources
    note_packages
    exit 0
fi

if ! { .venv/bin/python -c 'import pip' && grep -qF " $PWD/.venv" .venv/pyvenv.cfg; } 2>/dev/null; then
    say "making .venv"
    "$(find_python)" -m venv --clear .venv
fi

# meson, ninja and the installed program find each other by PATH.
PATH=$PWD/.venv/bin:$PATH
export PATH

# Without isolation: what is built here is built by the tools of config/requirements/build.txt, and
# the editable package goes on using them.
pip_install() {
    python -m pip install --no-input --disable-pip-version-check --no-build-isolation "$@" \
        >>build/pip.log 2>&1
}

# install_locked NAME...: what config/requirements lists, of the versions and hashes given there. The
# bytecode of the tools, of which little is used, is left to Python.
install_locked() {
    for file; do
        case $file in build | runtime) bytecode=--compile ;; *) bytecode=--no-compile ;; esac
        pip_install "$bytecode" --require-hashes --requirement "config/requirements/$file.txt" || return
    done
}

# A developer's build stays one: later starts of ./run and ./test build the core in the same way.
[ "$level" != dev ] || echo debugoptimized >.venv/buildtype
buildtype=$(cat .venv/buildtype 2>/dev/null || echo release)

say "installing commentsvc and what it needs (level $level)"
# meson would keep the old defaults of a build folder it finds. It is moved first, since another
# process may just now be building in it.
mkdir build/old.$$
mv build/cp3* build/old.$$/ 2>/dev/null || true
rm -rf build/old.* || true
install_level() {
    case $1 in
        core)
            install_locked build runtime &&
                pip_install --no-deps "--config-settings=setup-args=-Dbuildtype=$buildtype" --editable . &&
                let_others_import
            ;;
        demo) install_locked demo || command -v hugo >/dev/null ;;
        *) install_locked "$1" ;;
    esac
}

# The import looks for changed sources, and writes a log about it. Who may not write that, since root
# built this, gets no log, so that the program can say to whom its data belongs.
let_others_import() {
    python - <<'END'
import pathlib, sysconfig
pathlib.Path(sysconfig.get_path("purelib"), "a-commentsvc.pth").write_text(
    f"import os; os.access({str(pathlib.Path.cwd() / 'build')!r}, os.W_OK) or"
    " os.environ.setdefault('MESONPY_EDITABLE_VERBOSE', '1')\n"
)
END
}

: >build/pip.log
for name in $levels; do
    install_level "$name" || {
        tail -n 30 build/pip.log >&2
        die "pip could not install what is needed. Is this machine online?" \
            "$(fault_of build/pip.log) (more in build/pip.log)"
    }
done
case $level in
    test | dev)
        # The tests find it where Playwright keeps it.
        if ! has_whole_browser && is_ubuntu && may_install; then
            say "fetching Chromium by Playwright"
            packages=$(playwright install-deps --dry-run chromium | sed -n 's/^  \([a-z0-9.+-]*\)$/\1/p')
            # shellcheck disable=SC2086 # One word each.
            { { [ -z "$packages" ] || install_packages $packages; } &&
                playwright install chromium; } >build/playwright.log 2>&1 || {
                say "going on without a browser: $(tail -n 1 build/playwright.log)"
            }
        fi
        ;;
esac
python -c "import commentsvc" || die "the installed package cannot be imported"
compile_sources

for name in $levels; do
    printf '%s\n' "$stamp" >".venv/stamp-$name"
done
note_packages
say "ready: .venv/bin/commentsvc"
