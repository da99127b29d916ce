package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"nines.dev/nines/test/labtest"
)

// browserTimeout only stops a browser that hangs; it measures nothing.
const browserTimeout = 3 * time.Minute

// tab is a page in a real Chromium, with all its complaints and requests.
type tab struct {
	t        *testing.T
	ctx      context.Context
	mutex    sync.Mutex
	complain []string
	requests []string
}

// openTab starts a Chromium with a fresh profile and loads a file in it.
func openTab(t *testing.T, path string, width, height int) *tab {
	t.Helper()
	binary := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			binary = found
			break
		}
	}
	if binary == "" {
		labtest.Require(t, "chromium, to look at the page (apt-get install chromium)", false)
	}
	allocator, stopBrowser := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(binary), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(width, height),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-device-scale-factor", "1"))
	deadline, stopDeadline := context.WithTimeout(allocator, browserTimeout)
	ctx, closeTab := chromedp.NewContext(deadline)
	page := &tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		// Wait for the browser to exit, so that its profile can be removed.
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("ending the browser: %v", err)
		}
		closeTab()
		stopDeadline()
		stopBrowser()
	})
	chromedp.ListenTarget(ctx, page.listen)
	page.run(network.Enable(), log.Enable(), chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate("file://"+path))
	return page
}

func (p *tab) listen(event any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			p.complain = append(p.complain, fmt.Sprintf("console.%s: %s", e.Type, e.Args[0].Value))
		}
	case *runtime.EventExceptionThrown:
		p.complain = append(p.complain, "exception: "+e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			p.complain = append(p.complain, "log: "+e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	}
}

// run runs actions in the page.
func (p *tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// eval evaluates JavaScript and awaits promises.
func eval[T any](p *tab, script string) T {
	p.t.Helper()
	var value T
	err := chromedp.Run(p.ctx, chromedp.Evaluate(script, &value, func(e *runtime.EvaluateParams) *runtime.EvaluateParams {
		return e.WithAwaitPromise(true)
	}))
	if err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
	return value
}

// settle waits until pending drawing is done.
func (p *tab) settle() {
	p.t.Helper()
	eval[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// quiet fails the test if the page complained, or requested anything but itself.
func (p *tab) quiet(path string) {
	p.t.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, complaint := range p.complain {
		p.t.Errorf("the page complains: %s", complaint)
	}
	own := 0
	for _, url := range p.requests {
		switch {
		case url == "file://"+path:
			own++
		case strings.HasPrefix(url, "data:"): // within the page
		default:
			p.t.Errorf("the page asks for %s", url)
		}
	}
	if own == 0 {
		p.t.Error("the browser's requests were not seen at all")
	}
}

// screenshot stores a picture of the whole page in build/screenshots.
func (p *tab) screenshot(name string) {
	p.t.Helper()
	var picture []byte
	p.run(chromedp.FullScreenshot(&picture, 100))
	p.keep(name, picture)
}

// picture is screenshot of one element.
func (p *tab) picture(selector, name string) {
	p.t.Helper()
	var picture []byte
	p.run(chromedp.Screenshot(selector, &picture, chromedp.ByQuery))
	p.keep(name, picture)
}

func (p *tab) keep(name string, picture []byte) {
	p.t.Helper()
	dir := filepath.Join("..", "build", "screenshots")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// writePage writes a page of a result folder to a file.
func writePage(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WritePage(dir, file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
