//! Fork-join trees with work in their nodes: nqueens and matmul.

use std::cell::UnsafeCell;
use std::future::Future;
use std::pin::Pin;
use std::slice;
use std::sync::Arc;

use tokio::task::{spawn, JoinHandle};

use crate::arguments::UsageError;
use crate::measure::{Measured, Stopwatch};
use crate::workloads::join;

/// Queens on the first columns, one each, of which no two are in a row or on a diagonal.
/// The size is a constant, as in the suite that the workload comes from.
#[derive(Clone, Copy)]
struct Board<const N: usize> {
    rows: [i8; N],
    queens: i8,
}

impl<const N: usize> Board<N> {
    fn empty() -> Self {
        Self { rows: [0; N], queens: 0 }
    }

    fn full(&self) -> bool {
        self.queens as usize == N
    }

    /// Whether no queen threatens this row of the next column.
    fn safe(&self, row: i8) -> bool {
        self.rows[..self.queens as usize].iter().zip(0..).all(|(&placed, column)| {
            let distance = self.queens - column;
            row != placed && row != placed - distance && row != placed + distance
        })
    }

    /// A copy with a queen in this row of the next column.
    fn with(mut self, row: i8) -> Self {
        self.rows[self.queens as usize] = row;
        self.queens += 1;
        self
    }
}

/// The ways to complete a board.
fn spawn_board<const N: usize>(board: Board<N>) -> JoinHandle<u64> {
    spawn(async move {
        if board.full() {
            return 1;
        }
        // The children are in the node itself, as in the other adapters: a Vec would be an allocation a node.
        let mut children: [Option<JoinHandle<u64>>; N] = [(); N].map(|()| None);
        let mut count = 0;
        for row in (0..N as i8).filter(|&row| board.safe(row)) {
            children[count] = Some(spawn_board(board.with(row)));
            count += 1;
        }
        let mut sum = 0;
        for child in children.into_iter().flatten() {
            sum += join(child).await;
        }
        sum
    })
}

/// All rows but the last that is safe are spawned, and that is awaited in place: a parent would only wait. The
/// youngest is joined first, as in skynet.
async fn board_with_an_inline_child<const N: usize>(board: Board<N>) -> u64 {
    if board.full() {
        return 1;
    }
    let mut children: [Option<JoinHandle<u64>>; N] = [(); N].map(|()| None);
    let mut count = 0;
    let mut last = None;
    for row in (0..N as i8).filter(|&row| board.safe(row)) {
        if let Some(earlier) = last.replace(board.with(row)) {
            children[count] = Some(spawn_lean_board(earlier));
            count += 1;
        }
    }
    let mut sum = match last {
        Some(board) => lean_board_inline(board).await,
        None => 0,
    };
    for child in children.into_iter().rev().flatten() {
        sum += join(child).await;
    }
    sum
}

fn spawn_lean_board<const N: usize>(board: Board<N>) -> JoinHandle<u64> {
    spawn(board_with_an_inline_child(board))
}

fn lean_board_inline<const N: usize>(board: Board<N>) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(board_with_an_inline_child(board))
}

async fn time_nqueens<const N: usize>(expert: bool) -> Measured {
    let watch = Stopwatch::start();
    let board = Board::<N>::empty();
    let answer = join(if expert { spawn_lean_board(board) } else { spawn_board(board) }).await;
    watch.stop().answer(answer)
}

type Search = Pin<Box<dyn Future<Output = Measured> + Send>>;

/// The search of n columns, of which limits.rs allows 1 to 14.
pub fn nqueens(n: u64, expert: bool) -> Search {
    macro_rules! of_size {
        ($($size:literal)*) => {
            match n {
                $($size => Box::pin(time_nqueens::<$size>(expert)),)*
                _ => unreachable!("limits.rs allows {n} columns"),
            }
        };
    }
    of_size!(1 2 3 4 5 6 7 8 9 10 11 12 13 14)
}

/// C += A B for one block of each: of A that with this row and `inner` as its column, of B that with `inner` as its row
/// and this column, of C that with this row and column.
#[derive(Clone, Copy)]
struct BlockProduct {
    row: usize,
    column: usize,
    inner: usize,
    size: usize,
}

impl BlockProduct {
    fn is_leaf(&self) -> bool {
        self.size <= 32
    }

    /// The four of a round write different blocks of C; the second round writes those of the first again, so it begins
    /// when that is done.
    fn rounds(&self) -> [[Self; 4]; 2] {
        let size = self.size / 2;
        [self.inner, self.inner + size].map(|inner| {
            [(0, 0), (0, size), (size, 0), (size, size)].map(|(down, right)| Self {
                row: self.row + down,
                column: self.column + right,
                inner,
                size,
            })
        })
    }
}

