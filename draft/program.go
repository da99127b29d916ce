package draft

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

// program is one of the user's that is the device.
type program struct {
	// title is what a reader calls it, and name what the file does.
	title, name string
	// words are how the user calls it, and path is where it is.
	words []string
	path  string
	// dir is where the user called it.
	dir string
	// run is its argument list.
	run []string
}

// shellMarks are characters for which a command line needs a shell.
const shellMarks = "\"'\\$`*?[]{}()|&;<>~#"

// readPrograms finds programs, and gives each a name of its own.
func readPrograms(lines, arguments []string) ([]program, error) {
	if len(arguments) > 0 && len(lines) != 1 {
		return nil, exit.Wrongf("what follows -- are the arguments of one --service; with several, write them with each: --service './a 1' --service './a 2'")
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var list []program
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) == 0 {
			return nil, exit.Wrongf("--service is empty: name your program, such as --service ./my-forwarder")
		}
		path, err := find(words[0])
		if err != nil {
			return nil, err
		}
		p := program{words: append(words, arguments...), path: path, dir: dir}
		p.run = append([]string{path}, p.words[1:]...)
		if rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), words[0])); strings.ContainsAny(rest, shellMarks) {
			p.run = []string{"sh", "-c", "exec " + quoted(path) + " " + rest}
			if len(arguments) > 0 {
				p.run = append([]string{"sh", "-c", p.run[2] + ` "$@"`, "sh"}, arguments...)
			}
		}
		list = append(list, p)
	}
	name(list)
	for i, p := range list {
		if slices.ContainsFunc(list[:i], func(other program) bool { return slices.Equal(other.run, p.run) }) {
			return nil, exit.Wrongf("--service %s is listed twice", strings.Join(p.words, " "))
		}
	}
	return list, nil
}

// quoted is a word that a shell leaves as it is.
func quoted(word string) string {
	if !strings.ContainsAny(word, shellMarks+" \t\n") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// asPath is a file as a shell finds it: ./fwd.
func asPath(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "./" + name
}

// find is where a program is, and says why it cannot run.
func find(word string) (string, error) {
	if !strings.Contains(word, "/") {
		path, err := exec.LookPath(word)
		switch {
		case err == nil:
			return filepath.Abs(path)
		case isFile(word):
			return "", exit.Wrongf("--service %s is not in PATH; for the file of this folder write --service %s", word, asPath(word))
		}
		return "", exit.Wrongf("--service %s is not in PATH; install it, or give the path of your program: --service ./%[1]s", word)
	}
	path, err := filepath.Abs(word)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", exit.Wrongf("--service %s does not exist%s", word, nearby(word))
	case err != nil:
		return "", exit.Wrongf("--service %s: %w", word, errors.Unwrap(err))
	case info.IsDir():
		return "", exit.Wrongf("--service %s is a folder: name the program in it", word)
	case !info.Mode().IsRegular():
		return "", exit.Wrongf("--service %s is no program", word)
	case info.Mode()&0o111 == 0:
		return "", exit.Wrongf("--service %s cannot be executed: chmod +x %[1]s%s", word, interpreted(word))
	}
	return path, isProgram(word, path)
}

// isProgram refuses what the kernel would: neither ELF nor a script that names its interpreter (execve(2)).
func isProgram(word, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return nil // it may be executed all the same
	}
	defer func() { _ = file.Close() }() // read only
	mark := make([]byte, 4)
	n, _ := io.ReadFull(file, mark)
	if mark = mark[:n]; string(mark) == "\x7fELF" || strings.HasPrefix(string(mark), "#!") {
		return nil
	}
	return exit.Wrongf("--service %s is no program that the kernel executes: its first line would have to name an interpreter, such as '#!/bin/sh'%s", word, interpreted(word))
}

// interpreters are programs that run scripts, by how their names end.
var interpreters = map[string]string{".py": "python3", ".sh": "sh", ".pl": "perl", ".rb": "ruby", ".js": "node", ".lua": "lua"}

func interpreted(word string) string {
	if interpreter := interpreters[filepath.Ext(word)]; interpreter != "" {
		return ", or --service '" + interpreter + " " + word + "'"
	}
	return ""
}

// nearby offers the file of that folder that is named most like a path.
func nearby(word string) string {
	entries, err := os.ReadDir(filepath.Dir(word))
	if err != nil {
		return ", nor does the folder " + filepath.Dir(word)
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	if nearest := terminal.Nearest(filepath.Base(word), names); nearest != "" {
		return "; did you mean " + asPath(filepath.Join(filepath.Dir(word), nearest)) + "?"
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// base is the name of a program's file; of a script that an interpreter runs, the script's.
func (p program) base() string {
	if len(p.words) > 1 && !strings.Contains(p.words[0], "/") && isFile(p.words[1]) {
		return filepath.Base(p.words[1])
	}
	return filepath.Base(p.path)
}

// name gives each program a title that tells it from the others: its file's name and, where that is not enough, the
// arguments that differ.
func name(list []program) {
	for i := range list {
		list[i].title = list[i].base()
	}
	if titles(list) < len(list) {
		for i, p := range list {
			for j, word := range p.words[1:] {
				if slices.ContainsFunc(list, func(other program) bool { return len(other.words) <= j+1 || other.words[j+1] != word }) {
					list[i].title += " " + word
				}
			}
		}
	}
	for i, p := range list {
		if list[i].title = caseName(p.title); slices.ContainsFunc(list[:i], func(other program) bool { return other.title == list[i].title }) {
			list[i].title += " " + string(rune('a'+i))
		}
		list[i].name = serviceName(list[i].title)
	}
}

// titles is how many different titles there are.
func titles(list []program) int {
	seen := map[string]bool{}
	for _, p := range list {
		seen[p.title] = true
	}
	return len(seen)
}
