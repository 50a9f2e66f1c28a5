// The nodes of `unbalanced`: trees of the Unbalanced Tree Search benchmark, by its published definition.
package main

import (
	"crypto/sha1"
	"encoding/binary"
	"math"
)

const mostChildren = 100

// tree is geometric, with four expected children of a node above the depth leavesAt, or binomial where that is 0.
type tree struct {
	seed     uint32
	leavesAt uint32
	nodes    uint64
}

var trees = map[string]tree{
	"small":  {19, 4, 944},
	"medium": {19, 8, 257_042},
	"T1":     {19, 10, 4_130_071},
	"T3":     {42, 0, 4_112_897},
}

// treeNode is a SHA-1 digest and how far it is below the root.
type treeNode struct {
	digest [sha1.Size]byte
	depth  uint32
}

func (t tree) root() treeNode {
	var seed [sha1.Size]byte
	binary.BigEndian.PutUint32(seed[16:], t.seed)
	return treeNode{digest: sha1.Sum(seed[:])}
}

func (t tree) childrenOf(n treeNode) uint64 {
	share := float64(binary.BigEndian.Uint32(n.digest[16:])&0x7FFFFFFF) / (1 << 31)
	switch {
	case t.leavesAt == 0 && n.depth == 0:
		return 2_000
	case t.leavesAt == 0 && share < 0.124875:
		return 8
	case n.depth >= t.leavesAt:
		return 0
	}
	expected := 4.0
	children := uint64(math.Floor(math.Log(1-share) / math.Log(1-1/(1+expected))))
	if children > mostChildren {
		return mostChildren
	}
	return children
}

func (n treeNode) child(number uint64) treeNode {
	var message [sha1.Size + 4]byte
	copy(message[:], n.digest[:])
	binary.BigEndian.PutUint32(message[sha1.Size:], uint32(number))
	return treeNode{sha1.Sum(message[:]), n.depth + 1}
}

// nodesBelow makes a goroutine for each child, which counts what is below that one.
func (t tree) nodesBelow(n treeNode) uint64 {
	children := t.childrenOf(n)
	if children == 0 {
		return 1
	}
	return 1 + sum(children, func(i uint64) uint64 { return t.nodesBelow(n.child(i)) })
}

func treeOf(r *request) tree {
	return trees[r.choice("tree", "small", "medium", "T1", "T3")]
}

func unbalanced(r *request) body {
	t := treeOf(r)
	return func(watch *stopwatch) uint64 {
		watch.start()
		defer watch.stop()
		return t.nodesBelow(t.root())
	}
}
