//! The nodes of `unbalanced`: trees of the Unbalanced Tree Search benchmark, by its published definition.

use crate::arguments::{Request, UsageError};

const MOST_CHILDREN: f64 = 100.0;

#[derive(Clone, Copy)]
enum Shape {
    /// The expected children of a node are four, above this depth.
    Geometric {
        leaves_at: u32,
    },
    Binomial,
}

#[derive(Clone, Copy)]
pub struct Tree {
    shape: Shape,
    seed: u32,
    /// How many it has, as published.
    pub nodes: u64,
}

const TREES: [(&str, Tree); 4] = [
    ("small", Tree { shape: Shape::Geometric { leaves_at: 4 }, seed: 19, nodes: 944 }),
    ("medium", Tree { shape: Shape::Geometric { leaves_at: 8 }, seed: 19, nodes: 257_042 }),
    ("T1", Tree { shape: Shape::Geometric { leaves_at: 10 }, seed: 19, nodes: 4_130_071 }),
    ("T3", Tree { shape: Shape::Binomial, seed: 42, nodes: 4_112_897 }),
];

/// The state of a node is a SHA-1 digest.
#[derive(Clone, Copy)]
pub struct Node {
    digest: [u8; 20],
    depth: u32,
}

impl Tree {
    /// The tree that the request names.
    pub fn of(request: &Request) -> Result<Self, UsageError> {
        request.choice("tree", &TREES)
    }

    pub fn root(&self) -> Node {
        let mut seed = [0; 20];
        seed[16..].copy_from_slice(&self.seed.to_be_bytes());
        Node { digest: sha1(&seed), depth: 0 }
    }

    pub fn children_of(&self, node: &Node) -> u32 {
        let last = [node.digest[16], node.digest[17], node.digest[18], node.digest[19]];
        let share = f64::from(u32::from_be_bytes(last) & 0x7FFF_FFFF) / 2_147_483_648.0;
        match self.shape {
            Shape::Binomial if node.depth == 0 => 2_000,
            Shape::Binomial if share < 0.124_875 => 8,
            Shape::Binomial => 0,
            Shape::Geometric { leaves_at } if node.depth >= leaves_at => 0,
            Shape::Geometric { .. } => {
                let children = ((1.0 - share).ln() / (1.0 - 1.0 / (1.0 + 4.0f64)).ln()).floor();
                children.min(MOST_CHILDREN) as u32
            }
        }
    }
}

impl Node {
    /// A child, counted from 0.
    pub fn child(&self, number: u32) -> Self {
        let mut message = [0; 24];
        message[..20].copy_from_slice(&self.digest);
        message[20..].copy_from_slice(&number.to_be_bytes());
        Self { digest: sha1(&message), depth: self.depth + 1 }
    }
}

/// SHA-1 of one block: all that is hashed here has 20 or 24 bytes.
fn sha1(message: &[u8]) -> [u8; 20] {
    let mut block = [0u8; 64];
    block[..message.len()].copy_from_slice(message);
    block[message.len()] = 0x80;
    block[63] = (message.len() * 8) as u8;
    let mut w = [0u32; 80];
    for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for i in 16..80 {
        w[i] = (w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16]).rotate_left(1);
    }
    let begin = [0x6745_2301u32, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0];
    let mut state = begin;
    // Four loops and no match in one: the constants of a round are then known.
    fn rounds(state: &mut [u32; 5], words: &[u32], k: u32, f: impl Fn(u32, u32, u32) -> u32) {
        for &word in words {
            let [a, b, c, d, e] = *state;
            let next = a.rotate_left(5).wrapping_add(f(b, c, d)).wrapping_add(e).wrapping_add(k).wrapping_add(word);
            *state = [next, a, b.rotate_left(30), c, d];
        }
    }
    let parity = |x, y, z| x ^ y ^ z;
    rounds(&mut state, &w[..20], 0x5A82_7999, |x, y, z| (x & y) | (!x & z));
    rounds(&mut state, &w[20..40], 0x6ED9_EBA1, parity);
    rounds(&mut state, &w[40..60], 0x8F1B_BCDC, |x, y, z| (x & y) | (z & (x | y)));
    rounds(&mut state, &w[60..], 0xCA62_C1D6, parity);
    let mut digest = [0; 20];
    for (bytes, (before, after)) in digest.chunks_exact_mut(4).zip(begin.into_iter().zip(state)) {
        bytes.copy_from_slice(&before.wrapping_add(after).to_be_bytes());
    }
    digest
}
