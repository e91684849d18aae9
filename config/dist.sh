#!/bin/sh
# Builds the release: the source archive and, from it, wheels for this kind of processor; and the npm
# package of the widget.
#
#   sh config/dist.sh [FOLDER]     writes into dist/, or FOLDER, which is emptied first
#
# One wheel is for the Python of .venv. The variable PYTHONS names others, such as "python3.12
# python3.13", whose headers must be installed. A wheel is named for the oldest glibc that it runs
# with (manylinux), if auditwheel can determine that.
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
for other in ${PYTHONS:-}; do
    "$other" -m pip wheel --no-deps --wheel-dir "$folder/built" "$folder"/built/*.tar.gz \
        >>build/dist.log 2>&1 || {
        echo "commentsvc: no wheel for $other: $(tail -n 1 build/dist.log)" >&2
        exit 1
    }
done
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
