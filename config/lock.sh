#!/bin/sh
# Locks the requirements of pyproject.toml: writes the version of each package, and the hashes of
# all its files, into config/requirements/*.txt. The locks work for every Python and processor that
# we support. pip checks the hashes whenever a file has some.
#
#   make setup     installs uv, once
#   make lock      newest versions that pyproject.toml allows
set -eu
cd "$(dirname "$0")/.."
folder=config/requirements

# compile NAME ARGUMENT...: writes NAME.txt.
compile() {
    name=$1
    shift
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-annotate --no-emit-index-url --no-emit-find-links \
        --custom-compile-command "make lock" --output-file "$folder/$name.txt" "$@"
}

# All groups together first, so that no two files differ in a version.
compile dev --upgrade --group dev --extra oidc pyproject.toml
compile runtime --upgrade --extra oidc --constraints "$folder/dev.txt" pyproject.toml
compile postgres --upgrade --extra oidc --extra postgres --constraints "$folder/dev.txt" pyproject.toml
compile full --upgrade --all-extras --constraints "$folder/dev.txt" pyproject.toml
for group in build demo dist test; do
    compile "$group" --upgrade --constraints "$folder/dev.txt" --group "$group"
done

# The lowest versions of what pyproject.toml names; of what these need in turn, the newest, as pip
# takes them: their bounds are for their authors to keep. The tools that build us have bounds, too.
.venv/bin/python -c 'import tomllib
with open("pyproject.toml", "rb") as file:
    print("\n".join(tomllib.load(file)["build-system"]["requires"]))' >build/build-system.in
compile lowest --upgrade --resolution lowest-direct --all-extras --group unit pyproject.toml \
    build/build-system.in
