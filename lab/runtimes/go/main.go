// The lab's adapter for Go: goroutines and channels, the standard library alone. The protocol is in
// lab/runtimes/common/README.md.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Both of what makes goroutines and of what stands for malloc, which the process never calls.
const (
	allocator = "Go's own, with a garbage collector"
	malloc    = "own"
)

// variant is one dress of a workload: prepare reads the parameters and makes the runtime's part, before the first pass.
type variant struct {
	note    string
	prepare func(r *request) body
}

type workload struct {
	name   string
	params []string
	// How many items one pass does; the runner states the same definition a second time and compares.
	items  func(r *request) uint64
	plain  variant
	expert variant // without prepare: there is one dress
	// Why there is no idiom at all, or nothing.
	unsupported string
}

func product(names ...string) func(r *request) uint64 {
	return func(r *request) uint64 {
		items := uint64(1)
		for _, name := range names {
			items *= r.integer(name)
		}
		return items
	}
}

// seldom has the collector wait until the heap is five times what was alive, in place of twice: GOGC=400.
func seldom(note string, prepare func(r *request) body) variant {
	return variant{note + "; a collector that runs a quarter as often", func(r *request) body {
		debug.SetGCPercent(400)
		return prepare(r)
	}}
}

const noInlineFork = "no inline fork: a goroutine always goes through the scheduler, and a function that is called is " +
	"part of its caller (measured as call_overhead); neither takes a memory resource"

const noShard = "no goroutine belongs to a scheduler of one thread: what a shard starts may run on any"

