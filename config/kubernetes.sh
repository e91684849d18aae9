#!/bin/sh
# Makes build/kubernetes, with what judges the chart in config/helm: helm, which Go compiles in some
# minutes, and kubernetes-validate.
set -eu
cd "$(dirname "$0")/.."
folder=$PWD/build/kubernetes

[ -x "$folder/bin/helm" ] || GOBIN=$folder/bin go install helm.sh/helm/v3/cmd/helm@v3.19.5
[ -x "$folder/bin/kubernetes-validate" ] || {
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==1.37.0
}
