package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Shown is one result in the index.
type Shown struct {
	Listed
	Variables []VariableValues `json:"variables"`
	Findings  []FoundFigure    `json:"findings"`
}

// VariableValues are the values of a swept key.
type VariableValues struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// FoundFigure is a finding with its circumstances.
type FoundFigure struct {
	Search     string   `json:"search"`
	Method     string   `json:"method"`
	Conformant bool     `json:"conformant"`
	Variables  string   `json:"variables"` // "links.*.kind=veth"
	Name       string   `json:"name"`
	Unit       string   `json:"unit"`
	Value      *float64 `json:"value"`
	AtLeast    bool     `json:"at_least,omitempty"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Reason     string   `json:"reason,omitempty"`
	Conditions string   `json:"conditions,omitempty"` // JSON
}

// Folder resolves what a user typed to a folder below the root: a path, a path below the root, a
// link to one of them such as latest, or the key of a result in the tables.
func (x *Index) Folder(ctx context.Context, said string) (string, error) {
	for _, path := range []string{said, filepath.Join(x.root, said)} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if real, err = filepath.Abs(real); err != nil {
			continue
		}
		below, err := filepath.Rel(x.root, real)
		if err != nil || below == "." || below == ".." || strings.HasPrefix(below, ".."+string(filepath.Separator)) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(real, result.SummaryFile)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return filepath.ToSlash(below), nil
	}
	var folder string
	err := x.db.QueryRowContext(ctx, x.base.placeholders("SELECT folder FROM results WHERE store = $1 AND result = $2"),
		clean(x.store), clean(said)).Scan(&folder)
	if errors.Is(err, sql.ErrNoRows) {
		all, err := x.List(ctx, Filter{})
		if err != nil {
			return "", err
		}
		return "", x.noResult(said, all)
	}
	return folder, x.base.explain(err)
}

// Show returns one result. Refresh first: the index may have an older state of it.
func (x *Index) Show(ctx context.Context, folder string) (*Shown, error) {
	all, err := x.List(ctx, Filter{})
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if l.Folder == folder {
			shown := &Shown{Listed: l, Variables: []VariableValues{}, Findings: []FoundFigure{}}
			return shown, x.base.explain(errors.Join(x.variablesOf(ctx, shown), x.findingsOf(ctx, shown)))
		}
	}
	return nil, x.noResult(folder, all)
}

// noResult is the error for what no result has as its folder. It asks for the nearest folder, or for the newest result of
// the nearest name.
func (x *Index) noResult(said string, all []Listed) error {
	folders, names := map[string]string{}, []string{}
	for _, l := range all { // the newest first
		for _, name := range []string{l.Folder, l.Name} {
			if _, newer := folders[name]; !newer {
				folders[name], names = l.Folder, append(names, name)
			}
		}
	}
	asked := ""
	if near := terminal.Nearest(strings.TrimSuffix(said, "/"), names); near != "" {
		asked = fmt.Sprintf("did you mean %s? ", folders[near])
	}
	return exit.Wrongf("result %s does not exist below %s; %s'nines results ls' lists the results", said, x.root, asked)
}

func (x *Index) variablesOf(ctx context.Context, shown *Shown) error {
	rows, err := x.db.QueryContext(ctx, x.base.placeholders(`SELECT name, value FROM variables
		WHERE result = $1 GROUP BY name, value ORDER BY name, min(number), min(trial)`), shown.Result)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		if last := len(shown.Variables) - 1; last < 0 || shown.Variables[last].Name != name {
			shown.Variables = append(shown.Variables, VariableValues{Name: name})
		}
		at := &shown.Variables[len(shown.Variables)-1]
		at.Values = append(at.Values, value)
	}
	return rows.Err()
}

func (x *Index) findingsOf(ctx context.Context, shown *Shown) error {
	variables, err := x.searchVariables(ctx, shown.Result)
	if err != nil {
		return err
	}
	rows, err := x.db.QueryContext(ctx, x.base.placeholders(`SELECT f.search, s.method, s.conformant, f.name, f.unit, f.value, f.at_least, f.low, f.high, f.reason, f.conditions
		FROM findings f JOIN searches s ON s.result = f.result AND s.search = f.search
		WHERE f.result = $1 ORDER BY f.search, f.finding`), shown.Result)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var f FoundFigure
		var reason, conditions sql.NullString
		if err := rows.Scan(&f.Search, &f.Method, &f.Conformant, &f.Name, &f.Unit, &f.Value, &f.AtLeast, &f.Low, &f.High, &reason, &conditions); err != nil {
			return err
		}
		f.Reason, f.Conditions, f.Variables = reason.String, conditions.String, variables[f.Search]
		shown.Findings = append(shown.Findings, f)
	}
	return rows.Err()
}

// searchVariables returns the variables of each search as text.
func (x *Index) searchVariables(ctx context.Context, id string) (map[string]string, error) {
	rows, err := x.db.QueryContext(ctx, x.base.placeholders(`SELECT search, name, value FROM search_variables WHERE result = $1 ORDER BY search, name`), id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	of := map[string]string{}
	for rows.Next() {
		var search, name, value string
		if err := rows.Scan(&search, &name, &value); err != nil {
			return nil, err
		}
		if of[search] != "" {
			of[search] += " "
		}
		of[search] += name + "=" + value
	}
	return of, rows.Err()
}
