package debug_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/debug"
	"github.com/spillway-go/spillway/scorecard"
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

// Whoever may see the page need not see who the tenants are.
func ExampleWithRedactor() {
	ctrl, err := admission.New(admission.Config{Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
		{Name: "tenants", Match: "tenant:*", Cap: scorecard.Cap{N: 10}},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ctrl.Close()
	ticket, err := ctrl.Admit(context.Background(), admission.Request{Tenant: "acme"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ticket.Release(admission.Success)
	page := debug.Handler(ctrl, debug.WithRedactor(func(string) string { return "customer" }))

	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?format=text", nil))
	fmt.Println(strings.Contains(w.Body.String(), "acme"), strings.Contains(w.Body.String(), "customer"))
	// Output: false true
}
