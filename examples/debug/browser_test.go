package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// browser is a headless Chromium with one page, told what to do over two pipes by the
// DevTools protocol (https://chromedevtools.github.io/devtools-protocol/): JSON
// messages, each ended by a zero byte.
type browser struct {
	t        *testing.T
	commands *os.File
	session  string

	mu       sync.Mutex
	next     int
	answers  map[int]chan message
	problems []string // what the console was told
	requests []string // URLs
}

type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
}

// openBrowser starts one, which ends with the test. Without Chromium in PATH the test
// is skipped, or fails where CI is set.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("CI is set, so that this must run: %v", err)
	} else if err != nil {
		t.Skipf("%v (Debian's package chromium has it)", err)
	}
	commandsRead, commands, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, answersWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile := t.TempDir()
	cmd := exec.Command(program, "--headless", "--remote-debugging-pipe", "--user-data-dir="+profile,
		"--no-sandbox", // it may run as root, and sees no page but ours
		"--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-crash-reporter", "--disable-breakpad", "about:blank")
	cmd.ExtraFiles = []*os.File{commandsRead, answersWrite} // its descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "HOME="+profile)
	said, err := os.Create(filepath.Join(t.ArtifactDir(), "chromium.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	commandsRead.Close()
	answersWrite.Close()
	b := &browser{t: t, commands: commands, answers: map[int]chan message{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(answers)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it and its children
		_ = cmd.Wait()
		commands.Close()
		<-read
		answers.Close()
		said.Close()
		if t.Failed() {
			text, _ := os.ReadFile(said.Name())
			t.Logf("chromium said:\n%s", text)
		}
	})
	b.attach()
	return b
}

// attach opens a page and listens to it.
func (b *browser) attach() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
}

func (b *browser) read(from *os.File) {
	r := bufio.NewReader(from)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(data[:len(data)-1], &m); err != nil {
			continue
		}
		b.mu.Lock()
		if answer := b.answers[m.ID]; m.ID != 0 && answer != nil {
			answer <- m
			delete(b.answers, m.ID)
		} else {
			b.note(m)
		}
		b.mu.Unlock()
	}
}

// note keeps what the test wants to know of events; b.mu is held.
func (b *browser) note(m message) {
	var p struct {
		Request struct{ URL string }
		Type    string
		Entry   struct{ Level, Text, URL string }
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "Network.requestWillBeSent":
		b.requests = append(b.requests, p.Request.URL)
	case "Runtime.exceptionThrown":
		b.problems = append(b.problems, string(m.Params))
	case "Runtime.consoleAPICalled":
		if p.Type == "error" || p.Type == "warning" || p.Type == "assert" {
			b.problems = append(b.problems, string(m.Params))
		}
	case "Log.entryAdded":
		if p.Entry.Level == "error" || p.Entry.Level == "warning" {
			b.problems = append(b.problems, fmt.Sprintf("%+v", p.Entry))
		}
	}
}

// heard returns what was written to the console as a problem, and asked of the network.
func (b *browser) heard() (problems, requests []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.problems...), append([]string(nil), b.requests...)
}

// call sends a command and decodes its answer into result, unless that is nil.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	if err := b.try(method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *browser) try(method string, params, result any) error {
	answer := make(chan message, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	b.answers[id] = answer
	b.mu.Unlock()
	if params == nil {
		params = struct{}{}
	}
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	text, err = json.Marshal(message{ID: id, Method: method, Params: text, SessionID: b.session})
	if err != nil {
		return err
	}
	if _, err := b.commands.Write(append(text, 0)); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return errors.New(m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-time.After(time.Minute):
		return errors.New("no answer within a minute")
	}
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *browser, expression string) (value T) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value T }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	return answer.Result.Value
}

// until waits until an expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if eval[bool](b, expression) {
			return
		}
		if time.Since(begin) > 30*time.Second {
			b.t.Fatalf("not true within 30 s: %s; the page reads:\n%s", expression, eval[string](b, "document.body.innerText"))
		}
	}
}

// screenshot writes a picture of the whole page, width wide, among the test's artifacts.
func (b *browser) screenshot(name, scheme string, width int, mobile bool) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": mobile}, nil)
	if got := eval[int](b, "document.documentElement.scrollWidth"); got > width {
		b.t.Errorf("the page is %d px wide on a screen of %d", got, width)
	}
	var picture struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &picture)
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), data, 0o644)
	}
	if err != nil || len(data) < 10_000 {
		b.t.Errorf("screenshot %s has %d bytes: %v", name, len(data), err)
	}
}
