package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// stopwatch has wall and process CPU of what lies between start and stop, as that of the C++ adapters.
type stopwatch struct {
	began    time.Time
	cpuBegan int64
	wallNS   int64
	cpuNS    int64
	// What a client measured beside the time, over all passes so far but the warm-ups.
	figures map[string]float64
}

func (w *stopwatch) start() {
	w.cpuBegan = processCPU()
	w.began = time.Now()
}

func (w *stopwatch) stop() {
	w.wallNS = time.Since(w.began).Nanoseconds()
	w.cpuNS = processCPU() - w.cpuBegan
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
	for differs := false; all.passes == 0 || all.wallNS < r.leastMS*int64(time.Millisecond); {
		var watch stopwatch
		answer := pass(&watch)
		all.passes++
		all.wallNS += watch.wallNS
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
	return all
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
