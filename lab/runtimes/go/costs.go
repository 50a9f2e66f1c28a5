// Tasks that compute or wait one after the other.
package main

import "time"

// fibByRecursion is on floating-point numbers, as the seed document has it. It is not inlined, so n is not seen
// through.
//
//go:noinline
func fibByRecursion(x float64) float64 {
	if x <= 1 {
		return x
	}
	return fibByRecursion(x-1) + fibByRecursion(x-2)
}

func fibTasks(r *request) body {
	n, tasks := r.integer("n"), r.integer("tasks")
	if r.choice("shape", "sequential", "thread", "held_thread", "coroutine", "generator") != "coroutine" {
		r.unsupported("nothing of Go's scheduler is in it: bare has it, std the threads")
	}
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return sum(tasks, func(uint64) uint64 { return uint64(fibByRecursion(float64(n))) })
	}
}

func wait(r *request) body {
	count, us := r.integer("count"), r.integer("wait_us")
	if r.choice("idiom", "timer", "devzero") == "devzero" {
		r.unsupported("std has it: the thread reads, and nothing of a runtime is in it")
	}
	length := time.Duration(us) * time.Microsecond
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		sum := uint64(0)
		for i := uint64(0); i < count; i++ {
			began := time.Now()
			time.Sleep(length)
			// A wait that was too short adds nothing.
			if time.Since(began) >= length {
				sum += us
			}
		}
		return sum
	}
}
