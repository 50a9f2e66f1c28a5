package main

import "time"

// timerStorm has a goroutine a sleeper.
func timerStorm(r *request) body {
	// A prime, so that neighbours sleep for different times and every time occurs.
	const stride = 7_919
	count, shortest := r.integer("count"), r.integer("shortest_us")
	span := r.integer("longest_us") - shortest + 1
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return sum(count, func(i uint64) uint64 {
			us := shortest + i*stride%span
			length := time.Duration(us) * time.Microsecond
			began := time.Now()
			time.Sleep(length)
			// A sleeper that woke early adds nothing.
			if time.Since(began) < length {
				return 0
			}
			return us
		})
	}
}
