package promql_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/regulators/promql"
)

func Example() {
	client, err := api.NewClient(api.Config{Address: "http://localhost:9090", Client: &http.Client{Timeout: time.Second}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = promql.New(client, "")
	fmt.Println(err)
	// Output: promql: query is "", must not be empty
}

const query = `max(lag_seconds) / 0.2`

// ask makes a signal of query at a server and polls it once.
func ask(t *testing.T, ctx context.Context, address string, client *http.Client, query string) (float64, error) {
	t.Helper()
	c, err := api.NewClient(api.Config{Address: address, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	s, err := promql.New(c, query)
	if err != nil {
		t.Fatal(err)
	}
	return s.Pressure(ctx)
}

// answer is a server that always says the same.
func answer(t *testing.T, status int, body string) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server
}

func data(kind, result string) string {
	return `{"status":"success","data":{"resultType":"` + kind + `","result":` + result + `}}`
}

func TestAnswers(t *testing.T) {
	const failed = -1
	for name, tc := range map[string]struct {
		status int
		body   string
		want   float64
		text   string
	}{
		"scalar":             {200, data("scalar", `[1435781451.781,"0.75"]`), 0.75, ""},
		"vector of one":      {200, data("vector", `[{"metric":{"a":"b"},"value":[1435781451.781,"1.25"]}]`), 1.25, ""},
		"zero":               {200, data("vector", `[{"metric":{},"value":[1,"0"]}]`), 0, ""},
		"with a warning":     {200, `{"status":"success","warnings":["partial"],"data":{"resultType":"scalar","result":[1,"2"]}}`, 2, ""},
		"no data":            {200, data("vector", `[]`), failed, "no reading: the answer has no sample"},
		"several samples":    {200, data("vector", `[{"metric":{"a":"b"},"value":[1,"1"]},{"metric":{"a":"c"},"value":[1,"2"]}]`), failed, "has 2 samples, must have one"},
		"NaN":                {200, data("scalar", `[1,"NaN"]`), failed, "the answer is NaN, must be finite and at least 0"},
		"infinity":           {200, data("vector", `[{"metric":{},"value":[1,"+Inf"]}]`), failed, "the answer is +Inf"},
		"negative":           {200, data("vector", `[{"metric":{},"value":[1,"-0.1"]}]`), failed, "the answer is -0.1"},
		"histogram":          {200, data("vector", `[{"metric":{},"histogram":[1,{"count":"1","sum":"2","buckets":[[0,"1","2","1"]]}]}]`), failed, "is a histogram, must be a number"},
		"matrix":             {200, data("matrix", `[{"metric":{},"values":[[1,"1"]]}]`), failed, "is a matrix, must be a scalar or a vector"},
		"string":             {200, data("string", `[1,"one"]`), failed, "string"},
		"unknown type":       {200, data("tensor", `[1]`), failed, "tensor"},
		"no value":           {200, `{"status":"success"}`, failed, ""},
		"number of words":    {200, data("scalar", `[1,"lots"]`), failed, "lots"},
		"refused":            {400, `{"status":"error","errorType":"bad_data","error":"parse error at char 3"}`, failed, "parse error at char 3"},
		"overloaded":         {503, `{"status":"error","errorType":"timeout","error":"query timed out"}`, failed, "503"},
		"a proxy's page":     {502, `<html>Bad Gateway</html>`, failed, "502"},
		"a login page":       {200, `<html>Who are you?</html>`, failed, ""},
		"empty":              {200, ``, failed, ""},
		"JSON of other kind": {200, `[1,2,3]`, failed, ""},
		"cut off":            {200, `{"status":"success","data":{"resultType":"scal`, failed, ""},
	} {
		server := answer(t, tc.status, tc.body)
		got, err := ask(t, t.Context(), server.URL, server.Client(), query)
		switch {
		case tc.want != failed && (got != tc.want || err != nil):
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		case tc.want == failed && (got != 0 || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("promql: query %q", query)) || !strings.Contains(err.Error(), tc.text)):
			t.Errorf("%s: %v, %v, want an error with the query and %q", name, got, err, tc.text)
		}
		if noReading := errors.Is(err, regulators.ErrNoReading); noReading != (name == "no data") {
			t.Errorf("%s: %v, is ErrNoReading: %v", name, err, noReading)
		}
	}
}

func TestServerThatIsDown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	listener.Close()
	if got, err := ask(t, t.Context(), address, nil, query); got != 0 || err == nil || !strings.Contains(err.Error(), "promql: query ") {
		t.Errorf("%v, %v, want an error", got, err)
	}
}

// A server that is slow, before its answer or in the midst of it, costs no more than ctx allows.
func TestServerThatIsSlow(t *testing.T) {
	for name, begin := range map[string]string{"silent": "", "stops half-way": `{"status":`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, begin)
			if begin != "" {
				_ = http.NewResponseController(w).Flush()
			}
			_ = r.ParseForm() // net/http notices that the client left once the body is read
			<-r.Context().Done()
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		start := time.Now()
		got, err := ask(t, ctx, server.URL, server.Client(), query)
		if took := time.Since(start); got != 0 || !errors.Is(err, context.DeadlineExceeded) || took > 30*time.Second {
			t.Errorf("%s: %v, %v after %v, want the deadline exceeded", name, got, err, took)
		}
		cancel()
		server.Close() // waits for the handler: the request has been given up
	}
}

// What the caller's http.Client brings arrives: its roots for TLS, its headers.
func TestCallersClient(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, secret, _ := r.BasicAuth(); secret != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if got := r.FormValue("query"); got != query || r.FormValue("time") != "" {
			t.Errorf("asked for %q at %q", got, r.FormValue("time"))
		}
		fmt.Fprint(w, data("scalar", `[1,"0.5"]`))
	}))
	defer server.Close()
	if _, err := ask(t, t.Context(), server.URL, &http.Client{}, query); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown certificate: %v, want an error", err)
	}
	if _, err := ask(t, t.Context(), server.URL, server.Client(), query); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without credentials: %v, want 401", err)
	}
	client := server.Client()
	client.Transport = authorised{client.Transport}
	if got, err := ask(t, t.Context(), server.URL, client, query); got != 0.5 || err != nil {
		t.Errorf("with credentials: %v, %v, want 0.5", got, err)
	}
}

type authorised struct{ http.RoundTripper }

func (a authorised) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.SetBasicAuth("spillway", "secret")
	return a.RoundTripper.RoundTrip(r)
}

func TestNewErrors(t *testing.T) {
	s, err := promql.New(nil, " ")
	for _, want := range []string{"promql: client is nil", `promql: query is " ", must not be empty`} {
		if s != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", s, err, want)
		}
	}
}
