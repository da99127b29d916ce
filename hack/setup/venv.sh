#!/bin/sh
# Installs the Python packages of requirements.txt into build/venv, from PyPI, by hash.
# Does nothing if they are installed. A setup without a network does not fail: the tests that
# need the packages say that they are missing.
set -eu

here=$(dirname "$0")
venv=$here/../../build/venv
stamp=$venv/.requirements

cmp -s "$here/requirements.txt" "$stamp" && exit 0

echo "setup: installing $(grep -c '^[^#]' "$here/requirements.txt") Python package(s) into build/venv"
rm -rf "$venv"
python3 -m venv "$venv" &&
	"$venv/bin/python3" -m pip install -q --disable-pip-version-check \
		--require-hashes --no-deps --only-binary :all: -r "$here/requirements.txt" &&
	cp "$here/requirements.txt" "$stamp" && exit 0

rm -rf "$venv"
echo "setup: that failed: tests beside these packages will be skipped" >&2
