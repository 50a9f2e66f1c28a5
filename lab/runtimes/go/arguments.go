package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// More threads than this are refused, as by the C++ adapters.
const mostThreads = 1024

const usage = `usage: lab_go describe
       lab_go run --workload W --params JSON --threads N [--warmup K] [--least-ms M] [--dress plain|expert]
`

// usageError is a wrong command line: exit status 2.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// unsupportedError says what this runtime cannot do with parameters that are right: a row of its own, not a failure.
type unsupportedError struct{ reason string }

func (e unsupportedError) Error() string { return e.reason }

// request is one `run`: the numbers that the workload's owner chose.
type request struct {
	workload string
	threads  int
	warmup   int
	leastMS  int64
	expert   bool
	params   map[string]json.RawMessage
	// The first parameter that is missing or of another kind. The caller asks once, at the end.
	err error
	// What the workload began and must end, whatever comes.
	ends []func()
}

func (r *request) atEnd(end func()) {
	r.ends = append(r.ends, end)
}

// cold asks for one pass and no warm-up: where memory is measured, a pass before would leave its own.
func (r *request) cold() {
	r.warmup, r.leastMS = 0, 0
}

func (r *request) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// integer is 0 where the parameter is missing, and then r.err says so.
func (r *request) integer(name string) uint64 {
	var value uint64
	if json.Unmarshal(r.params[name], &value) != nil {
		r.fail(usageError{"--params needs the non-negative integer " + name})
	}
	return value
}

func (r *request) choice(name string, allowed ...string) string {
	var word string
	if json.Unmarshal(r.params[name], &word) == nil {
		for _, each := range allowed {
			if word == each {
				return word
			}
		}
	}
	r.fail(usageError{fmt.Sprintf("--params needs %s, one of: %s", name, strings.Join(allowed, ", "))})
	return ""
}

// unsupported says why Go cannot do what these parameters ask for.
func (r *request) unsupported(reason string) {
	r.fail(unsupportedError{reason})
}

// parse reads what follows `run`.
func parse(arguments []string) (*request, error) {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	workload := flags.String("workload", "", "")
	params := flags.String("params", "", "")
	threads := flags.Uint("threads", 0, "")
	warmup := flags.Uint("warmup", 1, "")
	least := flags.Uint("least-ms", 0, "")
	dress := flags.String("dress", "plain", "")
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		os.Exit(0)
	} else if err != nil {
		return nil, usageError{err.Error()}
	}
	r := &request{workload: *workload, threads: int(*threads), warmup: int(*warmup), leastMS: int64(*least),
		expert: *dress == "expert"}
	switch {
	case flags.NArg() > 0:
		return nil, usageError{"unknown argument " + flags.Arg(0)}
	case *dress != "plain" && *dress != "expert":
		return nil, usageError{"unknown dress " + *dress + "; allowed: plain, expert"}
	case *threads < 1 || *threads > mostThreads:
		return nil, usageError{fmt.Sprintf("--threads is a number from 1 to %d", mostThreads)}
	case json.Unmarshal([]byte(*params), &r.params) != nil:
		return nil, usageError{"--params is not a JSON object: " + *params}
	}
	return r, nil
}
