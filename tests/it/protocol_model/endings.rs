//! Whether every history ends, so that whatever goes wrong, the rest that the promises speak of is reached: no walk may
//! come back to where it was.

use std::collections::HashSet;

use stateright::Model;

use super::protocol::Protocol;
use super::world::World;

/// A walk that comes back to a place where it was; None: all end.
pub fn endless_walk(protocol: &Protocol) -> Option<Vec<World>> {
    let (mut walk, mut ended) = (Vec::new(), HashSet::new());
    let all_end = protocol.init_states().into_iter().all(|world| ends(protocol, world, &mut walk, &mut ended));
    (!all_end).then_some(walk)
}

fn ends(protocol: &Protocol, world: World, walk: &mut Vec<World>, ended: &mut HashSet<World>) -> bool {
    if ended.contains(&world) {
        return true;
    }
    if walk.contains(&world) {
        return false;
    }
    let next = protocol.next_states(&world);
    walk.push(world);
    if !next.into_iter().all(|world| ends(protocol, world, walk, ended)) {
        return false;
    }
    ended.extend(walk.pop());
    true
}
