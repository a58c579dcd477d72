package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A request waits for a quarter of its deadline, and each tenant's turn comes whatever another asks for.
func TestFairQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := newFairQueues(env{limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		sleep := func(ctx context.Context) error { time.Sleep(100 * time.Millisecond); return nil }
		ask := func(tenant string, deadline time.Duration) (ran bool, took time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			began := time.Now()
			ran = l.do(ctx, &request{tenant: tenant}, sleep)
			return ran, time.Since(began)
		}
		go ask("inside", time.Minute)
		synctest.Wait()
		if ran, took := ask("impatient", 200*time.Millisecond); ran || took != 50*time.Millisecond {
			t.Errorf("with 200 ms left it ran %t after %v, want a refusal after 50 ms", ran, took)
		}
		for range 20 {
			go ask("noisy", time.Minute)
		}
		synctest.Wait()
		if ran, took := ask("quiet", time.Minute); !ran || took > 800*time.Millisecond {
			t.Errorf("behind a noisy tenant it ran %t and took %v; want one of that tenant's for each of his six queues before it at most", ran, took)
		}
		time.Sleep(time.Minute) // for the others
	})
}
