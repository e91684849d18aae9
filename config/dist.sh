#!/bin/sh
# Builds the release: the source archive and, from it, a wheel for this kind of processor; and the npm
# package of the widget.
#
#   sh config/dist.sh [FOLDER]     writes into dist/, or FOLDER, which is emptied first
#
# The wheel is for the version of Python that builds it and all later ones, since the core uses the
# stable ABI. It is named for the oldest glibc that it runs with (manylinux), if auditwheel can
# determine that.
set -eu
cd "$(dirname "$0")/.."
sh config/bootstrap.sh dist
PATH=$PWD/.venv/bin:$PATH
export PATH

folder=${1:-dist}
rm -rf "$folder"
python -m build --no-isolation --outdir "$folder/built" . >build/dist.log 2>&1 || {
    tail -n 30 build/dist.log >&2
    exit 1
}
for wheel in "$folder"/built/*.whl; do
    auditwheel repair --wheel-dir "$folder" "$wheel" >>build/dist.log 2>&1 || {
        echo "commentsvc: $wheel is for machines like this one: $(tail -n 1 build/dist.log)" >&2
        mv "$wheel" "$folder"
    }
done
mv "$folder"/built/*.tar.gz "$folder"
rm -r "$folder/built"
sh config/npm/pack.sh "$folder"
ls "$folder"
