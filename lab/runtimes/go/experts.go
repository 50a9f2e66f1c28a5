// As experts of Go write it: what is made and thrown away comes from a sync.Pool, and the last child of a node runs in
// its parent's place, which would only wait.
package main

import "sync"

// join waits for the children of a node, and has a place for the result of each.
type join struct {
	all     sync.WaitGroup
	results []uint64
}

var joins = sync.Pool{New: func() any { return &join{results: make([]uint64, columns)} }}

// joinOf is one for so many children. What it holds is of an earlier node.
func joinOf(children uint64) *join {
	j := joins.Get().(*join)
	if uint64(len(j.results)) < children {
		j.results = make([]uint64, children)
	}
	j.all.Add(int(children))
	return j
}

// sum waits, and gives the join back.
func (j *join) sum(children uint64) uint64 {
	j.all.Wait()
	sum := total(j.results[:children])
	joins.Put(j)
	return sum
}

func leanNode(first, leaves uint64) uint64 {
	if leaves == 1 {
		return first
	}
	share := leaves / 10
	others := joinOf(9)
	for i := uint64(0); i < 9; i++ {
		go func(i uint64) {
			others.results[i] = leanNode(first+i*share, share)
			others.all.Done()
		}(i)
	}
	last := leanNode(first+9*share, share)
	return last + others.sum(9)
}

func leanSkynet(r *request) body {
	depth := r.integer("depth")
	r.requireMemory(2*skynetTasks(depth)*bytesPerNode, "the goroutines of the tree")
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return leanNode(0, leaves(depth))
	}
}

func leanCompletions(b board) uint64 {
	if b.queens == b.size {
		return 1
	}
	var safe [columns]int8
	count := 0
	for row := int8(0); row < b.size; row++ {
		if b.safe(row) {
			safe[count] = row
			count++
		}
	}
	if count == 0 {
		return 0
	}
	others := uint64(count - 1)
	spawned := joinOf(others)
	for i, row := range safe[:others] {
		go func(i int, next board) {
			spawned.results[i] = leanCompletions(next)
			spawned.all.Done()
		}(i, b.with(row))
	}
	last := leanCompletions(b.with(safe[others]))
	return last + spawned.sum(others)
}

func leanNqueens(r *request) body {
	empty := board{size: int8(r.integer("n"))}
	r.requireMemory(nqueensBoards(r)*bytesPerBoard, "the goroutines of the tree")
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return leanCompletions(empty)
	}
}

func (t tree) leanNodesBelow(n treeNode) uint64 {
	children := t.childrenOf(n)
	if children == 0 {
		return 1
	}
	others := joinOf(children - 1)
	for i := uint64(0); i+1 < children; i++ {
		go func(i uint64) {
			others.results[i] = t.leanNodesBelow(n.child(i))
			others.all.Done()
		}(i)
	}
	last := t.leanNodesBelow(n.child(children - 1))
	return 1 + last + others.sum(children-1)
}

func leanUnbalanced(r *request) body {
	t := treeOf(r)
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return t.leanNodesBelow(t.root())
	}
}

// numberBatches are those of mpsc_batches: the receiver gives back what it has added up.
var numberBatches = sync.Pool{New: func() any { return new([]uint64) }}

func pooledBatchOf(index, size uint64) *[]uint64 {
	batch := numberBatches.Get().(*[]uint64)
	if uint64(cap(*batch)) < size {
		*batch = make([]uint64, size)
	}
	*batch = (*batch)[:size]
	for i := range *batch {
		(*batch)[i] = index*size + 1 + uint64(i)
	}
	return batch
}

// recordBatches are those of record_path, each with room for a whole batch.
type recordBatches struct{ pool sync.Pool }

func newRecordBatches(size uint64) *recordBatches {
	return &recordBatches{sync.Pool{New: func() any {
		batch := make([]uint64, 0, size)
		return &batch
	}}}
}

func (b *recordBatches) get() *[]uint64 { return b.pool.Get().(*[]uint64) }

func (b *recordBatches) put(batch *[]uint64) {
	*batch = (*batch)[:0]
	b.pool.Put(batch)
}

// routeWholeBatches sends a partition's records on when they are a whole batch, and the rest at the end.
func (w recordWork) routeWholeBatches(to []chan *[]uint64, batches *recordBatches) {
	parts := make([]*[]uint64, len(to))
	for p := range parts {
		parts[p] = batches.get()
	}
	for done := uint64(0); done < w.records; done += w.batch {
		for _, record := range w.read(done) {
			p := w.partition(record)
			*parts[p] = append(*parts[p], record)
			if uint64(len(*parts[p])) == w.batch {
				to[p] <- parts[p]
				parts[p] = batches.get()
			}
		}
	}
	for p, part := range parts {
		to[p] <- part
		close(to[p])
	}
}

// throughPartitionsOfBatches takes the lock of `shared` for each record, as the contract says.
func (w recordWork) throughPartitionsOfBatches(shared bool) uint64 {
	batches := newRecordBatches(w.batch)
	to := make([]chan *[]uint64, w.partitions)
	for p := range to {
		to[p] = make(chan *[]uint64, mostBatchesWaiting)
	}
	var engine sync.Mutex
	all := uint64(0)
	go w.routeWholeBatches(to, batches)
	own := sum(w.partitions, func(p uint64) uint64 {
		sum := uint64(0)
		for batch := range to[p] {
			for _, record := range *batch {
				if shared {
					engine.Lock()
					all += w.process(record)
					engine.Unlock()
				} else {
					sum += w.process(record)
				}
			}
			batches.put(batch)
		}
		return sum
	})
	return own + all
}
