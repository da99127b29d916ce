package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// In each shell, a Tab at the end of a line, and what the shell then has: what it inserts or lists, a line each.
var shells = []struct {
	shell, needs string
	script       func(line string) string
}{
	{"bash", "/usr/share/bash-completion/bash_completion", func(line string) string {
		return `source /usr/share/bash-completion/bash_completion; source <(nines completion bash)
COMP_LINE='` + line + `'; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COLUMNS=200
compopt() { :; } # the builtin works only in a completion
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
words() { local IFS=$' \t\n' w; COMP_WORDS=(); for w in $1; do
	while [[ $w == *[=:]* ]]; do
		local head=${w%%[=:]*}; [[ -z $head ]] || COMP_WORDS+=("$head")
		COMP_WORDS+=("${w:${#head}:1}"); w=${w:${#head}+1}
	done
	[[ -z $w ]] || COMP_WORDS+=("$w")
done; [[ $1 != *' ' && $1 != *[=:] ]] || COMP_WORDS+=(""); }
words "$COMP_LINE"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_nines nines "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}" 2>&1
printf '%s\n' "${COMPREPLY[@]}"`
	}},
	{"fish", "", func(line string) string {
		return `nines completion fish | source; complete --do-complete '` + line + `'`
	}},
	// zsh completes in a terminal only, which zpty is, and once it has shown its prompt.
	{"zsh", "", func(line string) string {
		return `zmodload zsh/zpty; zpty shell zsh -f -i
zpty -w shell "autoload -Uz compinit && compinit -u -d $PWD/dump; source <(nines completion zsh); stty cols 200; LISTMAX=1000
zstyle ':completion:*' menu no; bindkey '^I' list-choices; PS1='in-edi''tor '"
zpty -r shell out '*in-editor *'
zpty -w -n shell '` + line + `'$'\t\025'"echo do''ne"$'\n'
zpty -r shell out $'*done\r*'; print -r -- "$out"`
	}},
}

// TestShellsComplete: real shells, with the script that nines writes for them.
func TestShellsComplete(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lab.yaml"), []byte("name: x\ntopology: {nodes: {dut: {}}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range shells {
		t.Run(s.shell, func(t *testing.T) {
			labtest.Require(t, s.shell, labtest.Installed(s.shell))
			if s.needs != "" {
				_, err := os.Stat(s.needs)
				labtest.Require(t, s.needs, err == nil)
			}
			for line, want := range map[string]string{
				"nines ":                                 "run validate duet",
				"nines figure --kind h":                  "hdr histogram",
				"nines run ":                             "lab.yaml",
				"nines run lab.yaml --set nodes.dut.run": "runtime",
				"nines run lab.yaml --set nodes.dut.runtime=l": "lxc",
				"nines run lab.yaml --format=j":                "json",
				"nines results ls --verdict cl":                "clean",
				"nines exec --lab none ":                       "",
			} {
				command := exec.Command(s.shell, "-c", s.script(line))
				command.Dir = dir
				command.Env = append(os.Environ(), "PATH="+filepath.Dir(labtest.Nines(t))+":"+os.Getenv("PATH"),
					"NINES_STATE_DIR="+dir, "HOME="+dir, "TERM=dumb")
				said, err := command.CombinedOutput()
				if err != nil && want != "" {
					t.Errorf("%s: %v: %s", line, err, said)
				}
				for one := range strings.FieldsSeq(want) {
					if !strings.Contains(string(said), one) {
						t.Errorf("%s: %q, and no %q", line, said, one)
					}
				}
				for _, bad := range []string{"nines: ", "rror:", "not found"} {
					if strings.Contains(string(said), bad) {
						t.Errorf("%s: an error in the shell: %q", line, said)
					}
				}
			}
		})
	}
}
