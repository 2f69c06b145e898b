//! Book-keeping of agglomerative methods, which merge the two best neighbouring communities until
//! none are left: rows of links, the best link of each row, and a tournament between the rows.
//! `O(n + m)` memory. A merge costs the two rows, plus the row of each neighbour whose best link was to
//! one of the two.

use crate::graph::Graph;

/// A link from one community to another, stored in the rows of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Link {
    pub(super) to: u32,
    /// Weight of the edges between the two communities.
    pub(super) weight: f64,
    /// Gain of merging the two communities.
    pub(super) gain: f64,
    /// True if the gain is exact, false if it is an estimate that must be recomputed before use.
    pub(super) exact: bool,
}

/// Communities and their links; a community is named by one of its nodes.
pub(super) struct Agglomeration {
    /// Links of each community by neighbour, ascending.
    rows: Vec<Vec<Link>>,
    /// The neighbour with the largest gain, the first in case of ties; `NONE` without neighbours.
    best: Vec<u32>,
    /// A binary tree of the communities with the largest gains, leaves last; the first wins in case
    /// of ties.
    winners: Vec<u32>,
    gains: Vec<f64>,
}

const NONE: u32 = u32::MAX;

impl Agglomeration {
    /// Starts with every node in its own community, with the gain of each edge.
    pub(super) fn new(graph: &Graph, gain: impl Fn(u32, u32, f64) -> f64) -> Self {
        let n = graph.num_nodes();
        let link = |u: u32, k: usize| {
            let (to, weight) = (graph.targets()[k], graph.arc_weight(k));
            // Computed in one direction, so that both ends hold the same number.
            Link {
                to,
                weight,
                gain: gain(u.min(to), u.max(to), weight),
                exact: true,
            }
        };
        let rows = (0..n as u32)
            .map(|u| graph.arc_range(u).map(|k| link(u, k)).collect())
            .collect();
        let leaves = n.next_power_of_two();
        let mut state = Self {
            rows,
            best: vec![NONE; n],
            winners: vec![NONE; 2 * leaves],
            gains: vec![f64::NEG_INFINITY; n],
        };
        for u in 0..n {
            state.find_best(u as u32);
            state.winners[leaves + u] = u as u32;
        }
        for node in (1..leaves).rev() {
            state.winners[node] = state.winner(node);
        }
        state
    }

    /// Returns the two communities to merge next, the smaller first, and their link; `None` if no
    /// two communities are neighbours.
    pub(super) fn best(&self) -> Option<(u32, Link)> {
        let u = *self.winners.get(1).filter(|u| **u != NONE)?;
        let v = *self.best.get(u as usize).filter(|v| **v != NONE)?;
        let (low, high) = (u.min(v), u.max(v));
        Some((low, *self.link(low, high)))
    }

    /// Replaces the gain of a link by an exact one.
    pub(super) fn set_gain(&mut self, u: u32, v: u32, gain: f64) {
        for (from, to) in [(u, v), (v, u)] {
            let at = self.place(from, to).expect("the link is there");
            let row = &mut self.rows[from as usize];
            row[at] = Link {
                gain,
                exact: true,
                ..row[at]
            };
            self.changed(from, to, gain);
        }
    }

