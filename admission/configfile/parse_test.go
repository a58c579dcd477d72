package configfile

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

var update = flag.Bool("update", false, "write what is expected anew; look at the difference")

// lag is what the tests' programs bring in: the signal lag and the stage quota.
func lag() Option {
	return With(
		admission.WithSignal("lag", regulators.Func(func(context.Context) (float64, error) { return 0, nil })),
		admission.WithStages(quota{}),
	)
}

type quota struct{}

func (quota) Name() string                                               { return "quota" }
func (quota) Enter(admission.Load, *admission.Request) error             { return nil }
func (quota) Exit(admission.Load, *admission.Request, admission.Outcome) {}

// golden compares got with the file's text.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// Each broken file has its errors beside it, all that there are, with their positions.
func TestBrokenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.[yj][as]*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d broken files, want 20 at least; %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := Parse(filepath.Base(path), data, lag())
			if err == nil || !reflect.ValueOf(cfg).IsZero() {
				t.Fatalf("config %+v, error %v", cfg, err)
			}
			for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
				if one, ok := errors.AsType[*Error](e); !ok || one.Line < 1 || one.Column < 1 || one.Rule == "" {
					t.Errorf("%v has no position or rule", e)
				}
			}
			golden(t, strings.TrimSuffix(path, filepath.Ext(path))+".errors", err.Error()+"\n")
		})
	}
}

// full is a file that says everything, and what it means.
var full = admission.Config{
	Mode: admission.Shadow,
	Lanes: map[string]admission.LaneConfig{
		"read": {},
		"write": {
			Limit:    admission.LimitConfig{Initial: 20, Min: 4, Max: 200, Law: "vegas"},
			Queue:    codel.Config{Capacity: 100, Law: "codel", Target: 5 * time.Millisecond, Interval: 100 * time.Millisecond},
			Gate:     admission.GateConfig{Law: "off"},
			Deadline: 1500 * time.Millisecond, MaxCost: 10,
		},
		"off": {Mode: admission.Off, Limit: admission.LimitConfig{Fixed: 7}},
	},
	Priorities: admission.PriorityConfig{
		Default: admission.T4.Priority(), UntrustedMax: admission.T2.Priority(),
		Callers: map[string]admission.Priority{"checkout": admission.NewPriority(admission.T1, 37), "batch-*": admission.T5.Priority()},
	},
	Scorecard: admission.ScorecardConfig{MaxTenants: 500, Rules: []scorecard.Rule{
		{Name: "each", Match: "tenant:*;op:write", Cap: scorecard.Cap{Share: .25}, UnderPressure: &scorecard.Cap{N: 0}},
		{Name: "forbidden", Match: "tenant:acme"},
		{Name: "trial", Match: "caller:batch-*", Cap: scorecard.Cap{N: 3}, Shadow: true},
	}},
	Regulators: map[string]admission.RegulatorConfig{
		"lag":    {Lanes: []string{"write"}, Setpoint: .8, KP: 1, KI: .2, Period: 200 * time.Millisecond, Timeout: 100 * time.Millisecond, MaxAge: time.Second, OnStale: "hold", HoldFor: time.Minute},
		"memory": {Kind: "bytes", Limit: 64 << 20, By: "tenant", Counts: "cost"},
		"hot":    {Kind: "hot-key", Shadow: true, Limit: .25, Floor: 10 << 20},
		"sched":  {Kind: "sched-latency", Target: 10 * time.Millisecond},
	},
	Stages: map[string]admission.StageConfig{"quota": {Lanes: []string{"write"}}},
}

func TestParse(t *testing.T) {
	for _, path := range []string{"testdata/full.yaml", "testdata/full.json"} {
		cfg, err := Load(path, lag())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(cfg, full) {
			t.Errorf("%s: got  %+v\nwant %+v", path, cfg, full)
		}
	}
	for _, text := range []string{"{}", "lanes: {}\nregulators: {}\nscorecard: {rules: []}", "mode: enforce"} {
		if cfg, err := Parse("x", []byte(text)); err != nil || !reflect.DeepEqual(cfg, admission.Config{}) {
			t.Errorf("%s: %+v, %v; want the zero config", text, cfg, err)
		}
	}
	aliased := "lanes: {a: &a {deadline: 1s}, b: *a}"
	if cfg, err := Parse("x", []byte(aliased)); err != nil || cfg.Lanes["b"].Deadline != time.Second {
		t.Errorf("%s: %+v, %v", aliased, cfg, err)
	}
}

