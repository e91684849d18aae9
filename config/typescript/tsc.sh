#!/bin/sh
# Runs the TypeScript compiler on the widget's scripts; tsc gets the arguments. At the first run,
# npm installs the locked version. The exit status is 69 if that fails.
set -eu
cd "$(dirname "$0")/../.."

mkdir -p build/typescript
folder=$(readlink -f build/typescript) # npm finds no package in a folder given by a symbolic link
lock=config/typescript/package-lock.json
exec 9>"$folder/lock"
flock 9 # `make dist` and ./test may run at once
if ! cmp -s "$lock" "$folder/installed.json"; then
    cp config/typescript/package*.json "$folder"
    npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund >"$folder/npm.log" 2>&1 || {
        echo "npm cannot get TypeScript: $(sed -n 's/^npm error //p' "$folder/npm.log" | head -n 3)" >&2
        exit 69
    }
    cp "$lock" "$folder/installed.json"
fi
exec 9>&-
exec "$folder/node_modules/.bin/tsc" --project config/typescript "$@"
