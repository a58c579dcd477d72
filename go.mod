module github.com/spillway-go/spillway

go 1.26.0

require (
	github.com/felixge/httpsnoop v1.1.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.25.0
)

require golang.org/x/time v0.16.0
