// Channels, and what a channel has no idiom for: a queue without a bound.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// orderedSum is the answer of a channel that keeps the order of the numbers 1, 2, 3, ...: the k-th received counts k
// times, so any other order, a loss or a duplicate gives another sum.
type orderedSum struct{ position, sum uint64 }

func (s *orderedSum) add(received uint64) {
	s.position++
	s.sum += s.position * received
}

func oneToOne(count, capacity uint64) body {
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		numbers := make(chan uint64, capacity)
		answer := make(chan uint64)
		go func() {
			for i := uint64(1); i <= count; i++ {
				numbers <- i
			}
			close(numbers)
		}()
		go func() {
			var sum orderedSum
			for number := range numbers {
				sum.add(number)
			}
			answer <- sum.sum
		}()
		return <-answer
	}
}

func channelSPSC(r *request) body {
	return oneToOne(r.integer("count"), r.integer("capacity"))
}

func channelRendezvous(r *request) body {
	return oneToOne(r.integer("count"), 0)
}

// share is how many numbers each producer sends.
func share(r *request) uint64 {
	producers := r.integer("producers")
	if producers == 0 {
		r.fail(usageError{"channel_mpmc has at least one producer"})
		return 0
	}
	return r.integer("count") / producers
}

func channelMPMC(r *request) body {
	return throughOne(share(r), r.integer("capacity"), r.integer("producers"), r.integer("consumers"))
}

// throughOne has each producer send its share through one channel.
func throughOne(each, capacity, producers, consumers uint64) body {
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		numbers := make(chan uint64, capacity)
		var sending sync.WaitGroup
		for p := uint64(0); p < producers; p++ {
			sending.Add(1)
			go func(first uint64) {
				defer sending.Done()
				for i := first; i < first+each; i++ {
					numbers <- i
				}
			}(p*each + 1)
		}
		go func() {
			sending.Wait()
			close(numbers)
		}()
		return sum(consumers, func(uint64) uint64 {
			sum := uint64(0)
			for number := range numbers {
				sum += number
			}
			return sum
		})
	}
}

// queue has no bound. The receiver takes all that there is at once.
type queue[batch any] struct {
	mutex   sync.Mutex
	waits   *sync.Cond
	batches []batch
	closed  bool
}

func newQueue[batch any]() *queue[batch] {
	q := &queue[batch]{}
	q.waits = sync.NewCond(&q.mutex)
	return q
}

func (q *queue[batch]) send(sent batch) {
	q.mutex.Lock()
	q.batches = append(q.batches, sent)
	q.mutex.Unlock()
	q.waits.Signal()
}

func (q *queue[batch]) close() {
	q.mutex.Lock()
	q.closed = true
	q.mutex.Unlock()
	q.waits.Signal()
}

// receive returns nothing when the queue is closed and empty. What it was given is the queue's again.
func (q *queue[batch]) receive(emptied []batch) []batch {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for len(q.batches) == 0 && !q.closed {
		q.waits.Wait()
	}
	received := q.batches
	q.batches = emptied[:0]
	return received
}

func batchOf(index, size uint64) []uint64 {
	batch := make([]uint64, size)
	for i := range batch {
		batch[i] = index*size + 1 + uint64(i)
	}
	return batch
}

// batched has a sender that makes the batches, and a receiver that adds each up.
func batched[batch any](r *request, makes func(index, size uint64) batch, add func(batch) uint64) body {
	batches, size := r.integer("batches"), r.integer("batch")
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		queue := newQueue[batch]()
		answer := make(chan uint64)
		go func() {
			for b := uint64(0); b < batches; b++ {
				queue.send(makes(b, size))
				// As the other adapters whose send does not wait: the queue stays short.
				if b%64 == 63 {
					runtime.Gosched()
				}
			}
			queue.close()
		}()
		go func() {
			var sum orderedSum
			for received := queue.receive(nil); len(received) > 0; received = queue.receive(received) {
				for _, each := range received {
					sum.add(add(each))
				}
			}
			answer <- sum.sum
		}()
		return <-answer
	}
}

func mpscBatches(r *request) body {
	return batched(r, batchOf, total)
}

func mpscPooledBatches(r *request) body {
	return batched(r, pooledBatchOf, func(batch *[]uint64) uint64 {
		sum := total(*batch)
		numberBatches.Put(batch)
		return sum
	})
}

func mutexHandoff(r *request) body {
	tasks, locks := r.integer("tasks"), r.integer("locks")
	return func(watch *stopwatch) uint64 {
		// The goroutine that has sent has the lock. Those that wait to send are first come, first served; a receive hands it
		// on.
		lock := make(chan struct{}, 1)
		var present atomic.Uint64 // how many have come for the lock; only grows
		counter := uint64(0)
		watch.start()
		sum(tasks, func(uint64) uint64 {
			present.Add(1)
			for i := uint64(0); i < locks; i++ {
				lock <- struct{}{}
				before := counter
				// The first time, until all have come for the lock: a queue that is never empty keeps itself up.
				for i == 0 && present.Load() < tasks {
					runtime.Gosched()
				}
				counter = before + 1
				<-lock
			}
			return locks
		})
		watch.stop()
		return counter
	}
}
