// Memory: what sleepers take and what a burst leaves; and a scheduler with too many threads.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// rss is what of the process's memory is in RAM now. The counters of /proc/self/statm lag behind.
func rss() uint64 {
	bytes := kilobytes("/proc/self/smaps_rollup", "Rss:")
	if bytes == 0 {
		panic("/proc/self/smaps_rollup does not say what is in memory")
	}
	return bytes
}

// grownSince is how much more is in RAM than there was.
func grownSince(before uint64) float64 {
	if now := rss(); now > before {
		return float64(now - before)
	}
	return 0
}

func idleTasks(r *request) body {
	count := r.integer("count")
	length := time.Duration(r.integer("sleep_ms")) * time.Millisecond
	r.cold()
	return func(watch *stopwatch) uint64 {
		var asleep, woken, slept atomic.Uint64
		var all sync.WaitGroup
		before := rss()
		watch.start()
		all.Add(int(count))
		for i := uint64(0); i < count; i++ {
			go func() {
				defer all.Done()
				asleep.Add(1)
				began := time.Now()
				time.Sleep(length)
				woken.Add(1)
				if time.Since(began) >= length {
					slept.Add(1)
				}
			}()
		}
		for asleep.Load() < count {
			time.Sleep(time.Millisecond)
		}
		watch.stop()
		bytes := grownSince(before)
		noneHadWoken := woken.Load() == 0
		watch.figure("bytes_each", bytes/float64(count))
		all.Wait()
		if !noneHadWoken {
			return 0
		}
		return slept.Load()
	}
}

func memoryAfter(r *request) body {
	burst := spawnJoin(r)
	idle := time.Duration(r.integer("idle_ms")) * time.Millisecond
	r.cold()
	return func(watch *stopwatch) uint64 {
		before := rss()
		answer := burst(watch)
		watch.figure("kept_bytes", grownSince(before))
		time.Sleep(idle)
		watch.figure("kept_when_idle_bytes", grownSince(before))
		return answer
	}
}

// The senders of `oversubscribed`, and as many receivers.
const senders = 4

func oversubscribed(r *request) body {
	workers, count := r.workers(), r.integer("count")
	channel := r.choice("idiom", "channel", "fork") == "channel"
	if r.err != nil {
		return nil
	}
	runtime.GOMAXPROCS(workers)
	if channel {
		return throughOne(count/senders, 16, senders, senders)
	}
	return spawnJoin(r)
}
