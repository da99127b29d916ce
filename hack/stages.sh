#!/bin/bash
# Runs make targets, all of them even when one fails, and ends with a table of how long
# each took, how many seconds of CPU (without what its daemons used), and how many tests
# passed and failed. The table is followed by the names and last lines of the tests that
# failed, also of those that passed when they were run again: the end of a log shows what is
# wrong.
#
#   hack/stages.sh build [ lint , test-go test-host , test-vm ] test-quiet
#
# Stages run one after another; between brackets, lanes separated by commas run in parallel.
# Each stage's output is shown, and kept in build/stages/<stage>.log. RESUME=1 skips the stages
# that have passed for the files that are checked out now.
# LEFT_OUT names stages that have nothing to do. build/selection/table says why, and is shown with the table.
set -uo pipefail

# shellcheck disable=SC1091 # it is checked by itself
. "$(dirname "$0")/stages/log.sh"
logs=build/stages
mkdir -p "$logs"
[ -n "${RESUME:-}" ] || rm -f "$logs"/*
stages=()
for word in "$@"; do
	case $word in '[' | , | ']') ;; *) stages+=("$word") ;; esac
done

# state is what a stage's success is good for: the files of a commit, what differs from them, and whether
# it was the long form. test/verified is left out, as it is written from what has passed.
state() {
	{
		git -c safe.directory='*' ls-files -s -- . ':!test/verified'
		git -c safe.directory='*' diff HEAD -- . ':!test/verified'
		echo "${NINES_LONG:-}"
	} 2>/dev/null | sha256sum | cut -c1-16
}
state=$(state)

# stage runs one, and notes its row of the table. The name before each line tells
# parallel stages apart.
stage() {
	local name=$1 mark=$2 begin=$SECONDS result=ok cpu counts TIMEFORMAT='%U %S'
	if [ -n "${RESUME:-}" ] && [ "$(cut -d' ' -f1,2 "$logs/$name.result" 2>/dev/null)" = "ok $state" ]; then
		echo "== make $name: has passed before"
		return
	fi
	if [[ " ${LEFT_OUT:-} " = *" $name "* ]]; then
		echo "left-out $state 0 0 0 0 0 0" >"$logs/$name.result"
		return
	fi
	echo "== make $name"
	{
		time make "$name" </dev/null 2>&1 | tee "$logs/$name.log" | sed -u "s/^/$mark/"
	} 2>"$logs/$name.cpu" || result=FAILED
	cpu=$(awk '{ sum = $1 + $2 } END { printf "%.0f", sum }' "$logs/$name.cpu")
	counts=$(count "$logs/$name.log")
	echo "$result $state $((SECONDS - begin)) $cpu $counts" >"$logs/$name.result"
	echo "== $name: $result in $((SECONDS - begin)) s"
	[ $result = ok ]
}

# lane runs stages one after another.
lane() {
	local name
	for name in "$@"; do
		stage "$name" "$name | "
	done
}

# together runs lanes side by side, and waits for all of them. Each is a process group, to
# be ended with all that it has started, and (set -m) hears Ctrl-C, which the shell's
# background ignores, and with it what the tests start.
lanes=()
together() {
	local word words=()
	set -m
	for word in "$@" ','; do
		if [ "$word" = , ]; then
			lane "${words[@]}" &
			lanes+=($!)
			words=()
		else
			words+=("$word")
		fi
	done
	set +m
	wait
	lanes=()
}
# shellcheck disable=SC2317 # called by the trap
ended() {
	trap - INT TERM
	local lane
	for lane in "${lanes[@]}"; do
		kill -TERM -- "-$lane" 2>/dev/null
	done
	wait
	exit 130
}
trap ended INT TERM

while [ $# -gt 0 ]; do
	if [ "$1" = '[' ]; then
		shift
		group=()
		while [ $# -gt 0 ] && [ "$1" != ']' ]; do
			group+=("$1")
			shift
		done
		together "${group[@]}"
	elif ! stage "$1" ''; then
		# Without these nothing after can work.
		case $1 in setup* | build) break ;; esac
	fi
	shift
done

tail_lines=40 # of a stage
status=0
declare -A told # of a stage, what its failures are called
row() { printf '%-16s %-8s %7s %7s %8s %8s %8s %8s\n' "$@"; }
echo
row stage result seconds cpu passed failed again skipped
for name in "${stages[@]}"; do
	if ! read -r result _ seconds cpu passed failed again skipped 2>/dev/null <"$logs/$name.result"; then
		row "$name" - - - - - - -
		status=1
		continue
	fi
	row "$name" "$result" "$seconds" "$cpu" "$passed" "$failed" "$again" "$skipped"
	if [ "$result" = FAILED ]; then
		status=1
		told[$name]='failed in'
	elif ((again > 0)); then
		told[$name]='passed only when run again, in'
	fi
done
echo "the whole took $SECONDS s"
[ -z "${LEFT_OUT+set}" ] || cat build/selection/table
left_out "${stages[@]/#/$logs/}"
for name in "${stages[@]}"; do
	[ -n "${told[$name]:-}" ] || continue
	echo
	echo "${told[$name]} $name (all of it: $logs/$name.log):"
	# Many failures: rather all names than all lines.
	for keep in 6 1 0; do
		mapfile -t lines < <(failures "$logs/$name.log" "$keep" | cut -c1-300)
		((${#lines[@]} > tail_lines)) || break
	done
	printf '%s\n' "${lines[@]:0:tail_lines}"
	((${#lines[@]} <= tail_lines)) || echo "  … and $((${#lines[@]} - tail_lines)) more"
done
[[ " ${told[*]:-}" != *again* ]] || echo $'\nWhat passed only when run again belongs into test/flaky.md, which says how.'
exit $status
