#!/bin/sh
# Makes a release of the commit that git has here, which must have its tag: everything that is
# published, in dist/.
#
#   sh config/release.sh     config/dist.sh, config/package/build.sh (not with --without-packages),
#                            and: the list of what it contains (CycloneDX), the notes, SHA256SUMS;
#                            at the end, the commands that publish it
#
# It publishes nothing itself. The same commit gives the same files, on the same system.
set -eu
cd "$(dirname "$0")/.."

die() {
    printf 'commentsvc: no release is made: %s\n' "$*" >&2
    exit 1
}

# notes VERSION: prints the section of CHANGELOG.md about it.
notes() {
    awk -v version="$1" '/^## / { found = $2 == version; next } found' CHANGELOG.md
}

[ -e .git ] || die "this is no clone, and a release is made of a commit with a tag"
changed=$(git status --porcelain | head -n 3)
[ -z "$changed" ] || die "these files differ from the commit; commit or remove them:
$changed"
version=$(sh config/version.sh)
case $version in
    *.dev*) die "the commit has no tag and would be $version; CONTRIBUTING.md says how to make one" ;;
esac
[ -n "$(notes "$version")" ] || die "CHANGELOG.md has no section '## $version'; name its section 'Unreleased' so"

sh config/bootstrap.sh dist
PATH=$PWD/.venv/bin:$PATH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export PATH SOURCE_DATE_EPOCH
fault=$(python -m tests.unit.db.migrations.stored "$version" 2>&1) || die "$fault"

{
    sh config/dist.sh dist
    [ "${1:-}" = --without-packages ] || sh config/package/build.sh dist/*.whl dist
} >build/release.log
notes "$version" >dist/release-notes.md
sed "s/^dynamic = .*/version = \"$version\"/" pyproject.toml >build/pyproject.toml
cyclonedx-py requirements config/requirements/full.txt --pyproject build/pyproject.toml \
    --output-reproducible --output-file dist/sbom.cdx.json >>build/release.log 2>&1 || {
    tail -n 10 build/release.log >&2
    die "the list of what it contains cannot be made"
}
(cd dist && sha256sum -- * >"$OLDPWD/build/SHA256SUMS") && mv build/SHA256SUMS dist
cat dist/SHA256SUMS
cat <<END

These commands publish $version:
  git push origin v$version
  twine upload dist/commentsvc-$version*.whl dist/commentsvc-$version.tar.gz
  npm publish dist/commentsvc-$version.tgz
  docker build --build-arg VERSION=$version --tag commentsvc:$version . && docker push commentsvc:$version
Then attach the files of dist/ to the release of the tag; its text is dist/release-notes.md.
END
