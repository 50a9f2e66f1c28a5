// Forks and switches: goroutines that do next to nothing.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// sum waits for as many goroutines as it starts, and adds what they return: the join that Go programs write.
func sum(count uint64, child func(i uint64) uint64) uint64 {
	results := make([]uint64, count)
	var all sync.WaitGroup
	all.Add(int(count))
	for i := range results {
		go func(i uint64) {
			defer all.Done()
			results[i] = child(i)
		}(uint64(i))
	}
	all.Wait()
	return total(results)
}

func total(results []uint64) uint64 {
	sum := uint64(0)
	for _, result := range results {
		sum += result
	}
	return sum
}

// forked is the result of one child that runs beside nothing: its maker waits at once.
func forked(i uint64) uint64 {
	var result uint64
	var child sync.WaitGroup
	child.Add(1)
	go func() {
		defer child.Done()
		result = i
	}()
	child.Wait()
	return result
}

func forkPool(r *request) body {
	subTasks := uint64(r.threads)
	forks := r.integer("count") / subTasks
	immediate := func(uint64) uint64 {
		sum := uint64(0)
		for i := uint64(0); i < forks; i++ {
			sum += forked(i)
		}
		return sum
	}
	burst := func(uint64) uint64 {
		return sum(forks, func(i uint64) uint64 { return i })
	}
	subTask := burst
	if r.choice("mode", "immediate", "final") == "immediate" {
		subTask = immediate
	}
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return sum(subTasks, subTask)
	}
}

func spawnJoin(r *request) body {
	count := r.integer("count")
	return func(watch *stopwatch) uint64 {
		results := make([]uint64, count)
		var all sync.WaitGroup
		watch.start()
		all.Add(int(count))
		for i := range results {
			go func(i int) {
				defer all.Done()
				results[i] = uint64(i)
			}(i)
		}
		all.Wait()
		sum := total(results)
		watch.stop()
		return sum
	}
}

func stage(depth uint64) uint64 {
	if depth == 1 {
		return 1
	}
	return 1 + forkedStage(depth-1)
}

func forkedStage(depth uint64) uint64 {
	var result uint64
	var next sync.WaitGroup
	next.Add(1)
	go func() {
		defer next.Done()
		result = stage(depth)
	}()
	next.Wait()
	return result
}

func pipeline(r *request) body {
	concurrency, depth, items := r.integer("concurrency"), r.integer("depth"), r.integer("items")
	chains := func(uint64) uint64 {
		sum := uint64(0)
		for i := uint64(0); i < items; i++ {
			sum += forkedStage(depth)
		}
		return sum
	}
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return sum(concurrency, chains)
	}
}

func yield(r *request) body {
	tasks, yields := r.integer("tasks"), r.integer("yields")
	return func(watch *stopwatch) uint64 {
		// Each yields until all have begun, which with a yield that does nothing never happens where there are more tasks
		// than threads. Then the answer is 0.
		var present atomic.Uint64
		givesUp := time.Now().Add(5 * time.Second)
		yieldOften := func(uint64) uint64 {
			present.Add(1)
			for present.Load() != tasks && time.Now().Before(givesUp) {
				runtime.Gosched()
			}
			done := uint64(0)
			for ; done < yields; done++ {
				runtime.Gosched()
			}
			if present.Load() != tasks {
				return 0
			}
			return done
		}
		watch.start()
		defer watch.stop()
		return sum(tasks, yieldOften)
	}
}

//go:noinline
func next(x uint64) uint64 { return x + 1 }

func callOverhead(r *request) body {
	calls := r.integer("calls")
	return func(watch *stopwatch) uint64 {
		watch.start()
		x := uint64(0)
		for i := uint64(0); i < calls; i++ {
			x = next(x)
		}
		watch.stop()
		return x
	}
}
