package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/service"
)

func startTestChild(t *testing.T, spillway string) *service.Child {
	t.Helper()
	db := filepath.Join(t.TempDir(), "orders.db")
	if err := orders.Create(t.Context(), db, testSizes); err != nil {
		t.Fatal(err)
	}
	c, err := startChild(t.Context(), db, spillway)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

func TestChild(t *testing.T) {
	c := startTestChild(t, "on")
	get := func(url string) (int, string) {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(body)
	}
	res, err := http.Post("http://"+c.At.Addr+"/orders", "application/json", strings.NewReader(`{"customer":1,"lines":[{"product":1,"quantity":1}]}`))
	if err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("placing an order: %v %v", res, err)
	}
	res.Body.Close()
	placed := "http://" + c.At.Addr + "/orders/2001"
	if code, body := get(placed); code != http.StatusOK {
		t.Errorf("reading it back: %d %s", code, body)
	}
	if code, body := get("http://" + c.At.Admin + "/debug/admission?format=text"); code != http.StatusOK || !strings.Contains(body, "LANE write") {
		t.Errorf("the debug page: status %d: %s", code, body)
	}
	if code, body := get("http://" + c.At.Admin + "/admission"); code != http.StatusOK || !strings.Contains(body, `"write"`) {
		t.Errorf("what Spillway decides: %d %.100s", code, body)
	}
	if r, err := c.Speed(t.Context()); err != nil || r[0].Took <= 0 || time.Since(r[0].At) > time.Minute {
		t.Errorf("speed %v, %v", r, err)
	}
	before, err := c.Usage(t.Context())
	if err != nil || before.GoroutinesPeak == 0 || before.HeapPeakBytes == 0 || before.Inflight != 0 {
		t.Errorf("usage %+v, %v", before, err)
	}
	if _, err := c.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, _ := get(placed); code != http.StatusNotFound {
		t.Errorf("after the reset the order is still there: %d", code)
	}
	if err := c.Dead(); err != nil {
		t.Errorf("a living child is said to be dead: %v", err)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("the child ended with %v; want by itself when its input ends, not by force", err)
	}
	if c.Dead() == nil {
		t.Error("a dead child is said to live")
	}
}

func TestChildWithoutSpillway(t *testing.T) {
	c := startTestChild(t, "off")
	if err := c.Ask(t.Context(), http.MethodGet, "/admission", nil); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("the plain arm has a controller: %v", err)
	}
}

func TestChildThatCannotStart(t *testing.T) {
	_, err := startChild(t.Context(), filepath.Join(t.TempDir(), "none", "orders.db"), "off")
	if err == nil || !strings.Contains(err.Error(), "it said: shedcurve: orders: opening") {
		t.Errorf("error %v, want what the child said", err)
	}
}
