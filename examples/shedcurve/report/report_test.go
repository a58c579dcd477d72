package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
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
		t.Errorf("%s differs; run with -update and look at the difference. Got:\n%s", path, got)
	}
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// small is one point with every figure, and one with none.
func small() Report {
	return Report{
		CapacityRPS: 100, DeadlineMS: 250, Seed: 7, GeneratorLagP99MS: 0.5,
		Arms: []Arm{{Name: ArmOn, Points: []Point{{
			X: 2, OfferedRPS: 200, GoodputRPS: 95, AdmittedP50MS: new(4.5), AdmittedP99MS: new(60.0),
			Offered: 400, Good: 190, Admitted: 195, Shed: 205, Failed: 5,
			Tiers:          map[string]Tally{"t1": {Offered: 100, Good: 99, Shed: 0}},
			Tenants:        map[string]Tally{"acme": {Offered: 400, Good: 190, Shed: 205}},
			Reasons:        map[string]int{"priority": 205},
			RetryAfter:     RetryAfter{Min: new(1.0), Max: new(3.0), Distinct: 3},
			GoroutinesPeak: new(44), HeapPeakBytes: new(int64(9e6)), CPUSeconds: new(1.5),
			DurationS: 2, LagP99MS: 0.5, Valid: true, LeftOut: 0.25, Speed: new(0.96),
		}}}, {Name: ArmTarget, Points: []Point{{X: 3}}}},
	}
}

// The names in this file are what other programs read.
func TestJSONNames(t *testing.T) {
	golden(t, "small.json", written(t, small().WriteJSON))
}

