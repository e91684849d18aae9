#!/bin/sh
# Makes the Debian and the RPM package, by nfpm.
#
#   sh config/package/build.sh WHEEL FOLDER     writes commentsvc_VERSION_amd64.deb and
#                                               commentsvc-VERSION-1.x86_64.rpm into FOLDER
#
# The wheel is for Python's stable ABI, so that one package is for all versions of Python (tree.py).
set -eu
wheel=$(readlink -f "$1")
folder=$(readlink -f "$2")
cd "$(dirname "$0")/../.."
PATH=$PWD/.venv/bin:$PATH
: "${SOURCE_DATE_EPOCH:=$(date +%s)}"
VERSION=$(sh config/version.sh npm)
case $(uname -m) in
    x86_64) ARCH=amd64 ;;
    aarch64) ARCH=arm64 ;;
    *) echo "commentsvc: no packages for $(uname -m)" >&2 && exit 1 ;;
esac
export PATH SOURCE_DATE_EPOCH VERSION ARCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python config/package/tree.py "$wheel" "$work/root"

# units FOLDER GROUP: the units of a package, with the service's own user.
units() {
    mkdir -p "$work/$1"
    for unit in config/systemd/commentsvc*; do
        sed -e 's|/opt/commentsvc/bin|/usr/bin|' -e 's|^DynamicUser=yes|User=commentsvc|' \
            -e '/^# The program is in a virtual environment/d' -e "s|^SocketGroup=.*|SocketGroup=$2|" \
            "$unit" >"$work/$1/${unit##*/}"
    done
}
units deb www-data
units rpm commentsvc # there, each proxy has a group of its own

# What `commentsvc init` writes, and both packages take for a file of settings.
python -c 'from commentsvc.cli.setup import SHORT; print(SHORT, end="")' >"$work/commentsvc.toml"
cat >"$work/changelog.yaml" <<END
- semver: $VERSION
  date: $(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
  packager: the commentsvc authors <commentsvc@blog.example>
  changes:
    - note: see /usr/share/doc/commentsvc/CHANGELOG.md.gz
END
gzip --no-name --best --stdout CHANGELOG.md >"$work/CHANGELOG.md.gz"
cp config/package/copyright config/package/deb/overrides "$work"
# Each file gets the moment of the release, so that two builds are the same.
find "$work" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
for packager in deb rpm; do
    sed -e "s|@work@|$work|" -e "s|@kind@|$packager|" config/package/nfpm.yaml >"$work/nfpm.yaml"
    nfpm package --config "$work/nfpm.yaml" --packager "$packager" --target "$folder"
done
