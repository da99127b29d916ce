package spec

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"nines.dev/nines/exit"
)

// Script is a script: the path of a file, relative to the folder of the experiment file, or, where
// it has more than one line, the text itself. Its first line may name an interpreter ("#!/bin/sh");
// without one, sh runs it.
type Script string

// Scripts are a node's scripts.
type Scripts struct {
	// Setup runs once in each lab that is built, before its first trial.
	Setup Script `yaml:"setup,omitempty" json:"setup,omitempty"`
	// Experiment runs in every trial, in all nodes at once.
	Experiment Script `yaml:"experiment,omitempty" json:"experiment,omitempty"`
	// Teardown runs once in each lab, before it is taken down.
	Teardown Script `yaml:"teardown,omitempty" json:"teardown,omitempty"`
}

// HostScripts are the host's scripts, which run as root outside all nodes, and the limits of all
// scripts.
type HostScripts struct {
	// HostSetup runs before a lab is built.
	HostSetup Script `yaml:"host_setup,omitempty" json:"host_setup,omitempty"`
	// HostTeardown runs when a lab is gone, also where nines down removes what a killed nines left. It
	// has to cope with a setup that ran in part, and with being run again.
	HostTeardown Script `yaml:"host_teardown,omitempty" json:"host_teardown,omitempty"`
	// Timeout is how long each script may run (default 10m).
	Timeout Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	// UploadLimit is the most that one node uploads in one trial, the output of its scripts
	// included (default 256MiB).
	UploadLimit Size `yaml:"upload_limit,omitempty" json:"upload_limit,omitempty"`
}

// The limits of scripts where the file sets none.
const (
	defaultScriptTimeout = "10m"
	defaultUploadLimit   = "256MiB"
)

// defaultHostScripts are the limits of an experiment whose file has none.
func defaultHostScripts() *HostScripts {
	timeout, _ := ParseDuration(defaultScriptTimeout) // the rules' test reads both
	limit, _ := ParseSize(defaultUploadLimit)
	return &HostScripts{Timeout: Duration(timeout), UploadLimit: Size(limit)}
}

// maxScriptBytes is the longest script.
const maxScriptBytes = 1 << 20

// Inline is true where the file has the script's text, not its path.
func (s Script) Inline() bool { return strings.Contains(string(s), "\n") }

// String is the path, or for a text its first line.
func (s Script) String() string {
	if first, _, several := strings.Cut(string(s), "\n"); several {
		return first + " …"
	}
	return string(s)
}

// Any is true where there is a script.
func (s *Scripts) Any() bool {
	return s != nil && (s.Setup != "" || s.Experiment != "" || s.Teardown != "")
}

// HasScripts is true where a node has a script.
func (e *Experiment) HasScripts() bool {
	for _, n := range e.Topology.Nodes {
		if n != nil && n.Scripts.Any() {
			return true
		}
	}
	return false
}

// RunsScripts is true where trials run scripts.
func (e *Experiment) RunsScripts() bool {
	for _, n := range e.Topology.Nodes {
		if n != nil && n.Scripts != nil && n.Scripts.Experiment != "" {
			return true
		}
	}
	return false
}

// all lists the experiment's scripts.
func (e *Experiment) allScripts() []Script {
	var list []Script
	if h := e.Scripts; h != nil {
		list = append(list, h.HostSetup, h.HostTeardown)
	}
	for _, n := range e.Topology.Nodes {
		if n != nil && n.Scripts != nil {
			list = append(list, n.Scripts.Setup, n.Scripts.Experiment, n.Scripts.Teardown)
		}
	}
	return list
}

// ScriptTexts are the texts of scripts, by script as the file names it.
type ScriptTexts map[Script]string

// UseScripts gives the texts of the file's scripts, so that their files are not read: those that a
// result has kept.
func (f *File) UseScripts(texts ScriptTexts) { f.scripts = texts }

// ScriptTexts reads the scripts of the runs.
func (f *File) ScriptTexts(runs []Run) (ScriptTexts, error) {
	texts := ScriptTexts{}
	for _, run := range runs {
		for _, s := range run.Experiment.allScripts() {
			if _, known := texts[s]; known || s == "" {
				continue
			}
			text, err := f.scriptText(s)
			if err != nil {
				return nil, err
			}
			texts[s] = text
		}
	}
	return texts, nil
}

func (f *File) scriptText(s Script) (string, error) {
	if s.Inline() {
		return string(s), nil
	}
	if f.scripts != nil {
		if text, ok := f.scripts[s]; ok {
			return text, nil
		}
		return "", exit.Wrongf("%s: the result has no copy of the script %s", f.name, s)
	}
	text, err := readScript(f.beside(string(s)))
	if err != nil {
		return "", exit.Wrongf("%s: the script %s: %w; give the path of a file, relative to the folder of the experiment file, or the script itself, if it has several lines", f.name, s, err)
	}
	return text, nil
}

func readScript(path string) (string, error) {
	info, err := os.Stat(path) // before it is opened: a pipe would block
	switch {
	case err != nil:
		return "", errors.New(systemReason(err))
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a plain file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", errors.New(systemReason(err))
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxScriptBytes+1))
	if err != nil {
		return "", errors.New(systemReason(err))
	}
	return string(text), checkScriptText(string(text))
}

// checkScriptText refuses what is no script.
func checkScriptText(text string) error {
	switch {
	case len(text) > maxScriptBytes:
		return fmt.Errorf("it is longer than %d bytes; use mounts for data", maxScriptBytes)
	case !utf8.ValidString(text) || strings.Contains(text, "\x00"):
		return errors.New("it is not text; to run a program, write a script that starts it")
	}
	return nil
}
