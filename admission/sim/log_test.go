package sim

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
)

func TestParseLog(t *testing.T) {
	want := []Logged{
		{At: 0, Service: 12500 * time.Microsecond, Deadline: 250 * time.Millisecond, Lane: "read", Tenant: "acme, inc", Tier: admission.T1},
		{At: 250 * time.Millisecond, Service: 0, Tier: admission.T3},
		{At: 1500 * time.Millisecond, Service: 2 * time.Second, Deadline: time.Second, Tier: admission.T5},
	}
	for name, text := range map[string]string{
		"units in the header": "time_s,lane,tier,tenant,service_time_ms,deadline_ms\n" +
			"1772366400,read,t1,\"acme, inc\",12.5,250\n1772366401.5,,t5,,2000,1000\n1772366400.25,,,,0,\n",
		"units in the values": "\ufeffdeadline, time, service time, tenant, tier, lane\r\n" +
			"250ms,2026-03-01T12:00:00Z,12.5ms,\"acme, inc\",t1,read\r\n,2026-03-01T13:00:00.25+01:00,0s,,,\r\n1s,2026-03-01T12:00:01.5Z,2s,,t5,\r\n",
		"durations": "time,lane,tier,tenant,service_time_us,deadline\n0s,read,t1,\"acme, inc\",12500,.25s\n1.5s,,t5,,2e6,1s\n250ms,,t3,,0,\n",
	} {
		if got, err := ParseLog(strings.NewReader(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParseLogErrors(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        {"sim: line 1: is missing"},
		"time_s,service_time_s\n": {"sim: line 2: is missing"},
		"\"time_s\n1,2\n":         {"sim: record on line 1; parse error on line 2"},
		"time,teir,time_s,size_ms\n1,2,3\n": {
			`sim: line 1, column 2 is "teir": must be one of time, service_time, lane, tier, tenant, deadline`,
			`sim: line 1, column 3 is "time_s": there is a time already`,
			`sim: line 1, column 4 is "size_ms": must be one of`, "sim: line 1: column service_time is missing",
		},
		"time_s,service_time_ms,tier,deadline\n0,1,t1,1s\n-1,NaN,t6,0s\n2,1\n\"x\ny\",inf,t1/3,9\n1e300,,t1,2h\n": {
			`sim: line 3, column time_s is "-1": must be a number from 0 to 7.258`, `sim: line 3, column service_time_ms is "NaN": must be a number from 0 to 3.6e+06`,
			`sim: line 3, column tier is "t6": must be t0 to t5`, `sim: line 3, column deadline is "0s": must be above 0, or empty`,
			"sim: record on line 4: wrong number of fields",
			`sim: line 5, column time_s is "x\ny"`, `sim: line 6, column service_time_ms is "inf"`, `sim: line 6, column tier is "t1/3"`,
			`sim: line 6, column deadline is "9": must be a duration from 0s to 1h with its unit, such as 12.5ms`,
			`sim: line 7, column time_s is "1e300"`, `sim: line 7, column service_time_ms is ""`, `sim: line 7, column deadline is "2h"`,
		},
		"time,service_time\n1s,1s\n2026-03-01T12:00:00Z,1s\n1969-03-01T12:00:00Z,1s\nnoon,1s\n": {
			`line 3, column time is "2026-03-01T12:00:00Z": must be of one kind in all rows`, "line 4, column time is \"1969-03-01T12:00:00Z\": must be between 1970 and 2200", `line 5, column time is "noon": must be a date`,
		},
		"time_s,service_time_s\n0,0\n90000,0\n":                  {"sim: column time spans 25h0m0s: must be at most a day"},
		"time_s,service_time_s\n" + strings.Repeat("x,1\n", 250): {"sim: line 101, column time_s", "sim: and 150 more errors"},
	} {
		log, err := ParseLog(strings.NewReader(text))
		if err == nil || log != nil {
			t.Errorf("%.60q: no error", text)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%.60q: got\n%v\nwant in it\n%s", text, err, w)
			}
		}
	}
}

// A log is read no further than to its error, however long it is.
func TestLoadReadsALogAsItComes(t *testing.T) {
	path := writeFile(t, t.TempDir(), "trace.CSV", "time_s\n")
	if err := os.Truncate(path, 1<<28); err != nil { // zeros, which take no room
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Load(path)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "column service_time is missing") {
		t.Errorf("the error is %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<24 {
		t.Errorf("%d bytes were taken for an error in the first line", n)
	}
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A log alone is a scenario with a plain delay: everything is answered, each after its
// own time, and who waits less than that gets nothing.
func TestLoadLog(t *testing.T) {
	path := writeFile(t, t.TempDir(), "mon.csv", "time_s,service_time_ms,deadline_ms,tier\n7,30,100,t1\n7.001,50,100,t2\n7.002,300,100,t5\n")
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(admission.Config{}, s)
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "mon" || r.Requests != 3 || r.Good != 2 || r.Late != 1 || r.Serviceable != 3 || r.Tiers[1].Good != 1 || r.Tiers[2].Good != 1 || r.Tiers[5].Late != 1 {
		t.Errorf("%q: %+v", s.Name, r.Tiers)
	}
	for tier, want := range map[admission.Tier]time.Duration{admission.T1: 30 * time.Millisecond, admission.T2: 50 * time.Millisecond} {
		if got := r.Tiers[tier].P50; (got - want).Abs() > want/50 {
			t.Errorf("%v took %v, want %v", tier, got, want)
		}
	}
}

// With a back end of one server the same requests come one after the other.
func TestLogMeetsABackEnd(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "mon.csv", "time_s,service_time_ms\n0,30\n0,30\n0,30\n0,30\n")
	s, err := Load(writeFile(t, dir, "mon.json", `{"log": "mon.csv", "capacity_rps": 33, "backend": [{"servers": 1, "dist": {"kind": "log"}}], "client": {"deadline_ms": 100}}`))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Run(admission.Config{Mode: admission.Off}, s); err != nil || r.Good != 3 || r.Late != 1 {
		t.Errorf("good %d, late %d, %v; want 3 within 100 ms, one after 120 ms", r.Good, r.Late, err)
	}
}

func TestLoadLogErrors(t *testing.T) {
	dir := t.TempDir()
	log := writeFile(t, dir, "mon.csv", "time_s,service_time_ms\n0,30\n")
	empty := writeFile(t, dir, "empty.csv", "time_s\n")
	given := func(what string) string {
		return `{"log": "mon.csv", "backend": [{"dist": {"kind": "log"}}], "client": {"deadline_ms": 100}` + what + `}`
	}
	for path, want := range map[string]string{
		log:   "mon.csv:\nsim: log request 1 deadline is missing: must be given, unless the scenario has client.deadline_ms",
		empty: "empty.csv:\nsim: line 1: column service_time is missing",
		writeFile(t, dir, "1.json", given(`, "load": {"points": [[0, 1]]}, "tier_mix": [1]`)): "sim: load is given: must be left out with a log\nsim: tier_mix is given",
		writeFile(t, dir, "2.json", strings.Replace(given(""), "mon.csv", "none.csv", 1)):     "none.csv: no such file",
		writeFile(t, dir, "3.json", strings.Replace(given(""), "mon.csv", "empty.csv", 1)):    "empty.csv:\nsim: line 1: column service_time is missing",
		writeFile(t, dir, "4.json", strings.Replace(least, `"det"`, `"log"`, 1)):              `backend[0].dist.kind is "log": must be with a log`,
		writeFile(t, dir, "5.json", given(`, "capacity_rps": -1`)):                            "capacity_rps is -1",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant in it %s", path, err, want)
		}
	}
	if _, err := Parse([]byte(given(""))); err == nil || !strings.Contains(err.Error(), `log is "mon.csv": must be read by Load`) {
		t.Errorf("parsed without its file: %v", err)
	}
}

// The lane of the scenario is that of the config and of the log.
func TestLanes(t *testing.T) {
	s := Scenario{
		DurationS: 1, Backend: []Station{{Dist: Dist{Kind: "log"}}}, Client: Client{DeadlineMS: 100},
		Requests: []Logged{{Lane: "read", Service: 10 * time.Millisecond}, {Lane: "write", Service: 10 * time.Millisecond}, {Lane: "read", Service: 10 * time.Millisecond}},
	}
	cfg := admission.Config{Lanes: map[string]admission.LaneConfig{"read": {Limit: admission.LimitConfig{Fixed: 7}}, "write": {}}}
	s.Lane = "read"
	if r, err := Run(cfg, s); err != nil || r.Requests != 2 || r.MeanLimit != 7 {
		t.Errorf("lane read: %d requests at limit %v, %v", r.Requests, r.MeanLimit, err)
	}
	if a, errA := Full.key(cfg, s, 2); errA != nil {
		t.Error(errA)
	} else {
		s.Requests[2].Service++
		if b, errB := Full.key(cfg, s, 2); a == b || errB != nil {
			t.Errorf("another log has the same key: %v", errB)
		}
	}
	s.Lane = ""
	if _, err := Run(cfg, s); err == nil || err.Error() != `sim: lane is "default": must be one of the config's, ["read" "write"]` {
		t.Errorf("no lane: %v", err)
	}
	if _, err := Run(admission.Config{}, s); err == nil || err.Error() != `sim: lane is "default": must be one of the log's, ["read" "write"]` {
		t.Errorf("no lane of the log: %v", err)
	}
	s.Lane = "wriet"
	if _, err := Run(admission.Config{}, s); err == nil || !strings.Contains(err.Error(), `lane is "wriet": must be one of the config's, ["default"]`) {
		t.Errorf("a lane of no config: %v", err)
	}
}

// burst is half a minute of two servers' requests, ten seconds of them at twice what
// the servers can do.
func burst() string {
	var b bytes.Buffer
	fmt.Fprintln(&b, "time_s,lane,tier,tenant,service_time_ms,deadline_ms")
	random := stream{1}
	for at := 0.0; ; {
		rate := 20.0
		if at >= 10 && at < 20 {
			rate = 80
		}
		if at += random.exp() / rate; at >= 30 {
			return b.String()
		}
		tier := []int{1, 2, 2, 3, 5}[random.next()%5]
		fmt.Fprintf(&b, "%.3f,,t%d,tenant-%d,%.1f,500\n", 1772366400+at, tier, random.next()%9, 50*random.exp())
	}
}

// The committed log is what this test makes; what comes of it is a shed curve's point.
func TestCommittedLog(t *testing.T) {
	path := filepath.Join("testdata", "log", "burst.csv")
	if *update {
		if err := os.WriteFile(path, []byte(burst()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != burst() {
		t.Fatalf("%s is not what burst makes (%v): run with -update", path, err)
	}
	s, err := Load(filepath.Join("testdata", "log", "burst.json"))
	if err != nil {
		t.Fatal(err)
	}
	on, err := Run(admission.Config{}, s)
	if err != nil {
		t.Fatal(err)
	}
	off, err := Run(admission.Config{Mode: admission.Off}, s)
	if err != nil {
		t.Fatal(err)
	}
	served := func(r Report, tier int) float64 { return float64(r.Tiers[tier].Good) / float64(r.Tiers[tier].Requests) }
	t.Logf("good with the lane %.3f of the serviceable, t1 %.3f, t5 %.3f; without %.3f, t1 %.3f", float64(on.Good)/on.Serviceable, served(on, 1), served(on, 5), float64(off.Good)/off.Serviceable, served(off, 1))
	if float64(on.Good) < 0.85*on.Serviceable || served(on, 1) < 0.9 || served(on, 5) > served(on, 1) || off.Good >= on.Good {
		t.Error("the lane does not do what it should")
	}
}

// Whatever is read is in order, valid and playable, and no text panics.
func FuzzParseLog(f *testing.F) {
	f.Add(burst()[:400])
	f.Add("time,service time,deadline\n2026-03-01T12:00:00Z,1ms,2s\n1s,1,\n")
	f.Add("time_ns,service_time_us\n1,2\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		log, err := ParseLog(strings.NewReader(text))
		if err != nil {
			return
		}
		s := Scenario{Requests: log, Backend: []Station{{Dist: Dist{Kind: distLog}}}, Client: Client{DeadlineMS: 100}}
		s.fitLog()
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		s.Lane = log[0].Lane
		cfg := admission.Config{Lanes: map[string]admission.LaneConfig{s.Lane: {}}}
		if cfg.Validate() != nil || s.DurationS > 60 {
			return
		}
		if r, err := Run(cfg, s); err != nil || r.Requests == 0 || r.Requests > uint64(len(log)) {
			t.Fatalf("%d requests of %d, %v", r.Requests, len(log), err)
		}
	})
}