var workloads = []workload{
	{name: "accept_churn", params: []string{"connections", "in_flight"}, items: product("connections"),
		plain:  variant{"a goroutine a connection", acceptChurn},
		expert: variant{"the same, without the keep-alive that Go turns on for each connection", acceptChurnExpert}},
	{name: "cachecalc", params: []string{"idiom", "rounds", "tasks", "wait_us"}, items: product("rounds", "tasks"),
		plain: variant{"mutex: a sync.Mutex; strand: a goroutine that owns the cache and is asked through a channel",
			cachecalc}},
	{name: "cachecalc_sharded", unsupported: noShard},
	{name: "cachecalc_variants", unsupported: "the document's programs for other runtimes; Go's stand under cachecalc"},
	{name: "call_overhead", params: []string{"calls"}, items: product("calls"),
		plain: variant{"a call that is not inlined: any function of Go may wait", callOverhead}},
	{name: "channel_mpmc", params: []string{"count", "capacity", "producers", "consumers"},
		items: func(r *request) uint64 { return share(r) * r.integer("producers") },
		plain: variant{"a chan, closed when the senders have ended", channelMPMC}},
	{name: "channel_rendezvous", params: []string{"count"}, items: product("count"),
		plain: variant{"a chan without a buffer", channelRendezvous}},
	{name: "channel_spsc", params: []string{"count", "capacity"}, items: product("count"),
		plain: variant{"a chan", channelSPSC}},
	{name: "coroutine_costs", unsupported: "a goroutine has no frame that its maker creates and destroys"},
	{name: "dispatcher", params: []string{"program", "count", "batch", "yields", "steps"}, items: product("count"),
		plain: variant{"goroutines and a sync.WaitGroup; channel: the queue of mpsc_batches; records: a chan", dispatcher}},
	{name: "echo", params: []string{"transport", "processes", "rounds"}, items: product("rounds"),
		plain: variant{"package net, and os.Pipe; two goroutines", echo}},
	{name: "echo_many", params: []string{"connections", "mode", "requests", "bytes", "rate"}, items: product("requests"),
		plain: variant{"a goroutine a connection", echoUnderLoad}},
	{name: "echo_pool", params: []string{"workers", "compute_us", "connections", "mode", "requests", "bytes", "rate"},
		items: product("requests"), plain: variant{"a goroutine a connection; one that computes, and Gosched", echoPool}},
	{name: "fairness", params: []string{"waits", "jobs", "step_us"}, items: product("jobs"),
		plain: variant{"a goroutine for the job and for each child, and a sync.WaitGroup; time.Sleep; injected: by a goroutine with a thread of its own", fairness}},
	{name: "fib", params: []string{"n"}, items: func(r *request) uint64 { return fibCalls(r.integer("n")) },
		plain: variant{"a goroutine for fib(n-1), a call of fib(n-2), a sync.WaitGroup", fib}, expert: seldom("the same", fib)},
	{name: "fib_tasks", params: []string{"shape", "n", "tasks"}, items: product("tasks"),
		plain: variant{"a goroutine for each, and a sync.WaitGroup", fibTasks}},
	{name: "file_read", params: []string{"bytes", "file_mib", "reads", "pattern"}, items: product("reads"),
		plain: variant{"os.File.ReadAt", fileRead}},
	{name: "fork_noop", unsupported: noInlineFork},
	{name: "fork_pool", params: []string{"mode", "count"},
		items: func(r *request) uint64 { return r.integer("count") / uint64(r.threads) * uint64(r.threads) },
		plain: variant{"goroutines and a sync.WaitGroup", forkPool}},
	{name: "idle_tasks", params: []string{"count", "sleep_ms"}, items: product("count"),
		plain: variant{"time.Sleep in a goroutine a sleeper", idleTasks}},
	{name: "inject", params: []string{"producers", "count"},
		items: func(r *request) uint64 { return shareOf(r) * r.integer("producers") },
		plain: variant{"go, by goroutines that are locked to a thread each: there are no other threads", inject}},
	{name: "io_socket", params: []string{"connections", "requests", "request_bytes", "response_bytes"},
		items: func(r *request) uint64 {
			connections := r.integer("connections")
			if connections == 0 {
				return 0
			}
			return r.integer("requests") / connections * connections
		},
		plain: variant{"a goroutine a connection on either side, in one scheduler of two threads", ioSocket}},
	{name: "latency_under_load", params: []string{"load_percent", "work_us", "count"}, items: product("count"),
		plain: variant{"go, by a goroutine that is locked to a thread and has a place in GOMAXPROCS beside the others",
			latencyUnderLoad}},
	{name: "matmul", params: []string{"n"},
		items: func(r *request) uint64 { blocks := r.integer("n") / leafSize; return blocks * blocks * blocks },
		plain: variant{"four goroutines and a sync.WaitGroup, twice; the loops of a leaf are Go's", matmul}},
	{name: "memory_after", params: []string{"count", "idle_ms"}, items: product("count"),
		plain: variant{"goroutines and a sync.WaitGroup, as in spawn_join", memoryAfter}},
	{name: "mpsc_batches", params: []string{"batches", "batch"}, items: product("batches", "batch"),
		plain:  variant{"a slice under a sync.Mutex with a sync.Cond: every chan has a bound", mpscBatches},
		expert: variant{"the same, with batches from a sync.Pool", mpscPooledBatches}},
	{name: "mutex_handoff", params: []string{"tasks", "locks"}, items: product("tasks", "locks"),
		plain: variant{"a chan of capacity 1 as the lock, which is fair; a sync.Mutex lets its last owner in again",
			mutexHandoff}},
	{name: "nexmark", unsupported: "no stream engine: its part in a query would be the loop that bare has"},
	{name: "nqueens", params: []string{"n"}, items: func(r *request) uint64 { return nqueensBoards(r) },
		plain:  variant{"a goroutine for each safe row, and a sync.WaitGroup", nqueens},
		expert: seldom("joins from a sync.Pool, the last child in place", leanNqueens)},
	{name: "outside_wake", params: []string{"workers", "cpus", "gap_us", "requests"}, items: product("requests"),
		plain: variant{"go and a chan, by a goroutine that is locked to its thread: there are no other threads",
			outsideWake}},
	{name: "oversubscribed", params: []string{"idiom", "workers", "count"},
		items: func(r *request) uint64 {
			if r.choice("idiom", "channel", "fork") == "channel" {
				return r.integer("count") / senders * senders
			}
			return r.integer("count")
		},
		plain: variant{"GOMAXPROCS; a chan, and goroutines with a sync.WaitGroup", oversubscribed}},
	{name: "partition_receiver", params: []string{"receiver", "gap_us", "batches", "yields"}, items: product("batches"),
		plain: variant{"the queue of mpsc_batches between two goroutines", partitionReceiver}},
	{name: "pipeline", params: []string{"concurrency", "depth", "items"}, items: product("concurrency", "items"),
		plain: variant{"a goroutine a stage, and a sync.WaitGroup", pipeline}},
	{name: "record_path", params: []string{"path", "records", "batch", "partitions", "steps"}, items: product("records"),
		plain:  variant{"a chan to each partition; shared: a sync.Mutex, taken for each record", recordPath},
		expert: variant{"whole batches to each partition, from a sync.Pool", recordPathExpert}},
	{name: "skynet", params: []string{"depth"}, items: func(r *request) uint64 { return skynetTasks(r.integer("depth")) },
		plain:  variant{"ten goroutines a node, which answer through a chan", skynet},
		expert: seldom("joins from a sync.Pool, the last child in place", leanSkynet)},
	{name: "spawn_join", params: []string{"count"}, items: product("count"),
		plain: variant{"goroutines and a sync.WaitGroup", spawnJoin}},
	{name: "stream_scenarios", unsupported: "no stream engine: its part in a scenario would be the loop that bare has"},
	{name: "suspend_chain", params: []string{"chains", "depth", "values"}, items: product("chains", "depth", "values"),
		plain: variant{"a chan of one place between two goroutines", suspendChain}},
	{name: "timer_storm", params: []string{"count", "shortest_us", "longest_us"}, items: product("count"),
		plain: variant{"time.Sleep in a goroutine a sleeper", timerStorm}},
	{name: "unbalanced", params: []string{"tree"}, items: func(r *request) uint64 { return treeOf(r).nodes },
		plain:  variant{"a goroutine for each child, and a sync.WaitGroup; crypto/sha1", unbalanced},
		expert: seldom("joins from a sync.Pool, the last child in place", leanUnbalanced)},
	{name: "wait", params: []string{"idiom", "count", "wait_us"}, items: product("count"),
		plain: variant{"time.Sleep", wait}},
	{name: "yield", params: []string{"tasks", "yields"}, items: product("tasks", "yields"),
		plain: variant{"runtime.Gosched", yield}},
}

