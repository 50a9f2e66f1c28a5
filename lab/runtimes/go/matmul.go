package main

import "sync"

// leafSize is where the split ends.
const leafSize = 32

// blockProduct is C += A B for one block of each: of A that with this row and inner as its column, of B that with inner
// as its row and this column, of C that with this row and column.
type blockProduct struct {
	row, column, inner, size uint64
}

// rounds splits a product. The four of a round write different blocks of C; the second round writes those of the first
// again, so it begins when that is done.
func (p blockProduct) rounds() [2][4]blockProduct {
	half := p.size / 2
	var all [2][4]blockProduct
	for round := range all {
		for part := range all[round] {
			down, right := uint64(part/2)*half, uint64(part%2)*half
			all[round][part] = blockProduct{p.row + down, p.column + right, p.inner + uint64(round)*half, half}
		}
	}
	return all
}

type matrices struct {
	n       uint64
	a, b, c []int32
}

// newMatrices has A and B of ones, C of zeroes.
func newMatrices(n uint64) *matrices {
	m := &matrices{n: n, a: make([]int32, n*n), b: make([]int32, n*n), c: make([]int32, n*n)}
	for i := range m.a {
		m.a[i], m.b[i] = 1, 1
	}
	return m
}

func (m *matrices) multiply(p blockProduct) {
	for i := p.row; i < p.row+p.size; i++ {
		sums := m.c[i*m.n+p.column:][:p.size]
		for k, factor := range m.a[i*m.n+p.inner:][:p.size] {
			// Of the same length as the sums, which spares the check of each index.
			factors := m.b[(p.inner+uint64(k))*m.n+p.column:][:len(sums)]
			for j := range sums {
				sums[j] += factor * factors[j]
			}
		}
	}
}

func (m *matrices) product(p blockProduct) {
	if p.size <= leafSize {
		m.multiply(p)
		return
	}
	for _, round := range p.rounds() {
		var parts sync.WaitGroup
		parts.Add(len(round))
		for _, part := range round {
			go func(part blockProduct) {
				defer parts.Done()
				m.product(part)
			}(part)
		}
		parts.Wait()
	}
}

// right counts the elements of C that are n, as all of them are in the end.
func (m *matrices) right() uint64 {
	count := uint64(0)
	for _, element := range m.c {
		if element == int32(m.n) {
			count++
		}
	}
	return count
}

func matmul(r *request) body {
	n := r.integer("n")
	if n < leafSize || n > 1<<15 || n&(n-1) != 0 {
		r.fail(usageError{"n of matmul is a power of two from 32 to 32768"})
	}
	return func(watch *stopwatch) uint64 {
		watch.start()
		m := newMatrices(n)
		m.product(blockProduct{size: n})
		watch.stop()
		return m.right()
	}
}