// A duration without a unit is refused wherever it stands, with the field's name; so are
// those that are malformed, negative or at odds with each other.
func TestB38DurationsHaveUnits(t *testing.T) {
	queue := func(lines string) (codel.Config, error) {
		cfg, err := Parse("x", []byte("lanes:\n  default:\n    queue:\n      law: codel\n      "+lines))
		return cfg.Lanes["default"].Queue, err
	}
	for _, tc := range []struct{ lines, want string }{
		{"target: 5", "must have a unit"},
		{`target: "5"`, "must have a unit"},
		{"interval: 100", "must have a unit"},
		{"max_wait: 1.5", "unknown field"},
		{"target: 5 ms", `did you mean "5ms"`},
		{"target: -5ms", "must not be negative"},
		{"target: 0", "must have a unit"},
		{"target: 200ms\n      interval: 100ms", "must be below interval"},
	} {
		name, _, _ := strings.Cut(tc.lines, ":")
		if _, err := queue(tc.lines); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want one that names %s and says %s", tc.lines, err, name, tc.want)
		}
	}
	for lines, want := range map[string][2]time.Duration{
		"target: 5ms": {5 * time.Millisecond, 0}, "interval: 0.1s": {0, 100 * time.Millisecond}, "target: 0s": {},
	} {
		if q, err := queue(lines); err != nil || [2]time.Duration{q.Target, q.Interval} != want {
			t.Errorf("%s: %v and %v, %v; want %v", lines, q.Target, q.Interval, err, want)
		}
	}
}

// Sizes and shares are read where they make sense, to the last digit.
func TestAmounts(t *testing.T) {
	for text, want := range map[string]float64{
		"64MiB": 64 << 20, "1.5GiB": 1.5 * (1 << 30), "10MB": 1e7, "2kB": 2000, "512B": 512, "25%": .25, "33.3%": .333, "7": 7, "0.5": .5, "1e3": 1000,
	} {
		cfg, err := Parse("x", []byte("regulators: {x: {limit: "+text+"}}"))
		if got := cfg.Regulators["x"].Limit; err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"64Mi", "64 MiB", "1.5B", "-1MiB", "inf", ".inf", ".nan", "0x10", "25 %", `"7"`, "99999999TiB", "1e999", "-25%"} {
		if cfg, err := Parse("x", []byte("regulators: {x: {limit: "+text+"}}")); err == nil {
			t.Errorf("%s is read as %v", text, cfg.Regulators["x"].Limit)
		}
	}
	if _, err := Parse("x", []byte("regulators: {x: {floor: 10MiB}}")); err != nil {
		t.Error(err)
	}
}

// Names that the program brings in are known only if it says so.
func TestWith(t *testing.T) {
	data := []byte("regulators:\n  lagg: {}\n")
	if _, err := Parse("x", data); err != nil {
		t.Errorf("nobody said what there is: %v", err)
	}
	_, err := Parse("x", data, lag())
	if want := `x:2:3: regulators["lagg"]: must be of a name that WithSignal, WithKeyedSignal or WithGuard brings in, or have a kind; did you mean "lag"?`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBounds(t *testing.T) {
	if _, err := Parse("x", []byte("# "+strings.Repeat("x", MaxSize))); err == nil || !strings.Contains(err.Error(), "at most 1048576 bytes") {
		t.Errorf("a large file: %v", err)
	}
	// A few kilobytes that stand for a hundred million values.
	list := func(item string) string { return "[" + strings.Repeat(item+",", 10_000) + "]" }
	bomb := "regulators: {a: {lanes: &l " + list("x") + "}, b: &b {lanes: *l}, c: *b"
	for i := range 20 {
		bomb += ", d" + strings.Repeat("x", i) + ": *b"
	}
	_, err := Parse("x", []byte(bomb+"}"))
	if err == nil || !strings.Contains(err.Error(), "at most 100000 values") {
		t.Errorf("many aliases: %.200v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// What Format writes is read back as the same.
func TestFormat(t *testing.T) {
	for _, cfg := range []admission.Config{{}, full, full.WithDefaults()} {
		data, err := Format(cfg)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("x", data)
		if err != nil || !sameConfig(back, cfg) {
			t.Errorf("%v\n%s\ngot  %+v\nwant %+v", err, data, back, cfg)
		}
	}
	data, _ := Format(full)
	golden(t, "testdata/formatted.yaml", string(data))
	if _, err := Format(admission.Config{Mode: 9}); err == nil {
		t.Error("a wrong config is written")
	}
}

func TestNearest(t *testing.T) {
	known := []string{"limit", "queue", "gate", "deadline", "max_cost"}
	for name, want := range map[string]string{"limits": "limit", "dead_line": "deadline", "qeueu": "queue", "GATE": "gate", "maxcost": "max_cost", "whatever": "", "": "", "g": "", "date": "gate"} {
		if got := nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
