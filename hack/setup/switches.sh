#!/bin/sh
# Builds Snabb, which no distribution has, for the tests with the real program and for
# `make bench BENCH=switch`. Nothing in the project needs it. It is kept outside of the
# checkout, and built once:
#
#   $XDG_CACHE_HOME/nines/switches/snabb-COMMIT/snabb
#   $XDG_CACHE_HOME/nines/switches/snabb              links there
#
# NINES_SNABB_SOURCE names another Git repository that has the commit, such as a copy on
# this machine. It is compiled by gcc and make, and has its own LuaJIT.
set -eu

source=${NINES_SNABB_SOURCE:-https://github.com/snabbco/snabb}
commit=f32729274b0a1b0da612bface2eabd8b57eef200 # release 2024.08, which prints 2022.07
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nines/switches
built=$cache/snabb-$commit

mkdir -p "$cache"
# Two that build take turns.
exec 9>"$cache/lock"
flock 9
if [ ! -x "$built/snabb" ]; then
	next=$cache/.next
	rm -rf "$next" "$built"
	trap 'rm -rf "$next"' EXIT
	trap 'exit 1' HUP INT TERM
	echo "setup: fetching Snabb from $source"
	git init -q "$next"
	git -C "$next" remote add origin "$source"
	# Only what is built: the captures that its own tests replay are most of it.
	git -C "$next" sparse-checkout set --no-cone '/*' '!/src/program/ipfix/tests/'
	git -C "$next" fetch -q --depth 1 --filter=blob:none origin "$commit"
	git -C "$next" checkout -q --detach "$commit"
	echo "setup: building Snabb into $built (a minute of CPU); the log is $cache/log"
	nice -n 10 make -C "$next" -j "$(nproc)" >"$cache/log" 2>&1 || {
		tail -n 20 "$cache/log" >&2
		exit 1
	}
	mkdir "$built"
	install "$next/src/snabb" "$built/.snabb"
	mv "$built/.snabb" "$built/snabb"
fi
ln -sfn "$built/snabb" "$cache/snabb"
echo "setup: snabb is in $cache; what is to use it has that in PATH"
