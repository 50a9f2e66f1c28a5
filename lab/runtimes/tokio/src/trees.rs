//! Fork-join trees with work in their nodes: nqueens and matmul.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::task::{spawn, JoinHandle};

use crate::matrices::{BlockProduct, Matrices};
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

pub async fn matmul(n: usize, expert: bool) -> Measured {
    let watch = Stopwatch::start();
    let mut matrices = Arc::new(Matrices::new(n));
    let whole = BlockProduct::whole(n);
    let spawn = if expert { spawn_lean_product } else { spawn_product };
    join(spawn(matrices.clone(), whole)).await;
    let measured = watch.stop();
    measured.answer(Arc::get_mut(&mut matrices).expect("a task still has the matrices").right())
}
