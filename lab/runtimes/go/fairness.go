package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long the maker makes children for one job.
	patience = 2 * time.Second
	// fairnessDelay is after how long a job of the kind timer is due.
	fairnessDelay = time.Millisecond
)

// computeFor is all that a child does.
func computeFor(step time.Duration) {
	if step == 0 {
		return
	}
	for began := time.Now(); time.Since(began) < step; {
	}
}

// fairRound is what the job and the maker of a round share.
type fairRound struct {
	due    time.Time
	waited time.Duration
	begun  atomic.Bool // true: the job runs or has run; stays so
	job    sync.WaitGroup
}

// beginJob is all that the background job does.
func (f *fairRound) beginJob() {
	f.waited = time.Since(f.due)
	f.begun.Store(true)
	f.job.Done()
}

// isFair says whether the job began in time: before the maker gave up, and not before it was due.
func (f *fairRound) isFair(step time.Duration, start func(*fairRound)) bool {
	givesUp := time.Now().Add(patience)
	f.job.Add(1)
	start(f)
	for children := uint64(1); !f.begun.Load(); children++ {
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
	fair := f.begun.Load()
	f.job.Wait()
	return fair && f.waited >= 0
}

func startFork(f *fairRound) {
	f.due = time.Now()
	go f.beginJob()
}

func startTimer(f *fairRound) {
	go func() {
		f.due = time.Now().Add(fairnessDelay)
		time.Sleep(fairnessDelay)
		f.beginJob()
	}()
}

func fairness(r *request) body {
	kind := r.choice("waits", "fork", "timer", "injected")
	jobs := r.integer("jobs")
	step := time.Duration(r.integer("step_us")) * time.Microsecond
	return func(watch *stopwatch) uint64 {
		start := map[string]func(*fairRound){"fork": startFork, "timer": startTimer}[kind]
		if kind == "injected" {
			asked := make(chan *fairRound)
			defer close(asked)
			go func() {
				runtime.LockOSThread() // and never unlocked: the thread ends with it
				for f := range asked {
					startFork(f)
				}
			}()
			start = func(f *fairRound) { asked <- f }
		}
		watch.start()
		defer watch.stop()
		fair := uint64(0)
		for fair < jobs {
			round := new(fairRound)
			if !round.isFair(step, start) {
				break
			}
			watch.itemTook(round.waited)
			fair++
		}
		return fair
	}
}
