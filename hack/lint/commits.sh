#!/bin/bash
# Checks the form of the commits on this branch; CONTRIBUTING.md describes it. Its last line says how many it has
# checked, or why none: a source archive has no history, and a shallow clone may have little.
#
#   hack/lint/commits.sh           the commits after FIRST
#   hack/lint/commits.sh COMMIT    those after COMMIT, such as origin/main before a push
#
# Merge commits are exempt, as git and the repository's host write their messages.
set -uo pipefail
export LC_ALL=C.UTF-8 # counts characters, not bytes

# The rules hold for the commits after this one, which was the newest when this check was added: the messages before
# it are longer, and a commit that others have is not rewritten.
FIRST=8e293dae92f7c0c500b8f79f6e0a5a1a91f7f746

cd "$(dirname "$0")/../.." || exit
first=${1:-$FIRST}

# The checkout may belong to another user than the one who tests it.
git() { command git -c safe.directory='*' "$@"; }

nothing() {
	echo "commits: checked nothing: $1"
	exit 0
}

# A source archive may lie within the repository of another project.
[ "$(git rev-parse --show-prefix 2>&1)" = "" ] || nothing 'this folder is not the top of a git repository'
git rev-parse --quiet --verify HEAD >/dev/null || nothing 'this repository has no commit yet'

range=(HEAD "^$first")
if ! git cat-file -e "$first^{commit}" 2>/dev/null; then
	# What a shallow clone has of the branch is newer than what it lacks.
	[ "$(git rev-parse --is-shallow-repository)" = true ] ||
		nothing "this clone lacks the commit $first, so it is unknown which commits are new"
	range=(HEAD)
fi

status=0
fault() {
	echo "commits: ${commit:0:12}: $1"
	status=1
}

# exists is true for a folder or file that the commit has or removes. A document may be named without .md. What the
# oldest commit of a shallow clone removes is unknown.
exists() {
	local name in
	git cat-file -e "$commit^" 2>/dev/null || return 0
	for name in "$1" "$1.md"; do
		for in in "$commit" "$commit^"; do
			! git cat-file -e "$in:$name" 2>/dev/null || return 0
		done
	done
	return 1
}

# imperative is true for a word that can be a verb's base form. It knows no dictionary, only what such a word is not.
imperative() {
	case $1 in
	bring | embed | need | ping | string) ;;
	a | all | also | an | and | for | in | it | more | new | no | now | of | on | some | that | the | this | to | when | with) return 1 ;;
	made | took | wrote | gave | was | is | are | has | can | must) return 1 ;;
	*ss | *eed) ;;
	*s | *ed | *ing) return 1 ;;
	esac
}

# check holds the lines of a message against the rules.
check() {
	local subject=${1:-} second=${2:-} places verb place line
	[ ${#subject} -le 72 ] || fault "the subject has ${#subject} characters, and 72 are allowed: $subject"
	[[ $subject != *. ]] || fault "the subject ends with a period: $subject"
	if [[ $subject =~ ^([^ ,:]+(, [^ ,:]+)*):\ ([^ ]+) ]]; then
		verb=${BASH_REMATCH[3]%[,;:]}
		IFS=', ' read -ra places <<<"${BASH_REMATCH[1]}"
		for place in "${places[@]}"; do
			exists "$place" || fault "$place is no folder or file of the repository: $subject"
		done
		if [[ ! $verb =~ ^[a-z]+$ ]] || ! imperative "$verb"; then
			fault "\"$verb\" is no imperative verb in lower case: $subject"
		fi
	else
		fault "write the subject as 'folder-or-file[, other]: verb ...': $subject"
	fi
	[ -z "$second" ] || fault "the line after the subject is not blank: $second"
	for line in "${@:2}"; do
		[ ${#line} -le 100 ] || fault "a line of the body has ${#line} characters, and 100 are allowed: $line"
	done
}

count=0
while IFS= read -r commit; do
	mapfile -t message < <(git show --no-patch --format=%B "$commit")
	check "${message[@]}"
	count=$((count + 1))
done < <(git rev-list --no-merges "${range[@]}")
[ "$count" -gt 0 ] || nothing "there is no new commit after ${first:0:12}"
echo "commits: checked $count"
exit $status
