// Package wire is what a node's scripts and nines say to each other: over a UNIX socket of the node's
// own, a request and its answer on each connection, each one line of JSON. An upload's bytes follow
// the request. It imports nothing, as the command that speaks it is in every node.
package wire

// Environment is the variable that has the socket's path in a script.
const Environment = "NINES_SCRIPT"

// SocketFile is the socket's name in the node's folder of scripts, which is also in its PATH.
const SocketFile = "socket"

// Command is the name of the program that scripts call.
const Command = "nines-script"

// CommandInNodes is its other name. A virtual machine has a program of nines' own with that name, which is called by
// its path; the folder of scripts comes first in a script's PATH.
const CommandInNodes = "nines-node"

// Aliases are the names by which scripts written for pos call it, by sub-command.
var Aliases = map[string]string{
	"pos_get_variable": "get-variable",
	"pos_set_variable": "set-variable",
	"pos_sync":         "sync",
	"pos_upload":       "upload",
	"pos_run":          "run",
	"pos_wait":         "wait",
	"pos_kill":         "kill",
}

// Verb is what a request asks for.
type Verb string

// The verbs of requests.
const (
	Get    Verb = "get"
	Set    Verb = "set"
	Sync   Verb = "sync"
	Upload Verb = "upload"
	Run    Verb = "run"
	Wait   Verb = "wait"
	Kill   Verb = "kill"
)

// Scope says whose variable a request is about.
type Scope string

// The scopes of variables: the node's own and then the global ones, the global ones alone, and those
// that the sweep varies.
const (
	ScopeNode   Scope = ""
	ScopeGlobal Scope = "global"
	ScopeLoop   Scope = "loop"
)

// LongestLine bounds a request and an answer, in bytes: an environment is in a request to run.
const LongestLine = 4 << 20

// Request is what a script asks for.
type Request struct {
	Verb Verb `json:"verb"`
	// Key and Value are a variable's, Scope whose it is.
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
	Scope Scope  `json:"scope,omitempty"`
	// Name is a barrier's tag, an upload's file, or a command's name.
	Name string `json:"name,omitempty"`
	// Bytes is how many follow.
	Bytes int64 `json:"bytes,omitempty"`
	// Argv, Dir and Env are a command's.
	Argv []string `json:"argv,omitempty"`
	Dir  string   `json:"dir,omitempty"`
	Env  []string `json:"env,omitempty"`
}

// Answer is what nines answers.
type Answer struct {
	// Error is empty where the request was met.
	Error string `json:"error,omitempty"`
	// Value is a variable's, or how a command ended.
	Value string `json:"value,omitempty"`
}
