package main

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/spillway-go/spillway/admission"
)

func heldBySemaphore(sem *semaphore.Weighted) guard {
	return func(ctx context.Context, work func(context.Context) error) error {
		if err := sem.Acquire(ctx, 1); err != nil {
			return err
		}
		defer sem.Release(1)
		return work(ctx)
	}
}

func heldByController(ctrl *admission.Controller) guard {
	return func(ctx context.Context, work func(context.Context) error) error {
		return ctrl.Do(ctx, admission.Request{}, work)
	}
}
