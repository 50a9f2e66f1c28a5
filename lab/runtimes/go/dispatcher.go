// The programs of the document on Tokio's dispatcher, in the words of Go.
package main

import (
	"runtime"
	"sync"
	"time"
)

// Before each batch the coordinator sleeps as long, and a receiver that sleeps looks again after as long.
const (
	dispatcherGap = 100 * time.Microsecond
	dispatcherNap = 10 * time.Microsecond
)

// dispatcherWork is the numbers of a request for dispatcher.
type dispatcherWork struct {
	program string
	count   uint64
	// The records of a batch; in throughput, the goroutines between two yields. None: 0.
	batch uint64
	// After each record; in partition, after each batch.
	yields  uint64
	records recordWork
}

func (w dispatcherWork) batches() uint64 { return (w.count + w.batch - 1) / w.batch }

func each(took time.Duration, count uint64) float64 {
	return float64(took.Nanoseconds()) / float64(count)
}

func (w dispatcherWork) spawnAndJoin(watch *stopwatch) uint64 {
	results := make([]uint64, w.count)
	var all sync.WaitGroup
	watch.start()
	began := time.Now()
	for i := uint64(0); i < w.count; i++ {
		all.Add(1)
		go func(i uint64) {
			defer all.Done()
			results[i] = i
		}(i)
		if w.batch != 0 && (i+1)%w.batch == 0 {
			runtime.Gosched()
		}
	}
	spawned := time.Since(began)
	joins := time.Now()
	all.Wait()
	sum := total(results)
	joined := time.Since(joins)
	watch.stop()
	watch.figure("spawn_ns", each(spawned, w.count))
	watch.figure("join_ns", each(joined, w.count))
	return sum
}

func (w dispatcherWork) throughAChannel(watch *stopwatch) uint64 {
	queue := newQueue[[]uint64]()
	var ends sync.WaitGroup
	var sent, received time.Duration
	var sum orderedSum
	watch.start()
	ends.Add(2)
	go func() {
		defer ends.Done()
		began := time.Now()
		for b := uint64(0); b < w.batches(); b++ {
			queue.send(batchOf(b, w.batch))
		}
		queue.close()
		sent = time.Since(began)
	}()
	go func() {
		defer ends.Done()
		began := time.Now()
		for there := queue.receive(nil); len(there) > 0; there = queue.receive(there) {
			for _, batch := range there {
				sum.add(total(batch))
			}
		}
		received = time.Since(began)
	}()
	ends.Wait()
	watch.stop()
	watch.figure("send_ns", each(sent, w.count))
	watch.figure("receive_ns", each(received, w.count))
	watch.figure("batch_ns", each(sent+received, w.batches()))
	return sum.sum
}

func (w dispatcherWork) yieldOften(watch *stopwatch) uint64 {
	watch.start()
	defer watch.stop()
	sum := uint64(0)
	for done := uint64(0); done < w.count; done += w.batch {
		for _, record := range w.records.read(done) {
			sum += w.records.process(record)
			for y := uint64(0); y < w.yields; y++ {
				runtime.Gosched()
			}
		}
	}
	return sum
}

// receiveRecords has a receiver that parks; one that looks again and again must not wait for what is not there.
func (w dispatcherWork) receiveRecords(watch *stopwatch) uint64 {
	// As many places as there are batches: it has no bound that is felt.
	queue := make(chan []uint64, w.batches())
	answer := make(chan uint64)
	watch.start()
	go func() {
		for done := uint64(0); done < w.count; done += w.batch {
			time.Sleep(dispatcherGap)
			queue <- w.records.read(done)
		}
		close(queue)
	}()
	go func() {
		sum := uint64(0)
		process := func(batch []uint64) {
			for _, record := range batch {
				sum += w.records.process(record)
			}
		}
		if w.program == "partition" {
			for batch := range queue {
				process(batch)
				for y := uint64(0); y < w.yields; y++ {
					runtime.Gosched()
				}
			}
		} else {
			w.look(queue, process)
		}
		answer <- sum
	}()
	sum := <-answer
	watch.stop()
	return sum
}

// look spins or sleeps while the queue is empty.
func (w dispatcherWork) look(queue <-chan []uint64, process func(batch []uint64)) {
	for {
		select {
		case batch, more := <-queue:
			if !more {
				return
			}
			process(batch)
		default:
			if w.program == "sleeps" {
				time.Sleep(dispatcherNap)
			}
		}
	}
}

// storedRecord is a record as the document's program has it: fields and headers by name.
type storedRecord struct {
	fields            map[string]any
	headers           map[string]string
	timestamp, offset int64
	partition         int32
}

func (r *storedRecord) copy() *storedRecord {
	copied := *r
	copied.fields = make(map[string]any, len(r.fields))
	for name, value := range r.fields {
		copied.fields[name] = value
	}
	copied.headers = make(map[string]string, len(r.headers))
	for name, value := range r.headers {
		copied.headers[name] = value
	}
	return &copied
}

func copyRecords(count uint64, watch *stopwatch) uint64 {
	record := &storedRecord{fields: map[string]any{
		"order_id": int64(1), "customer_id": int64(1), "date": "2026-01-01", "amount": int64(150)}}
	watch.start()
	defer watch.stop()
	sum := uint64(0)
	for i := uint64(0); i < count; i++ {
		sum += uint64(record.copy().fields["amount"].(int64))
	}
	return sum
}

func dispatcher(r *request) body {
	work := dispatcherWork{
		program: r.choice("program", "spawn", "throughput", "channel", "yields", "partition", "spins", "sleeps", "clone"),
		count:   r.integer("count"), batch: r.integer("batch"), yields: r.integer("yields"),
	}
	work.records = recordWork{work.count, work.batch, 1, r.integer("steps")}
	if r.err == nil && (work.count == 0 || work.batch == 0 && work.program != "spawn" && work.program != "clone") {
		r.fail(usageError{"count and batch of dispatcher are at least 1"})
	}
	if work.program == "spins" && r.threads < 2 {
		r.unsupported("who spins on the only thread keeps the coordinator from it")
	}
	return func(watch *stopwatch) uint64 {
		switch work.program {
		case "spawn", "throughput":
			return work.spawnAndJoin(watch)
		case "channel":
			return work.throughAChannel(watch)
		case "yields":
			return work.yieldOften(watch)
		case "clone":
			return copyRecords(work.count, watch)
		}
		return work.receiveRecords(watch)
	}
}
