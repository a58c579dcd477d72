package orders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const testOrders = 2_000 // fewer than a load test has: the race detector is slow

var testSizes = Sizes{testOrders, 110, 1_600}

var store *Store // one seeded database for all tests: each leaves it as it found it, by Reset

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		panic(err)
	}
	path := filepath.Join(dir, "orders.db")
	if err = Create(context.Background(), path, testSizes); err == nil {
		store, err = Open(context.Background(), path)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	store.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}

func call(t *testing.T, method, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	WithDeadline(Handler(store)).ServeHTTP(w, r)
	return w
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	return v
}

func count(t *testing.T, table string) (n int) {
	t.Helper()
	if err := store.db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSeed(t *testing.T) {
	for table, want := range map[string]int{"orders": testOrders, "customers": testSizes.Customers, "products": testSizes.Products, "lines": 3 * testOrders} {
		if got := count(t, table); got != want {
			t.Errorf("%s: %d rows, want %d", table, got, want)
		}
	}
	var least, most int
	if err := store.db.QueryRowContext(t.Context(),
		"SELECT min(n), max(n) FROM (SELECT count(*) AS n FROM orders GROUP BY customer_id)").Scan(&least, &most); err != nil {
		t.Fatal(err)
	}
	if mean := testOrders / testSizes.Customers; least < mean/2 || most > mean*2 {
		t.Errorf("orders per customer: %d to %d; want them near %d, or requests of one kind differ in cost", least, most, mean)
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		method, target, body string
		want                 int
	}{
		{"GET", "/orders/1", "", http.StatusOK},
		{"GET", "/orders/2000", "", http.StatusOK},
		{"GET", "/orders/2001", "", http.StatusNotFound},
		{"GET", "/orders/0", "", http.StatusBadRequest},
		{"GET", "/orders/x", "", http.StatusBadRequest},
		{"GET", "/customers/60/orders", "", http.StatusOK},
		{"GET", fmt.Sprintf("/customers/%d/orders", testSizes.Customers+1), "", http.StatusNotFound},
		{"GET", "/reports/top", "", http.StatusOK},
		{"GET", "/nowhere", "", http.StatusNotFound},
		{"DELETE", "/orders/1", "", http.StatusMethodNotAllowed},
		{"POST", "/orders", `{`, http.StatusBadRequest},
		{"POST", "/orders", `{"customer":1,"lines":[]}`, http.StatusBadRequest},
		{"POST", "/orders", `{"customer":1,"lines":[{"product":1,"quantity":-5}]}`, http.StatusBadRequest},
		{"POST", "/orders", `{"customer":0,"lines":[{"product":1,"quantity":1}]}`, http.StatusNotFound},
		{"POST", "/orders", `{"customer":1,"lines":[{"product":0,"quantity":1}]}`, http.StatusConflict},
		{"POST", "/orders", `{"customer":1,"lines":[{"product":1,"quantity":999999999}]}`, http.StatusConflict},
	} {
		if w := call(t, tt.method, tt.target, tt.body); w.Code != tt.want {
			t.Errorf("%s %s %s: %d %s, want %d", tt.method, tt.target, tt.body, w.Code, w.Body, tt.want)
		}
	}
	if n := count(t, "orders"); n != testOrders {
		t.Errorf("refused orders left %d rows behind", n-testOrders)
	}
}

// The gauge is the same work whatever is placed, and does not need the pool.
func TestGauge(t *testing.T) {
	for range poolSize {
		conn, err := store.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if took, err := store.Gauge(t.Context()); err != nil || took <= 0 {
		t.Errorf("with the pool taken: %v, %v", took, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Gauge(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// An order that is placed is read back whole, shows up everywhere else, and Reset takes it away again.
func TestPlaceReadReset(t *testing.T) {
	before := decode[History](t, call(t, "GET", "/customers/7/orders", ""))
	w := call(t, "POST", "/orders", `{"customer":7,"lines":[{"product":3,"quantity":2},{"product":9,"quantity":1}]}`)
	if w.Code != http.StatusCreated {
		t.Fatalf("placing: %d %s", w.Code, w.Body)
	}
	placed := decode[struct{ ID, Total int }](t, w)

	o := decode[Order](t, call(t, "GET", "/orders/2001", ""))
	if o.ID != placed.ID || o.Customer != 7 || len(o.Lines) != 2 || o.Lines[0].Product != 3 || o.Lines[0].Quantity != 2 {
		t.Errorf("placed %+v, read back %+v", placed, o)
	}
	if total := 2*o.Lines[0].Price + o.Lines[1].Price; total != placed.Total {
		t.Errorf("total %d, lines say %d", placed.Total, total)
	}
	after := decode[History](t, call(t, "GET", "/customers/7/orders", ""))
	if after.Orders[0].ID != placed.ID || after.Turnover != before.Turnover+placed.Total {
		t.Errorf("history starts with order %d, turnover %d; want %d and %d", after.Orders[0].ID, after.Turnover, placed.ID, before.Turnover+placed.Total)
	}

	if err := store.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := call(t, "GET", "/orders/2001", ""); w.Code != http.StatusNotFound {
		t.Errorf("after Reset the order is still there: %d", w.Code)
	}
	if h := decode[History](t, call(t, "GET", "/customers/7/orders", "")); h.Turnover != before.Turnover || h.Orders[0] != before.Orders[0] {
		t.Errorf("after Reset: %+v, before: %+v", h, before)
	}
	var taken int
	if err := store.db.QueryRowContext(t.Context(), "SELECT count(*) FROM products WHERE stock <> ?", seededStock).Scan(&taken); err != nil || taken != 0 {
		t.Errorf("after Reset %d products lack stock, %v", taken, err)
	}
}

// The report against the rows themselves, added up here.
func TestTop(t *testing.T) {
	const latest = 500
	rows, err := store.db.QueryContext(t.Context(), "SELECT customer_id, product_id, quantity * price FROM lines WHERE order_id > ?", testOrders-latest)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	products, customers := map[int]int{}, map[int]int{}
	for rows.Next() {
		var customer, product, total int
		if err := rows.Scan(&customer, &product, &total); err != nil {
			t.Fatal(err)
		}
		products[product] += total
		customers[customer] += total
	}
	top, err := store.Top(t.Context(), latest)
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string]struct {
		got  []Best
		want map[int]int
	}{"products": {top.Products, products}, "customers": {top.Customers, customers}} {
		best := slices.Sorted(maps.Values(list.want))
		slices.Reverse(best)
		if len(list.got) != 20 {
			t.Errorf("%s: %d, want 20", name, len(list.got))
		}
		for i, b := range list.got {
			if b.Total != best[i] || list.want[b.ID] != b.Total || b.Name == "" {
				t.Errorf("%s: place %d is %+v, want a total of %d", name, i, b, best[i])
			}
		}
	}
}

// Every line of the latest orders is in one region.
func TestTopRegions(t *testing.T) {
	var all, regions int
	if err := store.db.QueryRowContext(t.Context(), "SELECT sum(quantity * price) FROM lines WHERE order_id > ?", testOrders-500).Scan(&all); err != nil {
		t.Fatal(err)
	}
	top, err := store.Top(t.Context(), 500)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range top.Regions {
		regions += b.Total
	}
	if regions != all || len(top.Regions) != 12 {
		t.Errorf("%d regions with %d, want 12 with %d", len(top.Regions), regions, all)
	}
	if len(top.Categories) != 20 || top.Categories[0].Total < top.Categories[19].Total {
		t.Errorf("categories are not the best first: %+v", top.Categories)
	}
}

func TestDeadline(t *testing.T) {
	var left time.Duration
	var has bool
	h := WithDeadline(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var d time.Time
		if d, has = r.Context().Deadline(); has {
			left = time.Until(d)
		}
	}))
	for _, tt := range []struct {
		header string
		status int
		left   time.Duration // 0: no deadline
	}{
		{"", 200, 0},
		{"250ms", 200, 250 * time.Millisecond},
		{"2s", 200, 2 * time.Second},
		{"100h", 200, maxDeadline},
		{"250", 400, 0},
		{"-1s", 400, 0},
		{"0s", 400, 0},
		{"soon", 400, 0},
	} {
		synctest.Test(t, func(t *testing.T) { // where no time passes on the way
			left, has = 0, false
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r.Header.Set(DeadlineHeader, tt.header)
			h.ServeHTTP(w, r)
			if w.Code != tt.status || has != (tt.left > 0) || left != tt.left {
				t.Errorf("%q: status %d, deadline %v in %v; want %d and %v", tt.header, w.Code, has, left, tt.status, tt.left)
			}
		})
	}
}

// The statements take the context: a request whose time is up ends in the middle of them, and says so.
func TestDeadlineEndsWork(t *testing.T) {
	for _, tt := range []struct{ method, target, body string }{
		{"GET", "/orders/5", ""},
		{"GET", "/customers/5/orders", ""},
		{"GET", "/reports/top", ""},
		{"POST", "/orders", `{"customer":7,"lines":[{"product":3,"quantity":2}]}`},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.target, strings.NewReader(tt.body))
		r.Header.Set(DeadlineHeader, "1ns")
		WithDeadline(Handler(store)).ServeHTTP(w, r)
		if w.Code != http.StatusGatewayTimeout {
			t.Errorf("%s %s: %d %s, want 504", tt.method, tt.target, w.Code, w.Body)
		}
	}
	if n := count(t, "orders"); n != testOrders {
		t.Errorf("%d orders were written after their deadline", n-testOrders)
	}
}