    /// Merges `gone` into `keep`. `gain` computes the new link to each neighbour from the links of
    /// the two communities to it and their joint weight; it returns the gain and whether it is
    /// exact.
    pub(super) fn merge(
        &mut self,
        keep: u32,
        gone: u32,
        mut gain: impl FnMut(u32, f64, Option<Link>, Option<Link>) -> (f64, bool),
    ) {
        let (a, b) = (
            std::mem::take(&mut self.rows[keep as usize]),
            std::mem::take(&mut self.rows[gone as usize]),
        );
        let mut merged = Vec::with_capacity(a.len() + b.len());
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let next = |row: &[Link], at: usize| row.get(at).map_or(NONE, |link| link.to);
            let to = next(&a, i).min(next(&b, j));
            let of_a = a.get(i).filter(|link| link.to == to).copied();
            let of_b = b.get(j).filter(|link| link.to == to).copied();
            i += usize::from(of_a.is_some());
            j += usize::from(of_b.is_some());
            if to == keep || to == gone {
                continue;
            }
            let weight = of_a.map_or(0.0, |l| l.weight) + of_b.map_or(0.0, |l| l.weight);
            let (gain, exact) = gain(to, weight, of_a, of_b);
            merged.push(Link {
                to,
                weight,
                gain,
                exact,
            });
            self.redirect(
                to,
                gone,
                Link {
                    to: keep,
                    weight,
                    gain,
                    exact,
                },
            );
        }
        self.rows[keep as usize] = merged;
        self.update(keep);
        self.update(gone);
    }

    /// Replaces links to `gone` and to `link.to` by `link` in the row of `u`.
    fn redirect(&mut self, u: u32, gone: u32, link: Link) {
        if let Ok(at) = self.place(u, gone) {
            self.rows[u as usize].remove(at);
        }
        match self.place(u, link.to) {
            Ok(at) => self.rows[u as usize][at] = link,
            Err(at) => self.rows[u as usize].insert(at, link),
        }
        if self.best[u as usize] == gone {
            self.update(u);
        } else {
            self.changed(u, link.to, link.gain);
        }
    }

    /// Brings the best link of `u` up to date after the gain of the link to `v` changed.
    fn changed(&mut self, u: u32, v: u32, gain: f64) {
        let (best, old) = (self.best[u as usize], self.gains[u as usize]);
        if best == v && gain < old {
            self.update(u);
        } else if best == v || gain > old || (gain == old && v < best) {
            self.best[u as usize] = v;
            self.gains[u as usize] = gain;
            self.play(u);
        }
    }

    fn update(&mut self, u: u32) {
        self.find_best(u);
        self.play(u);
    }

    fn find_best(&mut self, u: u32) {
        let (mut best, mut gain) = (NONE, f64::NEG_INFINITY);
        for link in &self.rows[u as usize] {
            if best == NONE || link.gain > gain {
                (best, gain) = (link.to, link.gain);
            }
        }
        self.best[u as usize] = best;
        self.gains[u as usize] = gain;
    }

    /// Replays the matches on the way from leaf `u` to the root.
    fn play(&mut self, u: u32) {
        let mut node = (self.winners.len() / 2 + u as usize) / 2;
        while node > 0 {
            self.winners[node] = self.winner(node);
            node /= 2;
        }
    }

    fn winner(&self, node: usize) -> u32 {
        let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
        if right != NONE && (left == NONE || self.gains[right as usize] > self.gains[left as usize])
        {
            right
        } else {
            left
        }
    }

    fn place(&self, u: u32, v: u32) -> Result<usize, usize> {
        self.rows[u as usize].binary_search_by_key(&v, |link| link.to)
    }

    fn link(&self, u: u32, v: u32) -> &Link {
        &self.rows[u as usize][self.place(u, v).expect("the link is there")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::erdos_renyi;

    /// The best link is the best of all links after any merge, and both ends agree on it.
    #[test]
    fn the_best_link_is_the_best_of_all() {
        for seed in 0..20 {
            let g = erdos_renyi(40, 0.15, seed).unwrap();
            let mut state = Agglomeration::new(&g, |u, v, _| f64::from((u * 31 + v * 17) % 23));
            let mut alive = 40;
            while let Some((u, link)) = state.best() {
                let all = || {
                    state
                        .rows
                        .iter()
                        .enumerate()
                        .flat_map(|(u, row)| row.iter().map(move |l| (u as u32, l)))
                };
                assert_eq!(
                    link.gain,
                    all().map(|(_, l)| l.gain).fold(f64::NEG_INFINITY, f64::max)
                );
                for (u, l) in all() {
                    let back = state.link(l.to, u);
                    assert_eq!(
                        (back.gain, back.weight, back.exact),
                        (l.gain, l.weight, l.exact)
                    );
                }
                if link.gain > 15.0 {
                    state.set_gain(u, link.to, link.gain - 7.0);
                    continue;
                }
                state.merge(u, link.to, |k, weight, a, b| {
                    (f64::from(k % 5) + weight, a.is_some() && b.is_some())
                });
                alive -= 1;
            }
            assert_eq!(alive, crate::properties::components(&g).count());
        }
    }
}
