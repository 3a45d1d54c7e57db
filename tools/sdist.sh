#!/usr/bin/env bash
# Makes the sdist of the commit and checks that it builds, installs and passes the tests without the repository.
# Usage: bash tools/sdist.sh FOLDER [pytest arguments]      needs git, a C compiler and the network
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python -m venv "$work/venv"
. "$work/venv/bin/activate"
pip install -q build twine
python -m build -q --sdist --outdir "$folder"
archive=$(ls -t "$folder"/libsvmx-*.tar.gz | head -n 1)
twine check --strict "$archive"
tar -xzf "$archive" -C "$work"
cd "$work/$(basename "$archive" .tar.gz)"
pip install -q '.[test]'
pytest -q -n "$(nproc)" --dist worksteal "$@"
