#!/bin/sh
# Prints the version of these sources. It comes from git: each release has a tag, such as v1.0.0.
#
#   1.0.0                      the commit with the tag v1.0.0
#   1.0.1.dev7+g1a2b3c4d       the seventh commit after it
#   1.0.0.dev1234+g1a2b3c4d    the 1234th commit, before there is a tag
#
# In an archive it is what config/VERSION says: `git archive` writes a line of `git describe` there, and
# config/backend.py, which makes the source archive, the version itself.
#
# With the argument npm, as npm wants versions (semver.org): 1.0.1-dev.7+g1a2b3c4d.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
if [ "${1:-}" = npm ]; then
    version=$(sh config/version.sh)
    echo "$version" | sed "s/\.dev/-dev./"
    exit
fi
first=1.0.0
read -r found <config/VERSION || [ -n "$found" ]
case $found in
    v* | [0-9]*) ;; # an archive
    *)
        if { [ -e .git ] && commit=$(git rev-parse --short=8 HEAD) && all=$(git rev-list --count HEAD); } 2>/dev/null; then
            found=$(git describe --tags --abbrev=8 --match 'v[0-9]*.[0-9]*.[0-9]*' --exclude '*[!v0-9.]*' 2>/dev/null) || {
                found=$first.dev$all+g$commit
                [ "$(git rev-parse --is-shallow-repository)" = false ] ||
                    echo "config/version.sh: this clone lacks the tags: git fetch --unshallow --tags" >&2
            }
        fi
        ;;
esac
case $found in
    v*-*-g*)
        tag=${found%-*-g*}
        commits=${found#"$tag"-}
        tag=${tag#v}
        echo "${tag%.*}.$((${tag##*.} + 1)).dev${commits%-*}+${commits#*-}"
        ;;
    v*) echo "${found#v}" ;;
    [0-9]*) echo "$found" ;;
    *) echo "$first.dev0" ;; # sources that were copied without git, or archived before there was a tag
esac
