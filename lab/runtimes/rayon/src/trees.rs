//! Fork-join trees.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::matrices::{BlockProduct, Matrices};
use crate::measure::{Measured, Stopwatch};
use crate::uts::{Node, Tree};

pub fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (left, right) = rayon::join(|| fib(n - 1), || fib(n - 2));
    left + right
}

/// All calls that fib(n) makes, itself among them.
pub fn calls_of_fib(n: u64) -> u64 {
    let (mut one, mut next) = (1u64, 1u64);
    for _ in 0..n {
        (one, next) = (next, one + next + 1);
    }
    one
}

/// The sum of the numbers of the leaves below a node. Left to itself a parallel iterator runs most of the children in one
/// task, and each is to be one that another thread may take.
pub fn skynet(first: u64, leaves: u64, expert: bool) -> u64 {
    if leaves == 1 {
        return first;
    }
    let share = leaves / 10;
    if expert {
        return halves(first, share, 10);
    }
    let child = |number: u32| skynet(first + u64::from(number) * share, share, false);
    (0..10u32).into_par_iter().with_max_len(1).map(child).sum()
}

/// Some children of a node, by joins.
fn halves(first: u64, share: u64, children: u64) -> u64 {
    if children == 1 {
        return skynet(first, share, true);
    }
    let half = children / 2;
    let (left, right) =
        rayon::join(|| halves(first, share, half), || halves(first + half * share, share, children - half));
    left + right
}

/// Queens on the first columns, one each, of which no two are in a row or on a diagonal.
#[derive(Clone, Copy)]
struct Board<const N: usize> {
    rows: [i8; N],
    queens: i8,
}

impl<const N: usize> Board<N> {
    /// The boards with one queen more.
    fn next(self) -> impl Iterator<Item = Self> {
        (0..N as i8).filter(move |&row| self.safe(row)).map(move |row| self.with(row))
    }

    /// Whether no queen threatens this row of the next column.
    fn safe(&self, row: i8) -> bool {
        self.rows[..self.queens as usize].iter().zip(0..).all(|(&placed, column)| {
            let distance = self.queens - column;
            row != placed && row != placed - distance && row != placed + distance
        })
    }

    fn with(mut self, row: i8) -> Self {
        self.rows[self.queens as usize] = row;
        self.queens += 1;
        self
    }

    fn full(&self) -> bool {
        self.queens as usize == N
    }
}

/// The ways to complete a board.
fn completions<const N: usize>(board: Board<N>) -> u64 {
    if board.full() {
        return 1;
    }
    board.next().collect::<Vec<_>>().into_par_iter().with_max_len(1).map(completions).sum()
}

fn completions_in_a_scope<const N: usize>(board: Board<N>) -> u64 {
    if board.full() {
        return 1;
    }
    let results = [(); N].map(|()| AtomicU64::new(0));
    rayon::scope(|scope| {
        for (child, result) in board.next().zip(&results) {
            scope.spawn(move |_| result.store(completions_in_a_scope(child), Relaxed));
        }
    });
    results.into_iter().map(AtomicU64::into_inner).sum()
}

/// All boards from the empty one on: those that a pass makes a task of.
fn boards_below<const N: usize>(board: Board<N>) -> u64 {
    1 + if board.full() { 0 } else { board.next().map(boards_below).sum() }
}

macro_rules! of_size {
    ($n:expr, $run:expr; $($size:literal)*) => {
        match $n {
            $($size => $run(Board::<$size> { rows: [0; $size], queens: 0 }),)*
            _ => unreachable!("the request was checked"),
        }
    };
}

pub fn nqueens(n: usize, expert: bool) -> u64 {
    if expert {
        of_size!(n, completions_in_a_scope; 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
    } else {
        of_size!(n, completions; 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
    }
}

pub fn boards(n: usize) -> u64 {
    of_size!(n, boards_below; 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
}

/// A product of two blocks. The four parts of a round are two joins in a join.
fn multiply(matrices: &Matrices, product: BlockProduct) {
    if product.is_leaf() {
        return matrices.multiply(product);
    }
    for [first, second, third, last] in product.rounds() {
        let pair = |one, other| move || rayon::join(|| multiply(matrices, one), || multiply(matrices, other));
        rayon::join(pair(first, second), pair(third, last));
    }
}

/// Answers how many elements of the product are right; they are counted when the clock has ended.
pub fn matmul(n: usize, watch: Stopwatch) -> Measured {
    let mut matrices = Matrices::new(n);
    multiply(&matrices, BlockProduct::whole(n));
    let measured = watch.stop(0);
    Measured { answer: matrices.right(), ..measured }
}

/// The nodes of a tree, from one on.
pub fn unbalanced(tree: &Tree, node: &Node, expert: bool) -> u64 {
    let children = tree.children_of(node);
    let below = |number: u32| unbalanced(tree, &node.child(number), expert);
    1 + match (children, expert) {
        (0, _) => 0,
        (_, true) => by_halves(0, children, &below),
        (_, false) => (0..children).into_par_iter().with_max_len(1).map(below).sum(),
    }
}

fn by_halves(first: u32, count: u32, below: &(impl Fn(u32) -> u64 + Sync)) -> u64 {
    if count == 1 {
        return below(first);
    }
    let half = count / 2;
    let (left, right) = rayon::join(|| by_halves(first, half, below), || by_halves(first + half, count - half, below));
    left + right
}
