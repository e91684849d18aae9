#!/bin/sh
# Builds what is published: the source archive and, from it, the wheel for this machine's Python.
#
#   sh config/dist.sh [FOLDER]     into dist/, or FOLDER; it is emptied first
#
# The wheel is named after the oldest glibc that it runs with (manylinux), where auditwheel can tell.
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
auditwheel repair --wheel-dir "$folder" "$folder"/built/*.whl >>build/dist.log 2>&1 || {
    echo "commentsvc: the wheel is for machines like this one: $(tail -n 1 build/dist.log)" >&2
    mv "$folder"/built/*.whl "$folder"
}
mv "$folder"/built/*.tar.gz "$folder"
rm -r "$folder/built"
ls "$folder"
