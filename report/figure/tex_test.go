package figure

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"nines.dev/nines/test/labtest"
)

// Each figure compiles by itself, and within a document that uses pgf.
func TestLaTeXTakesTheFigures(t *testing.T) {
	_, err := exec.LookPath("pdflatex")
	labtest.Require(t, "pdflatex with the package pgf (Debian: texlive-latex-recommended, texlive-pictures)", err == nil)
	dir := t.TempDir()
	document := []byte("\\documentclass{article}\n\\usepackage{pgf}\n\\begin{document}\n")
	compile := func(name string) {
		t.Helper()
		// Uncompressed objects, so that the page can be inspected.
		c := exec.Command("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-jobname", name, `\pdfobjcompresslevel=0\input{`+name+".tex}")
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out[max(0, len(out)-1500):])
		}
	}
	for name, f := range drawings(t) {
		if err := os.WriteFile(filepath.Join(dir, name+".tex"), rendered(t, f, "tex", Size{}), 0o644); err != nil {
			t.Fatal(err)
		}
		document = append(document, "\\input{"+name+"}\n"...)
		if name == "maxima" || name == "hdr" { // the others are in the document
			compile(name)
			pdf, err := os.ReadFile(filepath.Join(dir, name+".pdf"))
			if err != nil || bytes.Count(pdf, []byte("/Type /Page\n")) != 1 || !bytes.Contains(pdf, []byte("/MediaBox [0 0 240.9")) {
				t.Errorf("%s.pdf is no single page of 85 mm: %v", name, err)
			}
		}
	}
	document = append(document, "\\end{document}\n"...)
	if err := os.WriteFile(filepath.Join(dir, "document.tex"), document, 0o644); err != nil {
		t.Fatal(err)
	}
	compile("document")
}
