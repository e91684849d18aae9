#!/bin/sh
# Prints the version of these sources, by which pip knows that a later commit is newer.
#
#   0.1.0                      the commit with the tag v0.1.0, or sources without git
#   0.1.0.post5+g1a2b3c4d      the fifth commit after that tag
#   0.1.0.dev1234+g1a2b3c4d    the 1234th commit, before there is that tag
#
# With the argument npm, as npm wants versions (semver.org): 0.1.0-dev.1234+g1a2b3c4d.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
[ "${1:-}" != npm ] || exec sh -c 'sh "$0" | sed "s/\.dev/-dev./; s/\.post\([0-9]*\)+/+post.\1./"' config/version.sh
if ! { [ -e .git ] && commit=$(git rev-parse --short=8 HEAD) && all=$(git rev-list --count HEAD); } 2>/dev/null; then
    echo "$version"
elif ! since=$(git rev-list --count "v$version..HEAD" 2>/dev/null); then
    echo "$version.dev$all+g$commit"
elif [ "$since" = 0 ]; then
    echo "$version"
else
    echo "$version.post$since+g$commit"
fi
