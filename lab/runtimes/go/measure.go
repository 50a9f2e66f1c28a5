package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// stopwatch has wall and process CPU of what lies between start and stop, as that of the C++ adapters.
type stopwatch struct {
	began    time.Time
	cpuBegan int64
	clocks   []int
	wallNS   int64
	cpuNS    int64
	// What a client measured beside the time, over all passes so far but the warm-ups.
	figures map[string]float64
	// How long something took, for percentiles; and whether wall is the sum of these, and not how long all took together.
	waits           []time.Duration
	waitsAreTheWall bool
}

func (w *stopwatch) waited(latency time.Duration) {
	w.waits = append(w.waits, latency)
}

// itemTook is how long an item took, where wall is the sum of these.
func (w *stopwatch) itemTook(latency time.Duration) {
	w.waited(latency)
	w.waitsAreTheWall = true
}

// figure tells a number of this pass beside its time.
func (w *stopwatch) figure(name string, value float64) {
	if w.figures == nil {
		w.figures = map[string]float64{}
	}
	w.figures[name] = value
}

func (w *stopwatch) start() {
	w.clocks = clocksOfThreads()
	account(w.clocks)
	w.cpuBegan = processCPU()
	w.began = time.Now()
}

func (w *stopwatch) stop() {
	w.wallNS = time.Since(w.began).Nanoseconds()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stopped := cpuOf(clockThreadCPU)
	account(w.clocks)
	used := processCPU()
	w.cpuNS = used - (cpuOf(clockThreadCPU) - stopped) - w.cpuBegan
	if w.cpuNS < 0 { // used is in microseconds
		w.cpuNS = 0
	}
}

// body runs one whole pass, times the part that counts and returns the answer.
type body func(watch *stopwatch) uint64

// measured has the sums over all passes, and the answer that all of them gave.
type measured struct {
	answer  string
	wallNS  int64
	cpuNS   int64
	passes  uint64
	figures map[string]float64
}

// measure warms up and then does as many passes as the request asks for.
func measure(r *request, pass body) measured {
	for i := 0; i < r.warmup; i++ {
		pass(new(stopwatch))
	}
	var all measured
	var first uint64
	elapsedNS := int64(0)
	var waits []time.Duration
	for differs := false; all.passes == 0 || elapsedNS < r.leastMS*int64(time.Millisecond); {
		var watch stopwatch
		answer := pass(&watch)
		all.passes++
		elapsedNS += watch.wallNS
		if watch.waitsAreTheWall {
			for _, wait := range watch.waits {
				all.wallNS += wait.Nanoseconds()
			}
		} else {
			all.wallNS += watch.wallNS
		}
		waits = append(waits, watch.waits...)
		all.cpuNS += watch.cpuNS
		all.figures = watch.figures
		if all.passes == 1 {
			first = answer
			all.answer = fmt.Sprint(answer)
		} else if answer != first && !differs {
			differs = true
			all.answer += fmt.Sprintf(", then %d in pass %d", answer, all.passes)
		}
	}
	if len(waits) > 0 {
		all.figures = percentiles(waits)
	}
	return all
}

// percentiles are each the least that is not below so large a share of all.
func percentiles(waits []time.Duration) map[string]float64 {
	sort.Slice(waits, func(a, b int) bool { return waits[a] < waits[b] })
	of := func(share float64) float64 {
		return float64(waits[int(math.Ceil(share*float64(len(waits))))-1].Nanoseconds())
	}
	return map[string]float64{"p50_ns": of(0.5), "p99_ns": of(0.99), "p999_ns": of(0.999), "max_ns": of(1)}
}

// clocksOfThreads are those of the threads that are there. The kernel accounts for a thread when it leaves its processor,
// at a tick, and when its clock is read: without that its CPU counts where the next tick is.
func clocksOfThreads() []int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	var clocks []int
	for _, task := range tasks {
		if number, err := strconv.Atoi(task.Name()); err == nil {
			clocks = append(clocks, ^number<<3|6)
		}
	}
	return clocks
}

// clockThreadCPU is CLOCK_THREAD_CPUTIME_ID.
const clockThreadCPU = 3

func cpuOf(clock int) int64 {
	var used syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&used)), 0)
	return used.Nano()
}

func account(clocks []int) {
	for _, clock := range clocks {
		cpuOf(clock)
	}
}

func processCPU() int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// kilobytes is a line "key: number kB" of a file under /proc, in bytes; 0 where there is none.
func kilobytes(path, key string) uint64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		var value uint64
		if strings.HasPrefix(line, key) {
			if _, err := fmt.Sscanf(line[len(key):], "%d kB", &value); err == nil {
				return value * 1024
			}
		}
	}
	return 0
}

// peakRSS is VmHWM: ru_maxrss survives exec, so a child of a large runner would report the runner's memory as its own.
func peakRSS() uint64 {
	return kilobytes("/proc/self/status", "VmHWM:")
}

// requireMemory refuses what the machine can spare no memory for: it would take the machine down with it instead of
// leaving a row that says why.
func (r *request) requireMemory(bytes uint64, what string) {
	const gigabyte = 1_000_000_000
	available := kilobytes("/proc/meminfo", "MemAvailable:")
	// A quarter stays free for everything else.
	if available > 0 && bytes > available/4*3 {
		r.unsupported(fmt.Sprintf("%s would take about %d GB of memory, and %d GB are available", what, bytes/gigabyte,
			available/gigabyte))
	}
}
