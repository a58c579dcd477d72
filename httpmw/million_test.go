package httpmw_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
	"github.com/spillway-go/spillway/internal/race"
	"github.com/spillway-go/spillway/scorecard"
)

// crowd sends requests of many tenants, or of few, through the middleware, one after
// the other. Either way it draws each name from the same million.
type crowd struct {
	h     http.Handler
	r     *http.Request
	w     blank
	names []string
	few   []string
	batch [256]string
	rng   *rand.Rand
}

// blank is a ResponseWriter without a connection that keeps only a refusal's status.
type blank struct {
	header http.Header
	status int
}

func (b *blank) Header() http.Header         { return b.header }
func (b *blank) Write(p []byte) (int, error) { return len(p), nil }
func (b *blank) WriteHeader(status int)      { b.status = status }

func newCrowd(tb testing.TB) *crowd {
	cfg := admission.Config{Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
		{Name: "each tenant", Match: "tenant:*", Cap: scorecard.Cap{Share: 0.5}},
	}}}
	c := &crowd{
		h: httpmw.New(control(tb, cfg), httpmw.Config{
			Headers: httpmw.Headers{Tenant: "X-Tenant", Trusted: func(*http.Request) bool { return true }},
		})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})),
		r:     httptest.NewRequest(http.MethodGet, "/", nil),
		w:     blank{header: http.Header{}},
		names: make([]string, 1_000_000),
		rng:   rand.New(rand.NewPCG(1, 2)),
	}
	for i := range c.names {
		c.names[i] = fmt.Sprintf("tenant-%06d", i)
	}
	c.few = c.names[:10]
	c.r.Header["X-Tenant"] = make([]string, 1)
	return c
}

// draw takes the next names, each from the million, or one of ten by the last digit
// of the name that is drawn. It reads them, as a server has that was just sent one.
func (c *crowd) draw(few bool) {
	for i := range c.batch {
		name := c.names[c.rng.IntN(len(c.names))]
		if digit := name[len(name)-1] - '0'; few {
			name = c.few[digit]
		}
		c.batch[i] = name
	}
}

// send sends the requests of n names or some more, and returns how long each took.
func (c *crowd) send(tb testing.TB, n int, few bool) (each time.Duration) {
	tenant := c.r.Header["X-Tenant"]
	took, sent := time.Duration(0), 0
	for ; sent < n; sent += len(c.batch) {
		c.draw(few)
		begin := time.Now()
		for _, name := range c.batch {
			tenant[0] = name
			c.h.ServeHTTP(&c.w, c.r)
		}
		took += time.Since(begin)
	}
	if c.w.status != 0 {
		tb.Fatalf("refused with status %d", c.w.status)
	}
	return took / time.Duration(sent)
}

// A million tenants (K16) cost neither memory nor much time: the heap grows by less
// than 64 MiB, and a request takes at most one and a half times what it takes with ten.
// The times are taken in turn, and compared by their medians.
func TestAMillionTenants(t *testing.T) {
	if testing.Short() {
		t.Skip("millions of requests")
	}
	c := newCrowd(t)
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	c.send(t, 1000, true)
	before := heap()
	for _, name := range c.names {
		c.r.Header["X-Tenant"][0] = name
		c.h.ServeHTTP(&c.w, c.r)
	}
	grown := heap() - before
	turns := 41
	if race.Enabled { // each takes fifteen times as long, and is far from its bound
		turns = 11
	}
	var many, few []time.Duration
	for range turns {
		many = append(many, c.send(t, 20_000, false))
		few = append(few, c.send(t, 20_000, true))
	}
	slices.Sort(many)
	slices.Sort(few)
	m, f := many[len(many)/2], few[len(few)/2]
	t.Logf("the heap grew by %d bytes; %v for each request with a million tenants, %v with ten: %.2f times", grown, m, f, float64(m)/float64(f))
	if grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes, want less than 64 MiB", grown)
	}
	most := 1.5
	if race.Enabled { // which looks at each access to memory, and misses more with a million
		most = 2.5
	}
	if float64(m) > most*float64(f) {
		t.Errorf("%v for each request with a million tenants, %v with ten: want at most %v times", m, f, most)
	}
}

func BenchmarkTenants(b *testing.B) {
	for _, few := range []bool{true, false} {
		b.Run(map[bool]string{true: "ten", false: "million"}[few], func(b *testing.B) {
			c := newCrowd(b)
			c.send(b, 100_000, few)
			b.ResetTimer()
			b.ReportMetric(float64(c.send(b, b.N, few)), "ns/op")
		})
	}
}
