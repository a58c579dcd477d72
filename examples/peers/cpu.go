package main

import (
	"sync"
	"sync/atomic"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/alibaba/sentinel-golang/core/system_metric"
)

// Three peers shed by the CPU usage of the machine that they run on. The back end is made up and uses none,
// so they are told its utilisation instead: it goes where their own collectors put their readings, which
// two of them do not export. Those collectors average over 5 to 10 s; a reading at once is to their advantage.

//go:linkname aegisCPU github.com/go-kratos/aegis/ratelimit/bbr.gCPU
var aegisCPU int64

//go:linkname goZeroCPU github.com/zeromicro/go-zero/core/stat.cpuUsage
var goZeroCPU int64

// setCPU tells them a usage, 0 to 1.
func setCPU(usage float64) {
	atomic.StoreInt64(&aegisCPU, int64(1000*usage))
	atomic.StoreInt64(&goZeroCPU, int64(1000*usage))
	system_metric.SetSystemCpuUsage(usage)
}

// keepCPU tells them what usage says again and again, since their own collectors run on, until it is stopped.
func keepCPU(usage func() float64) (stop func()) {
	end := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			setCPU(usage())
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	})
	return func() { close(end); done.Wait(); setCPU(0) }
}
