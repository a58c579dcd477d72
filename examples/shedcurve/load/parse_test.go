package load

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestParseRequest(t *testing.T) {
	for _, tt := range []struct {
		line   string
		weight float64
		tier   string
		req    Request
	}{
		{"GET /", 1, "t3", Request{Method: "GET", Path: "/"}},
		{"weight=3 tier=t1 GET /x", 3, "t1", Request{Method: "GET", Path: "/x"}},
		{"  tenant=acme tier=t0  weight=0.5\tDELETE   /x/y?z=1&w=2 ", 0.5, "t0", Request{Method: "DELETE", Path: "/x/y?z=1&w=2", Tenant: "acme"}},
		{"/shop.Orders/Top", 1, "t3", Request{Method: "/shop.Orders/Top"}},
		{"weight=2 tenant=a\t/shop.Orders/Get  {\"id\": 1,  \"a=b\": \"c  d\"} ", 2, "t3", Request{Method: "/shop.Orders/Get", Body: `{"id": 1,  "a=b": "c  d"}`, Tenant: "a"}},
		{"tenant=a=b POST /x", 1, "t3", Request{Method: "POST", Path: "/x", Tenant: "a=b"}},
	} {
		c, err := ParseRequest(tt.line)
		if err != nil {
			t.Errorf("%q: %v", tt.line, err)
			continue
		}
		if got := c.Make(anyRand()); c.Weight != tt.weight || c.Tier != tt.tier || !reflect.DeepEqual(got, tt.req) {
			t.Errorf("%q: weight %v tier %s %+v", tt.line, c.Weight, c.Tier, got)
		}
	}
}

func TestParseRequestErrors(t *testing.T) {
	for line, want := range map[string]string{
		"":                         "must end with a method and a path",
		"GET":                      "must end with a method and a path",
		"GET /x HTTP/1.1":          "must end with a method and a path",
		"weight=3":                 "must end with a method and a path",
		"weight=three GET /":       `weight is "three", must be a number`,
		"weight=0 GET /":           "weight is 0, must be above 0",
		"weight=-1 GET /":          "weight is -1",
		"weight=NaN GET /":         "weight is NaN",
		"weight=Inf GET /":         "weight is +Inf",
		"tier=t6 GET /":            `tier is "t6", must be "t0" to "t5"`,
		"tier=1 GET /":             `tier is "1"`,
		"color=red GET /":          `unknown setting "color"`,
		"get /":                    `method is "get", must be one in capitals`,
		"G(T /":                    `method is "G(T"`,
		"GET x":                    `path is "x", must begin with a single /`,
		"GET http://elsewhere/":    `path is "http://elsewhere/"`,
		"GET /%zz":                 `path is "/%zz"`,
		"tenant=\x01 GET /":        "tenant is",
		"/shop.Orders":             `method is "/shop.Orders", must be one of gRPC`,
		"//Get":                    `method is "//Get"`,
		"/shop.Orders/Get/all":     `method is "/shop.Orders/Get/all"`,
		"/shop.Orders/Get {id: 1}": `message is "{id: 1}", must be JSON`,
		"weight=0 tier=x get nope": `path is "nope"`,
	} {
		_, err := ParseRequest(line)
		wantErrors(t, err, want)
	}
	_, err := ParseRequest("weight=0 tier=x get nope")
	wantErrors(t, err, "weight is 0", `tier is "x"`, `method is "get"`, `path is "nope"`)
}

func TestParseRequests(t *testing.T) {
	classes, err := ParseRequests(strings.NewReader(`
- {weight: 3, tier: t1, method: GET, path: /orders/17}
- tier: t5
  tenant: acme
  method: POST
  path: /reports
  body: '{"days": 30}'
  header: {Accept: text/csv}
- {method: /shop.Orders/Get, body: '{"id": 17}'}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Request{
		{Method: "GET", Path: "/orders/17"},
		{Method: "POST", Path: "/reports", Body: `{"days": 30}`, Tenant: "acme", Header: map[string]string{"Accept": "text/csv"}},
		{Method: "/shop.Orders/Get", Body: `{"id": 17}`},
	}
	for i, c := range classes {
		if got := c.Make(anyRand()); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("request %d: %+v, want %+v", i, got, want[i])
		}
	}
	if len(classes) != 3 || classes[0].Weight != 3 || classes[1].Weight != 1 || classes[1].Tier != "t5" {
		t.Errorf("classes %+v", classes)
	}
}

func TestParseRequestsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "none",
		"[]":                                     "none",
		"{method: GET, path: /}":                 "requests",
		"- {method: GET, path: /, wait: 3}":      "wait",
		"- {method: GET, path: /, weight: many}": "requests",
		"- {method: GET, path: /}\n- {path: /}":  `requests[1]: method is ""`,
		"- {method: GET, path: /, weight: 0}":    "requests[0]: weight is 0",
		"- {method: /a.B/C, path: /}":            `requests[0]: path is "/", a gRPC method has none`,
		"- {method: GET, path: /, header: {'a b': c}}":    `header "a b"`,
		"- {method: GET, path: /, header: {a: \"c\\n\"}}": `header "a"`,
	} {
		_, err := ParseRequests(strings.NewReader(text))
		wantErrors(t, err, want)
	}
}

// Whatever is read without an error can be mixed and sent.
func FuzzParseRequest(f *testing.F) {
	for _, s := range []string{"GET /", "weight=3 tier=t1 tenant=a GET /x?y=z", "weight=1e309 GET /", "tier= POST //x", "=x GET /", "weight=0x1p-2 GET /a%20b", "tier=t1 /a.B/C {}"} {
		f.Add(s)
	}
	client, err := NewClient("http://service.test/base/")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseRequest(s)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "load: request ") {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if _, err := NewMix(c); err != nil {
			t.Errorf("%q was read but cannot be mixed: %v", s, err)
		}
		r := c.Make(anyRand())
		if r.isCall() {
			if strings.Count(r.Method, "/") != 2 || r.Path != "" || r.Body != "" && !json.Valid([]byte(r.Body)) {
				t.Errorf("%q is the call %+v", s, r)
			}
			return
		}
		req, err := client.target.(*httpTarget).request(t.Context(), r)
		if err != nil {
			t.Fatalf("%q was read but cannot be sent: %v", s, err)
		}
		if req.URL.Host != "service.test" || !strings.HasPrefix(req.URL.Path, "/base/") {
			t.Errorf("%q goes to %v", s, req.URL)
		}
	})
}
