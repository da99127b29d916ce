#!/bin/sh
# Installs the Python packages of requirements.txt into build/venv, from PyPI, by hash.
# Does nothing when they are there. Where there is no network, the tests that need them
# say so: a setup does not fail for them.
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
