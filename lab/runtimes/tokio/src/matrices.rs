//! The matrices of `matmul`, and how a product of theirs is split.

use std::cell::UnsafeCell;
use std::slice;

use crate::arguments::UsageError;

/// C += A B for one block of each: of A that with this row and `inner` as its column, of B that with `inner` as its row
/// and this column, of C that with this row and column.
#[derive(Clone, Copy)]
pub struct BlockProduct {
    row: usize,
    column: usize,
    inner: usize,
    size: usize,
}

impl BlockProduct {
    /// All of two n by n matrices.
    pub fn whole(n: usize) -> Self {
        Self { row: 0, column: 0, inner: 0, size: n }
    }

    pub fn is_leaf(&self) -> bool {
        self.size <= 32
    }

    /// The four of a round write different blocks of C; the second round writes those of the first again, so it begins
    /// when that is done.
    pub fn rounds(&self) -> [[Self; 4]; 2] {
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

/// What the tasks share.
pub struct Matrices {
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
    pub fn new(n: usize) -> Self {
        let places = || (0..n as u32).flat_map(move |row| (0..n as u32).map(move |column| (row, column)));
        Self {
            n,
            a: places().map(|(row, column)| row + column).collect(),
            b: places().map(|(row, column)| row.wrapping_sub(column)).collect(),
            c: (0..n * n).map(|_| UnsafeCell::new(0)).collect(),
        }
    }

    pub fn multiply(&self, p: BlockProduct) {
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
    pub fn right(&mut self) -> u64 {
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

pub fn matrix_size(n: u64) -> Result<usize, UsageError> {
    if !n.is_power_of_two() || !(32..=32_768).contains(&n) {
        return Err(UsageError("n of matmul is a power of two from 32 to 32768".into()));
    }
    Ok(n as usize)
}
