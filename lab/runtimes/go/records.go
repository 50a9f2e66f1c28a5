// Batches and records on their way: a coordinator, partitions and their receivers.
package main

import (
	"runtime"
	"sync"
	"time"
)

type dispatched struct {
	number uint64
	sent   time.Time
}

// inbox is the queue of partition_receiver, without a bound as in mpsc_batches.
type inbox struct {
	mutex   sync.Mutex
	waits   *sync.Cond
	batches []dispatched
	closed  bool
}

func (q *inbox) send(batch dispatched) {
	q.mutex.Lock()
	q.batches = append(q.batches, batch)
	q.mutex.Unlock()
	q.waits.Signal()
}

func (q *inbox) close() {
	q.mutex.Lock()
	q.closed = true
	q.mutex.Unlock()
	q.waits.Signal()
}

// receive takes all that there is, and says whether more may come. What it was given is the queue's again.
func (q *inbox) receive(emptied []dispatched, polls bool) ([]dispatched, bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for len(q.batches) == 0 && !q.closed {
		if polls {
			q.mutex.Unlock()
			runtime.Gosched()
			q.mutex.Lock()
		} else {
			q.waits.Wait()
		}
	}
	received := q.batches
	q.batches = emptied[:0]
	return received, len(received) > 0
}

func partitionReceiver(r *request) body {
	polls := r.choice("receiver", "yields", "polls", "parks") == "polls"
	batches, yields := r.integer("batches"), r.integer("yields")
	gap := time.Duration(r.integer("gap_us")) * time.Microsecond
	dispatch := func(to *inbox) {
		for number := uint64(1); number <= batches; number++ {
			if gap == 0 {
				runtime.Gosched()
			} else {
				time.Sleep(gap)
			}
			to.send(dispatched{number, time.Now()})
		}
		to.close()
	}
	return func(watch *stopwatch) uint64 {
		watch.start()
		queue := &inbox{}
		queue.waits = sync.NewCond(&queue.mutex)
		answer := make(chan uint64)
		go dispatch(queue)
		go func() {
			var sum orderedSum
			for received, more := queue.receive(nil, polls); more; received, more = queue.receive(received, polls) {
				for _, batch := range received {
					watch.waited(time.Since(batch.sent))
					for i := uint64(0); i < yields; i++ {
						runtime.Gosched()
					}
					sum.add(batch.number)
				}
			}
			answer <- sum.sum
		}()
		sum := <-answer
		watch.stop()
		return sum
	}
}

// recordWork is the numbers of a request for record_path.
type recordWork struct {
	records, batch, partitions, steps uint64
}

// Batches that a receiver has not begun with hold their reader up.
const mostBatchesWaiting = 16

// read makes the batch that begins after `done` records.
func (w recordWork) read(done uint64) []uint64 {
	size := w.batch
	if w.records-done < size {
		size = w.records - done
	}
	batch := make([]uint64, size)
	for i := range batch {
		batch[i] = done + uint64(i) + 1
	}
	return batch
}

// partition is FNV-1a over the bytes of the record's number.
func (w recordWork) partition(record uint64) uint64 {
	hash := uint64(0xcbf29ce484222325)
	for shift := 0; shift < 64; shift += 8 {
		hash = (hash ^ record>>shift&0xff) * 0x100000001b3
	}
	return hash % w.partitions
}

// process makes a result of a record, some 5 us for 4 000 steps.
func (w recordWork) process(record uint64) uint64 {
	for step := uint64(0); step < w.steps; step++ {
		record = record*6364136223846793005 + 1442695040888963407
		record ^= record >> 29
	}
	return record
}

func (w recordWork) plain() uint64 {
	sum := uint64(0)
	for done := uint64(0); done < w.records; done += w.batch {
		for _, record := range w.read(done) {
			sum += w.process(record)
		}
	}
	return sum
}

func (w recordWork) route(to []chan []uint64) {
	for done := uint64(0); done < w.records; done += w.batch {
		parts := make([][]uint64, len(to))
		for _, record := range w.read(done) {
			p := w.partition(record)
			parts[p] = append(parts[p], record)
		}
		for p, part := range parts {
			if len(part) > 0 {
				to[p] <- part
			}
		}
	}
	for _, each := range to {
		close(each)
	}
}

// throughPartitions has a receiver for each; one partition is the direct path.
func (w recordWork) throughPartitions(shared bool) uint64 {
	to := make([]chan []uint64, w.partitions)
	for p := range to {
		to[p] = make(chan []uint64, mostBatchesWaiting)
	}
	var engine sync.Mutex
	all := uint64(0)
	go w.route(to)
	own := sum(w.partitions, func(p uint64) uint64 {
		sum := uint64(0)
		for batch := range to[p] {
			for _, record := range batch {
				if shared {
					engine.Lock()
					all += w.process(record)
					engine.Unlock()
				} else {
					sum += w.process(record)
				}
			}
		}
		return sum
	})
	return own + all
}

func recordPath(r *request) body {
	return measuredPath(r, recordWork.throughPartitions)
}

func recordPathExpert(r *request) body {
	return measuredPath(r, recordWork.throughPartitionsOfBatches)
}

func measuredPath(r *request, through func(w recordWork, shared bool) uint64) body {
	path := r.choice("path", "plain", "direct", "coordinator", "shared")
	work := recordWork{r.integer("records"), r.integer("batch"), r.integer("partitions"), r.integer("steps")}
	if r.err == nil && (work.batch == 0 || work.partitions == 0) {
		r.fail(usageError{"batch and partitions of record_path are at least 1"})
	}
	if path == "direct" {
		work.partitions = 1
	}
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		if path == "plain" {
			return work.plain()
		}
		return through(work, path == "shared")
	}
}
