#!/bin/sh
# Lays out what is built, below ROOT, which will be PREFIX:
#
#   hack/package/install.sh ROOT PREFIX PROGRAM...
#
#   lib/nines/          nines and the programs that it starts: they find one another in their folder
#   bin/nines           a link to nines there
#   share/man/man1/     the manual, of build/manual
#   share/doc/nines/    documents and examples
#   share/…             completions for bash, zsh and fish
set -eu
umask 022
root=$1 prefix=$2
shift 2

mkdir -p "$root/bin" "$root/lib/nines"
for program in "$@"; do
	install -m 755 "bin/$program" "$root/lib/nines/"
	strip "$root/lib/nines/$program"
done
ln -sfn ../lib/nines/nines "$root/bin/nines"

mkdir -p "$root/share/man/man1"
install -m 644 build/manual/*.1 "$root/share/man/man1/"

# Debian's zsh looks for what packages bring in a folder of their own.
zsh=site-functions
[ "$prefix" != /usr ] || zsh=vendor-completions
completion() {
	mkdir -p "$(dirname "$root/share/$2")"
	bin/nines completion "$1" >"$root/share/$2"
	chmod 644 "$root/share/$2"
}
completion bash bash-completion/completions/nines
completion zsh zsh/$zsh/_nines
completion fish fish/vendor_completions.d/nines.fish

doc=$root/share/doc/nines
mkdir -p "$doc"
install -m 644 README.md CHANGELOG.md SECURITY.md "$doc/"
for folder in docs examples; do
	rm -rf "${doc:?}/$folder"
	cp -r --preserve=mode "$folder" "$doc/"
done
rm "$doc/examples/files.go" # embeds them into the program
chmod -R u=rwX,go=rX "$doc"
