package main

import (
	"strconv"
	"sync"
	"time"
)

const (
	counters   = 10
	firstValue = 10_000
)

// cache has ten counters that are strings, by keys that are strings.
type cache map[string]string

func key(counter int) string {
	return "hello" + strconv.Itoa(counter)
}

// calc is as the seed document's benchmark has it: two look-ups for each counter.
func (c cache) calc() {
	for counter := 0; counter < counters; counter++ {
		key := key(counter)
		before := firstValue
		if value := c[key]; value != "" {
			before, _ = strconv.Atoi(value)
		}
		c[key] = strconv.Itoa(before + 1)
	}
}

func (c cache) answer() uint64 {
	sum := uint64(0)
	for counter := 0; counter < counters; counter++ {
		value, _ := strconv.ParseUint(c[key(counter)], 10, 64)
		sum += uint64(counter+1) * value
	}
	return sum
}

type cacheWork struct {
	rounds, tasks uint64
	wait          time.Duration
}

// computeAlone is the floor of what is written in Go: another map, another hash and other strings than those of C++.
func (w cacheWork) computeAlone() uint64 {
	values := cache{}
	for i := uint64(0); i < 2*w.tasks; i++ {
		values.calc()
	}
	return values.answer()
}

// run has every task calculate, wait and calculate; all of them have ended when it returns.
func (w cacheWork) run(calc func(done chan struct{})) {
	var all sync.WaitGroup
	all.Add(int(w.tasks))
	for i := uint64(0); i < w.tasks; i++ {
		go func() {
			defer all.Done()
			done := make(chan struct{}, 1)
			calc(done)
			time.Sleep(w.wait)
			calc(done)
		}()
	}
	all.Wait()
}

func (w cacheWork) lockedRound() uint64 {
	values := cache{}
	var lock sync.Mutex
	w.run(func(chan struct{}) {
		lock.Lock()
		values.calc()
		lock.Unlock()
	})
	return values.answer()
}

// ownedRound has the strand of Go: one goroutine has the cache, and the others ask it.
func (w cacheWork) ownedRound() uint64 {
	asked := make(chan chan<- struct{})
	answer := make(chan uint64)
	go func() {
		values := cache{}
		for done := range asked {
			values.calc()
			done <- struct{}{}
		}
		answer <- values.answer()
	}()
	w.run(func(done chan struct{}) {
		asked <- done
		<-done
	})
	close(asked)
	return <-answer
}

func cachecalc(r *request) body {
	work := cacheWork{r.integer("rounds"), r.integer("tasks"), time.Duration(r.integer("wait_us")) * time.Microsecond}
	var round func() uint64
	switch r.choice("idiom", "compute", "worker", "strand", "mutex") {
	case "compute":
		round = work.computeAlone
	case "strand":
		round = work.ownedRound
	case "mutex":
		round = work.lockedRound
	case "worker":
		r.unsupported("no goroutine is alone on its thread: another may come between wherever it is preempted")
	}
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		sum := uint64(0)
		for i := uint64(0); i < work.rounds; i++ {
			sum += round()
		}
		return sum
	}
}
