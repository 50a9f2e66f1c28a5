//! The tasks of `unbalanced`: one for each node.

use std::future::Future;
use std::pin::Pin;

use tokio::task::{spawn, JoinHandle};

use crate::measure::{Measured, Stopwatch};
use crate::uts::{Node, Tree};
use crate::workloads::join;

async fn nodes_below(tree: Tree, node: Node) -> u64 {
    let children: Vec<_> = (0..tree.children_of(&node)).map(|number| spawn_node(tree, node.child(number))).collect();
    let mut nodes = 1;
    for child in children {
        nodes += join(child).await;
    }
    nodes
}

/// With its type spelled out, so that nodes_below needs no proof about itself to be Send.
fn spawn_node(tree: Tree, node: Node) -> JoinHandle<u64> {
    spawn(nodes_below(tree, node))
}

/// All children but the last are spawned, and that is awaited in place: a parent would only wait. The youngest is
/// joined first, as in skynet.
async fn nodes_below_with_an_inline_child(tree: Tree, node: Node) -> u64 {
    let Some(last) = tree.children_of(&node).checked_sub(1) else { return 1 };
    let children: Vec<_> = (0..last).map(|number| spawn_lean_node(tree, node.child(number))).collect();
    let mut nodes = 1 + lean_node_inline(tree, node.child(last)).await;
    for child in children.into_iter().rev() {
        nodes += join(child).await;
    }
    nodes
}

fn spawn_lean_node(tree: Tree, node: Node) -> JoinHandle<u64> {
    spawn(nodes_below_with_an_inline_child(tree, node))
}

fn lean_node_inline(tree: Tree, node: Node) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(nodes_below_with_an_inline_child(tree, node))
}

pub async fn unbalanced(tree: Tree, expert: bool) -> Measured {
    let watch = Stopwatch::start();
    let spawn = if expert { spawn_lean_node } else { spawn_node };
    let nodes = join(spawn(tree, tree.root())).await;
    watch.stop().answer(nodes)
}
