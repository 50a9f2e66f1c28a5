// What threads start that have nothing else to do with goroutines: requests, floods, and arrivals at their own times.
// Go has no thread outside of its scheduler; a goroutine that is locked to a thread stands nearest to one.
package main

import (
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// stayOn keeps all threads, and those that they make from now on, on the first CPUs of those that the process may use.
func stayOn(cpus uint64) {
	var usable cpuSet
	if !affinity(syscall.SYS_SCHED_GETAFFINITY, 0, &usable) {
		panic("sched_getaffinity failed")
	}
	kept := uint64(0)
	for cpu := 0; cpu < len(usable)*64; cpu++ {
		if bit := uint64(1) << (cpu % 64); usable[cpu/64]&bit != 0 {
			if kept++; kept > cpus {
				usable[cpu/64] &^= bit
			}
		}
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	for _, thread := range threads {
		number, err := strconv.Atoi(thread.Name())
		if err != nil {
			panic(err)
		}
		if !affinity(syscall.SYS_SCHED_SETAFFINITY, number, &usable) {
			panic("sched_setaffinity failed")
		}
	}
}

// workers is the number of threads where the workload chooses it, and not --threads.
func (r *request) workers() int {
	workers := r.integer("workers")
	if r.err == nil && (workers < 1 || workers > mostThreads) {
		r.fail(usageError{"workers is a number from 1 to " + strconv.Itoa(mostThreads)})
	}
	return int(workers)
}

func outsideWake(r *request) body {
	workers, cpus, requests := r.workers(), r.integer("cpus"), r.integer("requests")
	gap := time.Duration(r.integer("gap_us")) * time.Microsecond
	if r.err != nil {
		return nil
	}
	stayOn(cpus)
	runtime.GOMAXPROCS(workers)
	return func(watch *stopwatch) uint64 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		sum := uint64(0)
		watch.start()
		for i := uint64(0); i < requests; i++ {
			began := time.Now()
			answer := make(chan uint64, 1)
			go func() { answer <- i + 1 }()
			sum += <-answer
			watch.itemTook(time.Since(began))
			if gap != 0 {
				sleepUntil(time.Now(), gap)
			}
		}
		watch.stop()
		return sum
	}
}

// part is what the goroutines of one producer write, on a line of its own.
type part struct {
	sum, left atomic.Uint64
	_         [48]byte
}

// shareOf is how many tasks each producer starts.
func shareOf(r *request) uint64 {
	producers := r.integer("producers")
	if producers == 0 {
		r.fail(usageError{"inject has at least one producer"})
		return 0
	}
	return r.integer("count") / producers
}

func inject(r *request) body {
	each, producers := shareOf(r), r.integer("producers")
	if r.err != nil {
		return nil
	}
	return func(watch *stopwatch) uint64 {
		parts := make([]part, producers)
		var running atomic.Uint64 // producers of which not all tasks have run
		running.Store(producers)
		done := make(chan struct{})
		begin := make(chan struct{})
		var ready sync.WaitGroup
		ready.Add(len(parts))
		for p := range parts {
			go func(mine *part, before uint64) {
				runtime.LockOSThread() // and never unlocked: the thread ends with it
				mine.left.Store(each)
				ready.Done()
				<-begin
				for i := uint64(1); i <= each; i++ {
					go func(number uint64) {
						mine.sum.Add(number)
						if mine.left.Add(^uint64(0)) == 0 && running.Add(^uint64(0)) == 0 {
							close(done)
						}
					}(before + i)
				}
			}(&parts[p], uint64(p)*each)
		}
		ready.Wait()
		watch.start()
		close(begin)
		<-done
		watch.stop()
		sum := uint64(0)
		for p := range parts {
			sum += parts[p].sum.Load()
		}
		return sum
	}
}

// nextRandom is splitmix64: the same arrivals in all adapters.
func nextRandom(state *uint64) uint64 {
	*state += 0x9E3779B97F4A7C15
	z := *state
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// arrivals is when the tasks are to begin, from the start on.
func arrivals(threads, loadPercent uint64, work time.Duration, count uint64) []time.Duration {
	gap := float64(work.Nanoseconds()) / float64(threads) * 100 / float64(loadPercent)
	intended := make([]time.Duration, count)
	state, at := uint64(17), 0.0
	for i := range intended {
		at -= gap * math.Log(1-float64(nextRandom(&state)>>11)/(1<<53))
		intended[i] = time.Duration(at)
	}
	return intended
}

// sleepUntil is the sleep of a thread, as in the other adapters: time.Sleep rounds up to a millisecond where all is
// idle. The scheduler is not told, so the thread keeps its share of it.
func sleepUntil(began time.Time, intended time.Duration) {
	for ahead := intended - time.Since(began); ahead > 0; ahead = intended - time.Since(began) {
		length := syscall.NsecToTimespec(ahead.Nanoseconds())
		syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&length)), 0, 0)
	}
}

func latencyUnderLoad(r *request) body {
	const prSetTimerslack = 29
	work := time.Duration(r.integer("work_us")) * time.Microsecond
	load, count := r.integer("load_percent"), r.integer("count")
	if r.err == nil && load == 0 {
		r.fail(usageError{"latency_under_load has a load"})
	}
	if r.err != nil {
		return nil
	}
	intended := arrivals(uint64(r.threads), load, work, count)
	// One more for the thread that starts them, which holds it also while it sleeps.
	runtime.GOMAXPROCS(r.threads + 1)
	return func(watch *stopwatch) uint64 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		// A thread's sleep may otherwise be 50 us too long.
		syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerslack, 1, 0)
		waits := make([]time.Duration, count)
		var left atomic.Uint64
		left.Store(count)
		done := make(chan struct{})
		watch.start()
		began := time.Now()
		for number := range intended {
			sleepUntil(began, intended[number])
			go func(number int) {
				computeFor(work)
				waits[number] = time.Since(began) - intended[number]
				if left.Add(^uint64(0)) == 0 {
					close(done)
				}
			}(number)
		}
		<-done
		watch.stop()
		sum := uint64(0)
		for number, wait := range waits {
			if wait >= work { // none can be done sooner
				sum += uint64(number) + 1
			}
			watch.itemTook(wait)
		}
		return sum
	}
}
