package debug_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/debug"
)

func ExampleHandler() {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ctrl.Close()
	mux := http.NewServeMux()
	mux.Handle("/debug/admission", debug.Handler(ctrl))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/admission?format=text", nil))
	_, summary, _ := strings.Cut(w.Body.String(), "\n")
	summary, _, _ = strings.Cut(summary, "\n")
	fmt.Println(summary)
	// Output: OK: Nothing is shed: no requests come.
}
