package main

// chain sends one value at a time through depth goroutines, so that each stage waits when its value comes.
func chain(depth, values uint64) uint64 {
	first := make(chan uint64, 1)
	last := first
	for d := uint64(0); d < depth; d++ {
		from, to := last, make(chan uint64, 1)
		go func() {
			for value := range from {
				to <- value + 1
			}
			close(to)
		}()
		last = to
	}
	sum := uint64(0)
	for i := uint64(0); i < values; i++ {
		first <- i
		sum += <-last
	}
	close(first)
	<-last // closed: every stage has ended
	return sum
}

func suspendChain(r *request) body {
	chains, depth, values := r.integer("chains"), r.integer("depth"), r.integer("values")
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return sum(chains, func(uint64) uint64 { return chain(depth, values) })
	}
}
