#!/bin/sh
# Packs the npm package: the widget's files, and the types that tsc generates from them.
#
#   sh config/npm/pack.sh FOLDER     writes commentsvc-VERSION.tgz into FOLDER
set -eu
cd "$(dirname "$0")/../.."
PATH=$PWD/.venv/bin:$PATH
export PATH

content=$(mktemp -d)
trap 'rm -rf "$content"' EXIT
cp -R static/*.js static/*.css static/types.d.ts "$content"
cp -R static/form static/pictures static/reader static/themes static/thread "$content"
# Bundlers put all into one file, and older ones build for browsers without a top-level await
sed -e 's/^const {$/import {/' -e 's/^} = await shared;$/} from ".\/common.js";/' \
  -e '/^const shared = import/d' static/comments.js >"$content/comments.js"
cp config/npm/README.md LICENSE "$content"
version=$(sh config/version.sh npm)
sed "s/^  \"name\".*/&\n  \"version\": \"$version\",/" config/npm/package.json >"$content/package.json"
sh config/typescript/tsc.sh --noEmit false --declaration --emitDeclarationOnly --declarationDir "$content"
npm pack "$content" --silent --pack-destination "$1"
