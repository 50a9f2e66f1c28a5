// echo: one message at a time between two goroutines, or two processes.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

const (
	echoSize = 19
	ofClient = "from client"
	ofServer = "from server"
)

// must ends the process where something failed that no row can do without.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab_go:", err)
		os.Exit(1)
	}
}

func put(message []byte, words string, number uint64) {
	binary.LittleEndian.PutUint64(message[copy(message, words):], number)
}

// numberIn is the number in a message of this side.
func numberIn(message []byte, words string) uint64 {
	if len(message) != echoSize || string(message[:len(words)]) != words {
		must(fmt.Errorf("a message of %d bytes is not one %s", len(message), words))
	}
	return binary.LittleEndian.Uint64(message[len(words):])
}

// echoEnd sends and receives whole messages.
type echoEnd interface {
	receive(into []byte) (int, error)
	send(message []byte) error
}

// streamEnd is an end of a connection, or of two pipes.
type streamEnd struct {
	reads  io.Reader
	writes io.Writer
}

func (e streamEnd) receive(into []byte) (int, error) { return io.ReadFull(e.reads, into[:echoSize]) }
func (e streamEnd) send(message []byte) error        { _, err := e.writes.Write(message); return err }

// datagramEnd is connected, and so one read is one message.
type datagramEnd struct{ net.Conn }

func (e datagramEnd) receive(into []byte) (int, error) { return e.Read(into) }
func (e datagramEnd) send(message []byte) error        { _, err := e.Write(message); return err }

// udpServer and unixServer answer the sender of the last message.
type udpServer struct {
	*net.UDPConn
	from netip.AddrPort
}

func (e *udpServer) receive(into []byte) (n int, err error) {
	n, e.from, err = e.ReadFromUDPAddrPort(into)
	return n, err
}

func (e *udpServer) send(message []byte) error {
	_, err := e.WriteToUDPAddrPort(message, e.from)
	return err
}

type unixServer struct {
	*net.UnixConn
	from *net.UnixAddr
}

func (e *unixServer) receive(into []byte) (n int, err error) {
	n, e.from, err = e.ReadFromUnix(into)
	return n, err
}

func (e *unixServer) send(message []byte) error {
	_, err := e.WriteToUnix(message, e.from)
	return err
}

// serve answers until the other side has ended.
func serve(end echoEnd) {
	// Longer than a message, so that one which is too long is seen.
	buffer, answer := make([]byte, 64), make([]byte, echoSize)
	for {
		n, err := end.receive(buffer)
		if err != nil {
			return
		}
		put(answer, ofServer, numberIn(buffer[:n], ofClient))
		must(end.send(answer))
	}
}

// server listens over a transport. Its address is what a client needs, and accept waits for that client.
type server struct {
	address string
	accept  func() echoEnd
}

func unixName(who string) string {
	return fmt.Sprintf("@coflux-lab-%d-%s", os.Getpid(), who)
}

// listen is for all but pipes, whose two ends come about at once.
func listen(transport string) server {
	switch transport {
	case "tcp", "unix":
		where := "127.0.0.1:0"
		if transport == "unix" {
			where = unixName("stream")
		}
		listener, err := net.Listen(transport, where)
		must(err)
		return server{listener.Addr().String(), func() echoEnd {
			connection, err := listener.Accept()
			must(err)
			return streamEnd{connection, connection}
		}}
	case "udp":
		socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		must(err)
		return server{socket.LocalAddr().String(), func() echoEnd { return &udpServer{UDPConn: socket} }}
	default:
		at := unixName("server")
		socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
		must(err)
		return server{at, func() echoEnd { return &unixServer{UnixConn: socket} }}
	}
}

func connect(transport, address string) echoEnd {
	if transport == "unix_datagram" {
		socket, err := net.DialUnix("unixgram", &net.UnixAddr{Name: unixName("client"), Net: "unixgram"},
			&net.UnixAddr{Name: address, Net: "unixgram"})
		must(err)
		return datagramEnd{socket}
	}
	connection, err := net.Dial(transport, address)
	must(err)
	if transport == "udp" {
		return datagramEnd{connection}
	}
	return streamEnd{connection, connection}
}

type cpuSet [16]uint64

func affinity(call uintptr, thread int, set *cpuSet) bool {
	_, _, failed := syscall.RawSyscall(call, uintptr(thread), unsafe.Sizeof(*set), uintptr(unsafe.Pointer(set)))
	return failed == 0
}

