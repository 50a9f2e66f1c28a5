//! What the rows of an answer are added up to: lab/runtimes/common/nexmark/rows.hpp.

use std::cell::Cell;
use std::rc::Rc;

pub enum Field<'a> {
    Number(u64),
    Text(&'a str),
}

pub use Field::{Number, Text};

#[derive(Clone, Default)]
pub struct RowSum(Rc<Cell<u64>>);

impl RowSum {
    #[inline]
    pub fn add(&self, fields: &[Field]) {
        let mut hash = 0x9E37_79B9_7F4A_7C15u64;
        for field in fields {
            let bits = match field {
                Number(number) => *number,
                Text(text) => text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
                }),
            };
            hash = (hash ^ bits).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            hash ^= hash >> 32;
        }
        self.0.set(self.0.get().wrapping_add(hash));
    }

    pub fn value(&self) -> u64 {
        self.0.get()
    }
}
