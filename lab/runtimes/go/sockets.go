// Servers of many connections, and reads of a file.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const bufferBytes = 4096

// loopback listens on 127.0.0.1, at a port that the kernel chooses, and has the address as text.
func loopback(settings net.ListenConfig) (net.Listener, string) {
	listener, err := settings.Listen(context.Background(), "tcp", "127.0.0.1:0")
	must(err)
	return listener, listener.Addr().String()
}

// underLoad is a server of this process, with a goroutine a connection, and lab_load as its client.
func underLoad(r *request, settings net.ListenConfig, name string, options []string, handle func(net.Conn)) body {
	if r.err != nil {
		return nil
	}
	listener, address := loopback(settings)
	go func() {
		for {
			connection, err := listener.Accept()
			must(err)
			go handle(connection)
		}
	}()
	before := rss()
	program := os.Getenv("LAB_LOAD")
	if program == "" {
		self, err := os.Executable()
		must(err)
		program = filepath.Join(filepath.Dir(self), "lab_load")
	}
	_, port, err := net.SplitHostPort(address)
	must(err)
	load := exec.Command(program, append([]string{name, "--port", port, "--warmup", strconv.Itoa(r.warmup)}, options...)...)
	load.Stderr = os.Stderr
	orders, err := load.StdinPipe()
	must(err)
	output, err := load.StdoutPipe()
	must(err)
	must(load.Start())
	reports := bufio.NewReader(output)
	ready, err := reports.ReadString('\n')
	must(err)
	if ready != "ready\n" {
		must(fmt.Errorf("the load did not connect"))
	}
	r.atEnd(func() {
		_ = load.Process.Kill()
		_ = load.Wait()
	})
	return func(watch *stopwatch) uint64 {
		watch.start()
		_, err := io.WriteString(orders, "go\n")
		must(err)
		line, err := reports.ReadString('\n')
		watch.stop()
		must(err)
		var said struct {
			Answer  string
			Figures map[string]float64
		}
		must(json.Unmarshal([]byte(line), &said))
		answer, err := strconv.ParseUint(said.Answer, 10, 64)
		must(err)
		watch.figures = said.Figures
		tellConnections(r, watch, before)
		return answer
	}
}

// tellConnections has the memory that this process has more of since the client was made, for each connection that waits
// for its next request, where they are so many that pages tell them. Those of accept_churn have ended with their pass.
func tellConnections(r *request, watch *stopwatch, before uint64) {
	const toldFrom = 1_000
	if r.workload == "accept_churn" || r.integer("connections") < toldFrom {
		return
	}
	watch.figure("connection_bytes", grownSince(before)/float64(r.integer("connections")))
}

// option is a parameter as lab_load takes it.
func option(r *request, names ...string) []string {
	var options []string
	for _, name := range names {
		options = append(options, "--"+strings.ReplaceAll(name, "_", "-"), strconv.FormatUint(r.integer(name), 10))
	}
	return options
}