// startBeside starts a process on the CPUs that this one may not run on, where there are any: it has those of the
// thread that starts it.
func startBeside(command *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var own, all cpuSet
	for i := range all {
		all[i] = ^uint64(0)
	}
	if affinity(syscall.SYS_SCHED_GETAFFINITY, 0, &own) && affinity(syscall.SYS_SCHED_SETAFFINITY, 0, &all) {
		// What the machine has not and the container may not, the kernel has taken away.
		if affinity(syscall.SYS_SCHED_GETAFFINITY, 0, &all) {
			for i := range all {
				all[i] &^= own[i]
			}
			if !affinity(syscall.SYS_SCHED_SETAFFINITY, 0, &all) {
				affinity(syscall.SYS_SCHED_SETAFFINITY, 0, &own)
			}
		}
		defer affinity(syscall.SYS_SCHED_SETAFFINITY, 0, &own)
	}
	return command.Start()
}

// serverCommand is what this executable is called with to be the server of another process.
const serverCommand = "serve-echo"

// serveAlone is that process. It says where it listens, and ends with its input.
func serveAlone(transport string) {
	runtime.GOMAXPROCS(1)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if transport == "pipe" {
		// Else each wait would be one of a thread.
		must(syscall.SetNonblock(3, true))
		must(syscall.SetNonblock(4, true))
		serve(streamEnd{os.NewFile(3, "requests"), os.NewFile(4, "answers")})
		return
	}
	server := listen(transport)
	fmt.Println(server.address)
	serve(server.accept())
}

// otherProcess is the client's end of a server in a process of its own, and what ends that.
func otherProcess(transport string) (echoEnd, func()) {
	self, err := os.Executable()
	must(err)
	command := exec.Command(self, serverCommand, transport)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	must(err)
	output, err := command.StdoutPipe()
	must(err)
	var client echoEnd
	var theirs []*os.File
	if transport == "pipe" {
		requests, toServer, err := os.Pipe()
		must(err)
		fromServer, answers, err := os.Pipe()
		must(err)
		theirs = []*os.File{requests, answers}
		client = streamEnd{fromServer, toServer}
	}
	command.ExtraFiles = theirs
	must(startBeside(command))
	for _, file := range theirs {
		_ = file.Close()
	}
	if client == nil {
		address, err := bufio.NewReader(output).ReadString('\n')
		must(err)
		client = connect(transport, strings.TrimSpace(address))
	}
	return client, func() {
		_ = input.Close()
		_ = command.Process.Kill()
		_ = command.Wait()
	}
}

// ownServer is the client's end of a server in another goroutine.
func ownServer(transport string) (echoEnd, func()) {
	if transport == "pipe" {
		requests, toServer, err := os.Pipe()
		must(err)
		fromServer, answers, err := os.Pipe()
		must(err)
		go serve(streamEnd{requests, answers})
		return streamEnd{fromServer, toServer}, func() {}
	}
	server := listen(transport)
	accepted := make(chan echoEnd)
	go func() { accepted <- server.accept() }()
	client := connect(transport, server.address)
	go serve(<-accepted)
	return client, func() {}
}

func echo(r *request) body {
	rounds, processes := r.integer("rounds"), r.integer("processes")
	transport := r.choice("transport", "tcp", "udp", "unix", "unix_datagram", "pipe", "shm_spin", "shm_sem")
	if strings.HasPrefix(transport, "shm") {
		r.unsupported("Go has nothing for memory that processes share: the reference is bare")
	}
	if processes != 1 && processes != 2 {
		r.fail(usageError{"--params needs processes, 1 or 2"})
	}
	if r.err != nil {
		return nil
	}
	begin := ownServer
	if processes == 2 {
		begin = otherProcess
	}
	client, end := begin(transport)
	r.atEnd(end)
	request, buffer := make([]byte, echoSize), make([]byte, 64)
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		var sum orderedSum
		for i := uint64(1); i <= rounds; i++ {
			put(request, ofClient, i)
			must(client.send(request))
			n, err := client.receive(buffer)
			must(err)
			if number := numberIn(buffer[:n], ofServer); number != i {
				must(fmt.Errorf("the answer to request %d came for %d", number, i))
			}
			sum.add(i)
		}
		return sum.sum
	}
}
