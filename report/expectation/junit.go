package expectation

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"nines.dev/nines/expect"
	"nines.dev/nines/terminal"
)

// The elements of JUnit XML. There is no standard: these are those of the schema of Jenkins' plugin xUnit, which knows no
// place of a test case; GitLab and others read them as well.
type (
	junitSuites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Time     float64  `xml:"time,attr"`
		Suite    junitSuite
	}
	junitSuite struct {
		XMLName   xml.Name `xml:"testsuite"`
		Name      string   `xml:"name,attr"`
		Tests     int      `xml:"tests,attr"`
		Failures  int      `xml:"failures,attr"`
		Errors    int      `xml:"errors,attr"`
		Skipped   int      `xml:"skipped,attr"`
		Time      float64  `xml:"time,attr"`
		Timestamp string   `xml:"timestamp,attr"`
		Cases     []junitCase
	}
	junitCase struct {
		XMLName   xml.Name      `xml:"testcase"`
		ClassName string        `xml:"classname,attr"`
		Name      string        `xml:"name,attr"`
		Time      float64       `xml:"time,attr"`
		Failure   *junitProblem `xml:"failure"`
		Error     *junitProblem `xml:"error"`
		Out       string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a test case for each expectation and combination: what is violated is a failure, and what is undecided
// an error, as a test that could not tell.
func WriteJUnit(w io.Writer, j Judgements) error {
	suite := junitSuite{Name: xmlText(j.Name), Time: seconds(j.TrafficNs), Timestamp: j.Started.UTC().Format("2006-01-02T15:04:05")}
	for _, one := range j.List {
		for _, c := range one.Cases {
			tested := junitCase{ClassName: xmlText(j.Name), Name: xmlText(one.Text)}
			if about := c.About(); about != "" {
				tested.Name = xmlText(one.Text + " [" + about + "]")
			}
			problem := &junitProblem{xmlText(c.Sentence(one.Expectation)), string(c.Decision), xmlText(strings.Join(append(one.Place.list(), append([]string{j.Dir}, c.Notes...)...), "; "))}
			switch c.Decision {
			case expect.Violated:
				tested.Failure = problem
				suite.Failures++
			case expect.Undecided:
				tested.Error = problem
				suite.Errors++
			default:
				tested.Out = strings.Join([]string{problem.Message, problem.Text}, "; ")
			}
			suite.Cases = append(suite.Cases, tested)
		}
	}
	suite.Tests = len(suite.Cases)
	if suite.Tests > 0 { // the measurement's time, which is not that of one case
		for i := range suite.Cases {
			suite.Cases[i].Time = seconds(j.TrafficNs / int64(suite.Tests))
		}
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	if err := out.Encode(junitSuites{Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Time: suite.Time, Suite: suite}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// list is the place, if there is one.
func (p Place) list() []string {
	if p.File == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)}
}

// xmlText has nothing that XML forbids, or a reader would act on.
func xmlText(text string) string { return terminal.Plain(text) }

// seconds are rounded to milliseconds, as readers show them.
func seconds(ns int64) float64 { return time.Duration(ns).Round(time.Millisecond).Seconds() }
