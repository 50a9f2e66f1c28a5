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
	a, b, c []uint32
}

// newMatrices has A of i + k in row i and column k, B of k - j in row k and column j, C of zeroes; modulo 2^32. No two
// blocks are alike, so another split than the right one gives another product.
func newMatrices(n uint64) *matrices {
	m := &matrices{n: n, a: make([]uint32, n*n), b: make([]uint32, n*n), c: make([]uint32, n*n)}
	place := 0
	for row := uint32(0); row < uint32(n); row++ {
		for column := uint32(0); column < uint32(n); column++ {
			m.a[place], m.b[place] = row+column, row-column
			place++
		}
	}
	return m
}

func (m *matrices) multiply(p blockProduct) {
	for i := p.row; i < p.row+p.size; i++ {
		sums := m.c[i*m.n+p.column:][:p.size]
		for k, factor := range m.a[i*m.n+p.inner:][:p.size] {
			// As long as the sums, which spares the check of each index.
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

// right counts the elements of C that are right, as all of them are in the end: the sum of (i + k)(k - j) over k, by
// the sums of k and of its squares.
func (m *matrices) right() uint64 {
	n := uint32(m.n)
	sum, squares := uint32(m.n*(m.n-1)/2), uint32((m.n-1)*m.n*(2*m.n-1)/6)
	count := uint64(0)
	for place, element := range m.c {
		row, column := uint32(uint64(place)/m.n), uint32(uint64(place)%m.n)
		if element == squares+(row-column)*sum-n*row*column {
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
