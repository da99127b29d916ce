package complete

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/result"
)

// defaultResults is the folder of all results where no --out names another.
const defaultResults = "results"

// latest is the link to the newest result.
const latest = "latest"

// mostResults is how many results are offered, and mostSummaryBytes how much of a summary is read: a shell waits.
const (
	mostResults      = 100
	mostSummaryBytes = 16 << 20
)

// Results offers the folders of results below results, the newest first, and files where none fits.
func Results(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	for _, name := range resultsBelow(defaultResults) {
		list = append(list, defaultResults+"/"+name)
	}
	return orFiles(typed, list)
}

// NamedResults offers results as the verbs of the index name them: by their folder below --out.
func NamedResults(c *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return orFiles(typed, resultsBelow(outOf(c)))
}

// ExperimentNames offers the names of experiments that have results.
func ExperimentNames(c *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	entries, err := os.ReadDir(outOf(c))
	if err != nil {
		return Nothing(c, nil, typed)
	}
	var names []cobra.Completion
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return only(typed, names)
}

func outOf(c *cobra.Command) string {
	if flag := c.Flag("out"); flag != nil {
		return flag.Value.String()
	}
	return defaultResults
}

// resultsBelow lists NAME/TIME with a summary, by their times.
func resultsBelow(root string) (names []cobra.Completion) {
	found, err := filepath.Glob(filepath.Join(globQuote(root), "*", "*", result.SummaryFile))
	if err != nil {
		return nil
	}
	slices.SortStableFunc(found, func(a, b string) int { return -cmp.Compare(timeOf(a), timeOf(b)) })
	if at, err := os.Readlink(filepath.Join(root, latest)); err == nil {
		names = append(names, word(latest, at))
	}
	for _, summary := range found[:min(len(found), mostResults)] {
		if name, err := filepath.Rel(root, filepath.Dir(summary)); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// timeOf is the last folder of a result, which is named by its time.
func timeOf(summary string) string { return filepath.Base(filepath.Dir(summary)) }

// globQuote writes a folder's name so that Glob takes it as it is.
func globQuote(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// summary is what completing needs of summary.json. A shell cannot wait until a whole result is checked.
type summary struct {
	Trials []struct {
		ID        string         `json:"id"`
		Verdict   string         `json:"verdict"`
		Variables map[string]any `json:"variables"`
	} `json:"trials"`
}

// summaryOf reads the first result that a call names, or the newest.
func summaryOf(c *cobra.Command, args []string) (s summary) {
	for _, dir := range append(slices.Clone(args), filepath.Join(outOf(c), latest), filepath.Join(defaultResults, latest)) {
		dir, _, _ = strings.Cut(dir, "=") // of DIR=LABEL
		file, err := os.Open(filepath.Join(dir, result.SummaryFile))
		if err != nil {
			continue
		}
		err = json.NewDecoder(io.LimitReader(file, mostSummaryBytes)).Decode(&s)
		_ = file.Close() // read only
		if err == nil {
			return s
		}
	}
	return summary{}
}

// Trials offers the trials of the result.
func Trials(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	for _, t := range summaryOf(c, args).Trials {
		doc := t.Verdict
		for _, key := range slices.Sorted(maps.Keys(t.Variables)) {
			doc += ", " + key + "=" + result.FormatVariable(t.Variables[key])
		}
		list = append(list, word(t.ID, doc))
	}
	return only(typed, list)
}

// values are the swept keys of a result, each with its values in the order of the trials.
func (s summary) values() (keys []string, values map[string][]string) {
	values = map[string][]string{}
	for _, t := range s.Trials {
		for _, key := range slices.Sorted(maps.Keys(t.Variables)) {
			if values[key] == nil {
				keys = append(keys, key)
			}
			if text := result.FormatVariable(t.Variables[key]); !slices.Contains(values[key], text) {
				values[key] = append(values[key], text)
			}
		}
	}
	return keys, values
}

// Variables offers the swept keys of the result.
func Variables(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	keys, _ := summaryOf(c, args).values()
	return only(typed, keys)
}

// Values offers KEY=VALUE and KEY=VALUE,VALUE of the result's swept keys.
func Values(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	keys, values := summaryOf(c, args).values()
	key, said, chosen := strings.Cut(typed, "=")
	if !chosen {
		for i := range keys {
			keys[i] = word(keys[i]+"=", strings.Join(values[keys[i]], ", "))
		}
		return offer(typed, keys), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	list, directive := List(Words(values[key]...))(c, args, said)
	for i := range list {
		list[i] = key + "=" + list[i]
	}
	return list, directive
}
