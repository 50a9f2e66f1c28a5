// Fork-join trees.
package main

import "sync"

// fibCalls is the number of calls of fib(n).
func fibCalls(n uint64) uint64 {
	calls, next := uint64(1), uint64(1)
	for ; n > 0; n-- {
		calls, next = next, 1+calls+next
	}
	return calls
}

func skynetTasks(depth uint64) uint64 {
	return (leaves(depth+1) - 1) / 9
}

func leaves(depth uint64) uint64 {
	all := uint64(1)
	for ; depth > 0; depth-- {
		all *= 10
	}
	return all
}

func fibOf(n uint64) uint64 {
	if n < 2 {
		return n
	}
	var first uint64
	var child sync.WaitGroup
	child.Add(1)
	go func() {
		defer child.Done()
		first = fibOf(n - 1)
	}()
	second := fibOf(n - 2)
	child.Wait()
	return first + second
}

func fib(r *request) body {
	n := r.integer("n")
	r.requireMemory(fibCalls(n)*bytesPerFibCall, "the goroutines of the tree")
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return fibOf(n)
	}
}

// node is the benchmark's own version for Go: each child answers through the channel of its parent.
func node(answer chan<- uint64, first, leaves uint64) {
	if leaves == 1 {
		answer <- first
		return
	}
	children := make(chan uint64)
	share := leaves / 10
	for i := uint64(0); i < 10; i++ {
		go node(children, first+i*share, share)
	}
	sum := uint64(0)
	for i := 0; i < 10; i++ {
		sum += <-children
	}
	answer <- sum
}

func skynet(r *request) body {
	depth := r.integer("depth")
	bytes := skynetTasks(depth) * bytesPerNode
	if r.threads == 1 {
		bytes *= 2 // measured: one worker holds more of it
	}
	r.requireMemory(bytes, "the goroutines of the tree")
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		answer := make(chan uint64)
		go node(answer, 0, leaves(depth))
		return <-answer
	}
}

// columns is the most that a board has.
const columns = 14

// board has queens on the first columns, one each, of which no two are in a row or on a diagonal. Go has no arrays
// whose size is a parameter of their type, so that each has room for the largest.
type board struct {
	rows   [columns]int8
	queens int8
	size   int8
}

// safe says whether no queen threatens this row of the next column.
func (b *board) safe(row int8) bool {
	for column := int8(0); column < b.queens; column++ {
		placed, distance := b.rows[column], b.queens-column
		if row == placed || row == placed-distance || row == placed+distance {
			return false
		}
	}
	return true
}

// with is a copy with a queen in this row of the next column.
func (b board) with(row int8) board {
	b.rows[b.queens] = row
	b.queens++
	return b
}

// completions are the ways to complete a board.
func completions(b board) uint64 {
	if b.queens == b.size {
		return 1
	}
	var results [columns]uint64
	var children sync.WaitGroup
	for row := int8(0); row < b.size; row++ {
		if b.safe(row) {
			children.Add(1)
			go func(row int8) {
				defer children.Done()
				results[row] = completions(b.with(row))
			}(row)
		}
	}
	children.Wait()
	return total(results[:])
}

// nqueensBoards counts the boards that the search for n queens comes by, the empty one included.
func nqueensBoards(r *request) uint64 {
	boards := [columns]uint64{2, 3, 6, 17, 54, 153, 552, 2_057, 8_394, 35_539, 166_926, 856_189, 4_674_890,
		27_358_553}
	n := r.integer("n")
	if n < 1 || n > columns {
		r.fail(usageError{"the boards of nqueens have 1 to 14 columns"})
		return 0
	}
	return boards[n-1]
}

func nqueens(r *request) body {
	empty := board{size: int8(r.integer("n"))}
	r.requireMemory(nqueensBoards(r)*bytesPerBoard, "the goroutines of the tree")
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return completions(empty)
	}
}

// What a tree takes, measured as peak memory for each of its nodes in trees of millions. A worker takes what it made
// last first, so that it is much less than the 2 KiB that the stack of each begins with.
const (
	bytesPerFibCall = 25
	bytesPerNode    = 90
	bytesPerBoard   = 90
)
