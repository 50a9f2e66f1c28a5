package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long the maker makes children for one job.
const patience = 2 * time.Second

// computeFor is all that a child does.
func computeFor(step time.Duration) {
	if step == 0 {
		return
	}
	for began := time.Now(); time.Since(began) < step; {
	}
}

// isFair says whether the job began before the maker gave up.
func isFair(step time.Duration) bool {
	givesUp := time.Now().Add(patience)
	var begun atomic.Bool // true: the job runs or has run; stays so
	var job sync.WaitGroup
	job.Add(1)
	go func() {
		defer job.Done()
		begun.Store(true)
	}()
	for children := uint64(1); !begun.Load(); children++ {
		// A reading of the clock can be as dear as a child, so that most children go without.
		if children%64 == 0 && time.Now().After(givesUp) {
			break
		}
		var child sync.WaitGroup
		child.Add(1)
		go func() {
			defer child.Done()
			computeFor(step)
		}()
		child.Wait()
	}
	fair := begun.Load()
	job.Wait()
	return fair
}

func fairness(r *request) body {
	jobs := r.integer("jobs")
	step := time.Duration(r.integer("step_us")) * time.Microsecond
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		fair := uint64(0)
		for fair < jobs && isFair(step) {
			fair++
		}
		return fair
	}
}
