package workload

import (
	"context"
	"os"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

// What a request to the order service should take of a core, over HTTP and over gRPC: a hundred times what net/http and
// grpc-go need to read one and to refuse it (40 and 60 µs here), so that at ten times the capacity those that are refused
// take about a tenth of the core. It makes the capacity some 200 to 350 and 120 to 200 requests a second on any machine.
const (
	httpCost = 4 * time.Millisecond
	grpcCost = 7 * time.Millisecond
)

// Fit is the sizes with which a request takes so much of this machine over what is spoken.
func Fit(ctx context.Context, grpc bool) (orders.Sizes, error) {
	dir, err := os.MkdirTemp("", "shedcurve-")
	if err != nil {
		return orders.Sizes{}, err
	}
	defer os.RemoveAll(dir)
	if grpc {
		return orders.Fit(ctx, dir, grpcCost)
	}
	return orders.Fit(ctx, dir, httpCost)
}