// requireDescriptors refuses what the system allows no descriptors for. Go itself raises the soft limit.
func requireDescriptors(r *request) {
	const others = 100 // what the runtime and the process have beside
	var limit syscall.Rlimit
	must(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	limit.Cur = limit.Max
	must(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	if limit.Cur < r.integer("connections")+others {
		r.unsupported(fmt.Sprintf("the system allows %d descriptors (RLIMIT_NOFILE)", limit.Cur))
	}
}

// echoUnderLoad is the server of echo_many, on as many threads as the runtime has.
func echoUnderLoad(r *request) body {
	requireDescriptors(r)
	options := option(r, "connections", "requests", "bytes", "rate")
	return underLoad(r, net.ListenConfig{}, "echo", options, func(connection net.Conn) {
		defer connection.Close()
		buffer := make([]byte, bufferBytes)
		for {
			n, err := connection.Read(buffer)
			if err != nil {
				return
			}
			if _, err := connection.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
}

func echoPool(r *request) body {
	workers, step := r.workers(), time.Duration(r.integer("compute_us"))*time.Microsecond
	if r.err != nil {
		return nil
	}
	runtime.GOMAXPROCS(workers)
	if step != 0 {
		var ended atomic.Bool
		r.atEnd(func() { ended.Store(true) })
		go func() {
			for !ended.Load() {
				computeFor(step)
				runtime.Gosched()
			}
		}()
	}
	return echoUnderLoad(r)
}

func acceptChurn(r *request) body {
	return churned(r, net.ListenConfig{})
}

// acceptChurnExpert asks for no probes of idle connections: Go turns them on for each accepted one, by system calls of
// their own, and none of these connections lives long enough for the first probe.
func acceptChurnExpert(r *request) body {
	return churned(r, net.ListenConfig{KeepAlive: -1})
}

func churned(r *request, settings net.ListenConfig) body {
	return underLoad(r, settings, "churn", option(r, "connections", "in_flight"), func(connection net.Conn) {
		defer connection.Close()
		var one [1]byte
		if _, err := connection.Read(one[:]); err != nil {
			return
		}
		one[0]++
		// A client that has the answer resets the connection.
		_, _ = connection.Write(one[:])
	})
}

type socketWork struct {
	connections, requests       uint64
	requestBytes, responseBytes int
}

// checkMessage ends the process where this is not message number `number` of its side.
func checkMessage(message []byte, letter byte, number uint64) {
	if had := binary.LittleEndian.Uint64(message); had != number || message[len(message)-1] != letter {
		must(fmt.Errorf("a message with the number %d came in place of number %d", had, number))
	}
}

func letters(letter byte, size int) []byte {
	message := make([]byte, size)
	for i := range message {
		message[i] = letter
	}
	return message
}

// readWhole reads until `size` bytes are there, into a buffer that could hold more.
func readWhole(connection net.Conn, buffer []byte, size int) ([]byte, error) {
	have := 0
	for have < size {
		n, err := connection.Read(buffer[have:])
		if err != nil {
			return nil, err
		}
		have += n
	}
	if have != size {
		must(fmt.Errorf("%d bytes came in place of %d", have, size))
	}
	return buffer[:have], nil
}

func (w socketWork) serve(connection net.Conn) {
	defer connection.Close()
	buffer, response := make([]byte, bufferBytes), letters('r', w.responseBytes)
	for number := uint64(1); ; number++ {
		request, err := readWhole(connection, buffer, w.requestBytes)
		if err == io.EOF {
			return
		}
		must(err)
		checkMessage(request, 'q', number)
		binary.LittleEndian.PutUint64(response, number)
		_, err = connection.Write(response)
		must(err)
	}
}

func (w socketWork) ask(address string) uint64 {
	connection, err := net.Dial("tcp", address)
	must(err)
	defer connection.Close()
	buffer, request := make([]byte, bufferBytes), letters('q', w.requestBytes)
	var sum orderedSum
	for number := uint64(1); number <= w.requests; number++ {
		binary.LittleEndian.PutUint64(request, number)
		_, err := connection.Write(request)
		must(err)
		response, err := readWhole(connection, buffer, w.responseBytes)
		must(err)
		checkMessage(response, 'r', number)
		sum.add(number)
	}
	return sum.sum
}

func ioSocket(r *request) body {
	connections := r.integer("connections")
	if connections == 0 {
		r.fail(usageError{"--params needs connections"})
		return nil
	}
	work := socketWork{connections, r.integer("requests") / connections, int(r.integer("request_bytes")),
		int(r.integer("response_bytes"))}
	return func(watch *stopwatch) uint64 {
		listener, address := loopback(net.ListenConfig{})
		served := make(chan struct{})
		go func() {
			all := make([]net.Conn, work.connections)
			for i := range all {
				connection, err := listener.Accept()
				must(err)
				all[i] = connection
			}
			var serving sync.WaitGroup
			serving.Add(len(all))
			for _, connection := range all {
				go func(connection net.Conn) {
					defer serving.Done()
					work.serve(connection)
				}(connection)
			}
			serving.Wait()
			close(served)
		}()
		watch.start()
		answer := sum(work.connections, func(uint64) uint64 { return work.ask(address) })
		<-served
		watch.stop()
		_ = listener.Close()
		return answer
	}
}

// numberedFile is a file in which each word is its own number. Its name is gone already.
func numberedFile(mebibytes uint64) *os.File {
	file, err := os.CreateTemp("", "coflux-lab-")
	must(err)
	must(os.Remove(file.Name()))
	block := make([]byte, 1<<20)
	for number, i := uint64(0), uint64(0); i < mebibytes; i++ {
		for at := 0; at < len(block); at += 8 {
			binary.LittleEndian.PutUint64(block[at:], number)
			number++
		}
		_, err := file.Write(block)
		must(err)
	}
	return file
}

func fileRead(r *request) body {
	size, mebibytes, reads := r.integer("bytes"), r.integer("file_mib"), r.integer("reads")
	random := r.choice("pattern", "random", "sequential") == "random"
	if size < 8 || size%8 != 0 || mebibytes<<20 < size {
		r.fail(usageError{"--params needs bytes, whole words and not more than the file has"})
	}
	if r.err != nil {
		return nil
	}
	file := numberedFile(mebibytes)
	blocks := mebibytes << 20 / size
	block := make([]byte, size)
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		sum, state := uint64(0), uint64(1)
		for i := uint64(0); i < reads; i++ {
			state = state*6_364_136_223_846_793_005 + 1_442_695_040_888_963_407
			place := i
			if random {
				place = state >> 33
			}
			_, err := file.ReadAt(block, int64(place%blocks*size))
			must(err)
			sum += (i + 1) * (binary.LittleEndian.Uint64(block) + binary.LittleEndian.Uint64(block[size-8:]))
		}
		return sum
	}
}