// flags is what the build was told, as the binary itself knows it.
func flags() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	var said []string
	for _, setting := range info.Settings {
		if strings.HasPrefix(setting.Key, "GOAMD64") || strings.HasPrefix(setting.Key, "CGO_ENABLED") {
			said = append(said, setting.Key+"="+setting.Value)
		}
	}
	return strings.Join(said, " ")
}

type object = map[string]interface{}

func describe() object {
	abilities := object{}
	for _, each := range workloads {
		if each.unsupported != "" {
			abilities[each.name] = object{"supported": false, "reason": each.unsupported}
			continue
		}
		said := object{"supported": true, "params": each.params, "note": each.plain.note}
		if each.expert.prepare != nil {
			said["dresses"] = object{"plain": each.plain.note, "expert": each.expert.note}
		}
		abilities[each.name] = said
	}
	version := strings.TrimPrefix(runtime.Version(), "go")
	return object{"runtime": "go", "version": version, "compiler": "go " + version, "flags": flags(),
		"allocator": allocator, "workloads": abilities}
}

func find(name string) (*workload, error) {
	var names []string
	for i := range workloads {
		if workloads[i].name == name {
			return &workloads[i], nil
		}
		names = append(names, workloads[i].name)
	}
	return nil, usageError{"unknown workload " + name + "; allowed: " + strings.Join(names, ", ")}
}

func run(r *request) (object, error) {
	asked, err := find(r.workload)
	if err != nil {
		return nil, err
	}
	if asked.unsupported != "" {
		return nil, unsupportedError{asked.unsupported}
	}
	dress := asked.plain
	if r.expert {
		dress = asked.expert
	}
	if dress.prepare == nil {
		return nil, usageError{asked.name + " has no dress expert"}
	}
	runtime.GOMAXPROCS(r.threads)
	items := asked.items(r)
	pass := dress.prepare(r)
	if r.err != nil {
		return nil, r.err
	}
	defer func() {
		for _, end := range r.ends {
			end()
		}
	}()
	all := measure(r, pass)
	said := object{"answer": all.answer, "wall_ns": all.wallNS, "cpu_ns": all.cpuNS, "passes": all.passes,
		"peak_rss_bytes": peakRSS(), "allocator": allocator, "malloc": malloc, "items_done": items * all.passes}
	if len(all.figures) > 0 {
		said["figures"] = all.figures
	}
	return said, nil
}

func answer(arguments []string) (object, error) {
	if len(arguments) == 0 {
		return nil, usageError{"a command is required: describe or run"}
	}
	switch arguments[0] {
	case "describe":
		if len(arguments) > 1 {
			return nil, usageError{"unknown argument " + arguments[1]}
		}
		return describe(), nil
	case "run":
		r, err := parse(arguments[1:])
		if err != nil {
			return nil, err
		}
		return run(r)
	case serverCommand:
		if len(arguments) != 2 {
			return nil, usageError{serverCommand + " needs a transport"}
		}
		serveAlone(arguments[1])
		os.Exit(0)
	case "-h", "--help":
		fmt.Print(usage)
		os.Exit(0)
	}
	return nil, usageError{"unknown command " + arguments[0] + "; allowed: describe, run"}
}

func main() {
	said, err := answer(os.Args[1:])
	var cannot unsupportedError
	if errors.As(err, &cannot) {
		said, err = object{"unsupported": cannot.reason}, nil
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(said)
	}
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "lab_go:", err)
	var wrong usageError
	if errors.As(err, &wrong) {
		os.Exit(2)
	}
	os.Exit(1)
}