// Readers need not tell null from empty.
func TestJSONListsAreNeverNull(t *testing.T) {
	for want, r := range map[string]Report{
		`"arms": []`:   {},
		`"points": []`: {Arms: []Arm{{Name: ArmOn}}},
	} {
		if got := written(t, r.WriteJSON); !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
		if got := island(t, written(t, r.WriteHTML)); got.Arms == nil {
			t.Error("the page's arms are null")
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	want, err := made().prepared()
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal([]byte(written(t, made().WriteJSON)), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestCSVParsesBack(t *testing.T) {
	r := made()
	r.Arms[0].Points[1].GoroutinesPeak = nil
	rows, err := csv.NewReader(strings.NewReader(written(t, r.WriteCSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+16 {
		t.Fatalf("%d rows", len(rows))
	}
	cell := func(row int, column string) string { return rows[row][slices.Index(rows[0], column)] }
	for _, c := range []struct {
		row          int
		column, want string
	}{
		{1, "arm", "off"},
		{1, "x", "0.5"},
		{1, "capacity_rps", "300"},
		{1, "seed", "9223372036854775809"},
		{1, "tier_t1_offered", "315"},
		{1, "retry_after_min_s", ""},
		{2, "goroutines_peak", ""},
		{3, "goroutines_peak", "60"},
		{16, "arm", "on"},
		{16, "x", "10"},
		{16, "valid", "true"},
		{16, "reason_priority", "14628"},
		{16, "retry_after_max_s", "4"},
		{16, "tier_t5_good", "0"},
	} {
		if got := cell(c.row, c.column); got != c.want {
			t.Errorf("row %d, %s: %q, want %q", c.row, c.column, got, c.want)
		}
	}
}

// A column that is called as a field of the JSON has that field's value.
func TestCSVAgreesWithJSON(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(written(t, small().WriteCSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Arms []struct{ Points []map[string]any }
	}
	dec := json.NewDecoder(strings.NewReader(written(t, small().WriteJSON)))
	dec.UseNumber()
	if err := dec.Decode(&r); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, column := range rows[0] {
		for j, arm := range r.Arms {
			field, ok := arm.Points[0][column]
			if !ok {
				continue
			}
			want := ""
			switch v := field.(type) {
			case json.Number:
				want = v.String()
			case bool:
				want = strconv.FormatBool(v)
			}
			if got := rows[1+j][i]; got != want {
				t.Errorf("arm %d, %s: %q, want %q", j, column, got, want)
			}
			compared++
		}
	}
	if compared != 2*18 {
		t.Errorf("compared %d cells, want 36", compared)
	}
}

func TestTable(t *testing.T) {
	r := made()
	r.Arms[1].Points[7].Valid = false
	r.Arms[0].Points[0].LeftOut, r.Arms[1].Points[2].LeftOut = 0.1, 0.2
	r.Note = "the target went away"
	golden(t, "table.txt", written(t, r.WriteTable))
}

// A foreign service chooses its reasons: however many and long, and whatever
// they hold, the table stays within its width and steers no terminal.
func TestTableIsBounded(t *testing.T) {
	r := made()
	for i := range 20 {
		r.Arms[1].Points[3].Reasons["\x1b[2Jreason "+strings.Repeat(string(rune('a'+i)), 40)] = 1
	}
	got := written(t, r.WriteTable)
	if strings.Contains(got, "\x1b") {
		t.Error("an escape sequence came through")
	}
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > tableColumns {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for i := range 20 {
		if !strings.Contains(got, "reason "+strings.Repeat(string(rune('a'+i)), 5)) {
			t.Errorf("column %d is missing", i)
		}
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		part, whole float64
		want        string
	}{
		{0, 0, ""},
		{0, 10, "0.0%"},
		{1, 10_000, "<0.1%"},
		{9_999, 10_000, ">99.9%"},
		{10, 10, "100.0%"},
		{10_001, 10_000, "100.0%"},
		{12, 10, "120.0%"},
	} {
		if got := share(c.part, c.whole); got != c.want {
			t.Errorf("share(%v, %v) = %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

func TestHeadline(t *testing.T) {
	r := made()
	both := "Offered 10× its capacity, the service keeps 97% of it as goodput with Spillway, 0% without Spillway"
	target := Report{CapacityRPS: 10, Arms: []Arm{{Name: ArmTarget, Points: []Point{{X: 2, GoodputRPS: 9, Valid: true}}}}}
	unknown := target
	unknown.CapacityRPS = 0
	lagged := made()
	lagged.Arms[0].Points[7].Valid = false
	for name, c := range map[string]struct {
		report Report
		want   string
	}{
		"both arms":                      {r, both},
		"the last point lagged":          {lagged, strings.Replace(both, "10×", "5×", 1)},
		"a service of somebody else's":   {target, "Offered 2× its capacity, the service keeps 90% of it as goodput (target)"},
		"capacity not known":             {unknown, ""},
		"nothing":                        {Report{CapacityRPS: 1}, ""},
		"an arm that was not begun with": {Report{CapacityRPS: 1, Arms: []Arm{target.Arms[0], {Name: ArmOn}}}, ""},
	} {
		if got := c.report.headline(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestValidate(t *testing.T) {
	r := small()
	r.CapacityRPS = math.NaN()
	r.Arms[1].Name = ArmOn
	p := &r.Arms[0].Points[0]
	p.X, p.AdmittedP99MS, p.Shed = 0, new(math.Inf(1)), -1
	p.Tiers["t1"] = Tally{Good: -3}
	p.LeftOut, p.Speed = 1.5, new(-1.0)
	err := r.Validate()
	want := strings.Join([]string{
		`report: capacity_rps: NaN: must be within 0 and 1e15`,
		`report: arms[0].points[0].x: 0: must be within 1e-6 and 1e6`,
		`report: arms[0].points[0].left_out: 1.5: must be within 0 and 1`,
		`report: arms[0].points[0].speed: -1: must be within 0 and 1e15`,
		`report: arms[0].points[0].admitted_p99_ms: +Inf: must be within 0 and 1e15`,
		`report: arms[0].points[0].shed: -1: must be within 0 and 1e15`,
		`report: arms[0].points[0].tiers["t1"].good: -3: must be within 0 and 1e15`,
		`report: arms[1].name: "on": must be given and differ from the other arms'`,
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	for name, write := range writers(r) {
		if err := write(io.Discard); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func writers(r Report) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"table": r.WriteTable, "JSON": r.WriteJSON, "CSV": r.WriteCSV, "SVG": r.WriteSVG, "HTML": r.WriteHTML,
	}
}
