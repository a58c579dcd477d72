// Package admissiontest is what the tests of the adapters around an
// [admission.Controller] have in common: controllers that must be quiet when a
// test ends, a stage that looks on, a count of what runs, and ways to fill slots and
// queue. Only tests import it.
package admissiontest
