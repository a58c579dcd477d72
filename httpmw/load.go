package httpmw

import (
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/spillway-go/spillway/admission"
)

// loadHeader is named by the ORCA format for HTTP (the design document of
// github.com/envoyproxy/envoy/issues/6614, section "ORCA load report format";
// Envoy's source/common/orca/orca_parser.cc reads it). Canonical, as a header map
// wants it.
const loadHeader = "Endpoint-Load-Metrics"

// loadReport keeps the header's value as long as the controller's report is the
// same, some tenths of a second, so that a request formats nothing.
type loadReport struct{ last atomic.Pointer[loadText] }

type loadText struct {
	report admission.LoadReport
	value  []string
}

// put sets the header of a response to a request that asks ctrl.
func (l *loadReport) put(header http.Header, ctrl *admission.Controller) {
	r := ctrl.LoadReport()
	text := l.last.Load()
	if text == nil || text.report != r {
		text = &loadText{r, []string{loadTextOf(r)}}
		l.last.Store(text)
	}
	header[loadHeader] = text.value
}

// loadTextOf is the native form: pairs of a field of
// xds.data.orca.v3.OrcaLoadReport and its value.
func loadTextOf(r admission.LoadReport) string {
	b := []byte("TEXT ")
	pair := func(name string, v float64) {
		b = append(b, name...)
		b = strconv.AppendFloat(b, v, 'g', 6, 64)
	}
	pair("application_utilization=", r.Utilization)
	pair(",rps_fractional=", r.QPS)
	pair(",eps=", r.EPS)
	return string(b)
}