/// What the tasks share: a spawned task cannot borrow, so each has its count of an Arc.
struct Matrices {
    n: usize,
    a: Vec<u32>,
    b: Vec<u32>,
    c: Vec<UnsafeCell<u32>>,
}

// SAFETY: tasks write to C in `multiply` only, and those that run at the same time write different blocks of it.
unsafe impl Sync for Matrices {}

impl Matrices {
    /// A of i + k in row i and column k, B of k - j in row k and column j, C of zeroes, modulo 2^32: no two blocks are
    /// alike.
    fn new(n: usize) -> Self {
        let places = || (0..n as u32).flat_map(move |row| (0..n as u32).map(move |column| (row, column)));
        Self {
            n,
            a: places().map(|(row, column)| row + column).collect(),
            b: places().map(|(row, column)| row.wrapping_sub(column)).collect(),
            c: (0..n * n).map(|_| UnsafeCell::new(0)).collect(),
        }
    }

    fn multiply(&self, p: BlockProduct) {
        for i in p.row..p.row + p.size {
            let row = &self.c[i * self.n + p.column..][..p.size];
            // SAFETY: until this block is done, no other task reads or writes this part of a row of it.
            let row = unsafe { slice::from_raw_parts_mut(UnsafeCell::raw_get(row.as_ptr()), row.len()) };
            for (k, factor) in (p.inner..).zip(&self.a[i * self.n + p.inner..][..p.size]) {
                for (sum, b) in row.iter_mut().zip(&self.b[k * self.n + p.column..][..p.size]) {
                    *sum = sum.wrapping_add(factor.wrapping_mul(*b));
                }
            }
        }
    }

    /// How many elements of C are right: the sum of (i + k)(k - j) over k, by the sums of k and of its squares.
    fn right(&mut self) -> u64 {
        let n = self.n as u64;
        let (sum, squares) = ((n * (n - 1) / 2) as u32, ((n - 1) * n * (2 * n - 1) / 6) as u32);
        let n = n as u32;
        let expected = |row: u32, column: u32| {
            squares
                .wrapping_add(row.wrapping_sub(column).wrapping_mul(sum))
                .wrapping_sub(n.wrapping_mul(row).wrapping_mul(column))
        };
        (0..n)
            .flat_map(|row| (0..n).map(move |column| (row, column)))
            .zip(&mut self.c)
            .filter_map(|((row, column), element)| (*element.get_mut() == expected(row, column)).then_some(()))
            .count() as u64
    }
}

fn spawn_product(matrices: Arc<Matrices>, product: BlockProduct) -> JoinHandle<()> {
    spawn(async move {
        if product.is_leaf() {
            return matrices.multiply(product);
        }
        for round in product.rounds() {
            for part in round.map(|part| spawn_product(matrices.clone(), part)) {
                join(part).await;
            }
        }
    })
}

/// Three of a round are spawned, and the fourth is awaited in place: a parent would only wait.
async fn product_with_an_inline_child(matrices: Arc<Matrices>, product: BlockProduct) {
    if product.is_leaf() {
        return matrices.multiply(product);
    }
    for [first, second, third, last] in product.rounds() {
        let forked = [first, second, third].map(|part| spawn_lean_product(matrices.clone(), part));
        lean_product_inline(matrices.clone(), last).await;
        for part in forked {
            join(part).await;
        }
    }
}

fn spawn_lean_product(matrices: Arc<Matrices>, product: BlockProduct) -> JoinHandle<()> {
    spawn(product_with_an_inline_child(matrices, product))
}

fn lean_product_inline(matrices: Arc<Matrices>, product: BlockProduct) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(product_with_an_inline_child(matrices, product))
}

pub fn matrix_size(n: u64) -> Result<usize, UsageError> {
    if !n.is_power_of_two() || !(32..=32_768).contains(&n) {
        return Err(UsageError("n of matmul is a power of two from 32 to 32768".into()));
    }
    Ok(n as usize)
}

pub async fn matmul(n: usize, expert: bool) -> Measured {
    let watch = Stopwatch::start();
    let mut matrices = Arc::new(Matrices::new(n));
    let whole = BlockProduct { row: 0, column: 0, inner: 0, size: n };
    let spawn = if expert { spawn_lean_product } else { spawn_product };
    join(spawn(matrices.clone(), whole)).await;
    let measured = watch.stop();
    measured.answer(Arc::get_mut(&mut matrices).expect("a task still has the matrices").right())
}
