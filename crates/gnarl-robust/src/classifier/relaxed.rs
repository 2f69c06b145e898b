//! Relaxed operators with continuous edge weights, for gradient-based attacks on edges ([Xu et al.
//! 2019](https://arxiv.org/abs/1906.04214)).
//!
//! Every edge, and every candidate pair without an edge, has a flip variable p in 0 to 1: an edge
//! of weight w becomes `(1 - p) w`, another pair `p`. The entries of a classical operator are
//! differentiable functions of these weights and of the degrees. If every p is 0 or 1, the operator
//! is exactly that of the flipped graph.
//!
//! Inverse degrees are bounded while a node loses its last edge: degrees count as at least half of
//! the smallest weight. No whole degree but zero is below that. Memory is that of the edges and the
//! candidate pairs.

use std::sync::Arc;

use gnarl_graph::Graph;
use gnarl_graph::operator::ClassicalOperator as Op;

use crate::classifier::WhiteBox;
use crate::perturb::Pair;
use gnarl_graph::Result;
use gnarl_nn::networks::{LearnableOperator, OperatorScalar, Propagation};
use gnarl_tensor::{DType, Device, Operator, Pairs, Pattern, Tensor};

/// Classical operator over flip variables.
#[derive(Debug)]
pub struct Relaxed {
    kind: Op,
    pairs: Vec<Pair>,
    num_edges: usize,
    /// Weight of each pair without flips, `[pairs]`.
    weights: Tensor,
    /// Change of the weight by a flip, `[pairs]`.
    moves: Tensor,
    /// Entries of both arcs of each pair, and of the diagonal if the operator has one.
    pattern: Operator,
    /// Pair of each entry; diagonal entries point to a zero after the last pair.
    pair_of: Tensor,
    rows: Tensor,
    cols: Tensor,
    diagonal: Tensor,
    /// Lower bound of degrees: half of the smallest positive weight.
    floor: f64,
}

impl Relaxed {
    /// Builds variables for the edges of a graph, in ascending order, then for `candidates`:
    /// different pairs `u < v` without an edge. O(nodes + edges + candidates).
    pub fn new(graph: &Graph, kind: Op, candidates: &[Pair]) -> Result<Self> {
        let n = graph.num_nodes();
        let mut pairs: Vec<Pair> = graph.edges().collect();
        let num_edges = pairs.len();
        let mut weights: Vec<f32> = graph.weighted_edges().map(|(_, _, w)| w as f32).collect();
        let mut moves: Vec<f32> = weights.iter().map(|w| -w).collect();
        pairs.extend_from_slice(candidates);
        weights.resize(pairs.len(), 0.0);
        moves.resize(pairs.len(), 1.0);
        let smallest = weights
            .iter()
            .copied()
            .filter(|&w| w > 0.0)
            .fold(1.0, f32::min);

        let has_diagonal = !matches!(kind, Op::ADJACENCY | Op::MEAN_AGGREGATION);
        let Entries {
            offsets,
            rows,
            cols,
            pair_of,
        } = Entries::new(n, &pairs, has_diagonal);
        let count = rows.len();
        let is_own: Vec<f32> = rows
            .iter()
            .zip(&cols)
            .map(|(u, v)| if u == v { 1.0 } else { 0.0 })
            .collect();
        let pattern = Pattern::new(n, offsets, cols.clone());
        let index = |values: Vec<u32>| Tensor::from_vec(values, count, &Device::Cpu);
        Ok(Self {
            kind,
            num_edges,
            weights: Tensor::from_vec(weights, pairs.len(), &Device::Cpu)?,
            moves: Tensor::from_vec(moves, pairs.len(), &Device::Cpu)?,
            pairs,
            pattern: Operator::from_pattern(Arc::new(pattern)),
            pair_of: index(pair_of)?,
            rows: index(rows)?,
            cols: index(cols)?,
            diagonal: Tensor::from_vec(is_own, count, &Device::Cpu)?,
            floor: f64::from(smallest) / 2.0,
        })
    }

    /// Returns the pairs that have a variable.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Returns the number of edges, which are the first pairs.
    pub fn num_edges(&self) -> usize {
        self.num_edges
    }

    /// Computes the operator for flip variables of shape `[pairs]`, which may take gradients.
    pub fn operator(&self, flips: &Tensor) -> Result<Operator> {
        self.operator_of(&self.weights(flips)?)
    }

    /// Computes the weights of the pairs for flip variables of shape `[pairs]`.
    pub fn weights(&self, flips: &Tensor) -> Result<Tensor> {
        Ok((&self.weights + (flips * &self.moves)?)?)
    }

    /// Computes the operator for weights of the pairs, which may take gradients.
    pub fn operator_of(&self, weights: &Tensor) -> Result<Operator> {
        self.operator_with(weights, None)
    }

    /// Computes the operator with further pairs `absent` that have no edge and no variable. They do
    /// not change the operator; the gradients to their `weights`, all zero, are those of adding the
    /// edge. They cost far less than pairs with a variable.
    pub fn operator_with_absent(
        &self,
        weights: &Tensor,
        absent: &Arc<Pairs>,
        of_absent: &Tensor,
    ) -> Result<Operator> {
        self.operator_with(weights, Some((absent, of_absent)))
    }

    fn operator_with(
        &self,
        weights: &Tensor,
        absent: Option<(&Arc<Pairs>, &Tensor)>,
    ) -> Result<Operator> {
        let with_zero = Tensor::cat(&[weights, &Tensor::zeros(1, DType::F32, &Device::Cpu)?], 0)?;
        let a = with_zero.index_select(&self.pair_of, 0)?;
        let with_absent = |operator: Operator, scales: [Option<Tensor>; 2]| match absent {
            Some((pairs, weights)) => operator.with_pairs(pairs, weights, scales),
            None => Ok(operator),
        };
        if self.kind == Op::ADJACENCY {
            return Ok(with_absent(self.pattern.with_values(&a)?, [None, None])?);
        }
        let ones = Tensor::ones((self.pattern.num_cols(), 1), DType::F32, &Device::Cpu)?;
        let mut degrees = self.pattern.with_values(&a)?.apply(&ones)?;
        if let Some((pairs, weights)) = absent {
            degrees = (degrees + pairs.apply(weights, &ones)?)?;
        }
        let degrees = degrees.flatten_all()?;
        let by_row = |x: &Tensor| x.index_select(&self.rows, 0);
        let by_both = |x: &Tensor| by_row(x)? * x.index_select(&self.cols, 0)?;
        let by_node = |x: &Tensor| x.reshape((self.pattern.num_cols(), 1)).map(Some);
        let inverse = || ((&degrees - self.floor)?.relu()? + self.floor)?.powf(-1.0);
        let (values, scales) = match self.kind {
            Op::ADJACENCY => (a, [None, None]),
            Op::LAPLACIAN => (
                ((by_row(&degrees)? * &self.diagonal)? - a)?,
                [Some(ones.neg()?), None],
            ),
            Op::SIGNLESS_LAPLACIAN => (((by_row(&degrees)? * &self.diagonal)? + a)?, [None, None]),
            Op::MEAN_AGGREGATION => {
                let inverse = inverse()?;
                ((a * by_row(&inverse)?)?, [by_node(&inverse)?, None])
            }
            Op::RANDOM_WALK_LAPLACIAN => {
                let inverse = inverse()?;
                (
                    (self.presence(&degrees)? - (a * by_row(&inverse)?)?)?,
                    [by_node(&inverse.neg()?)?, None],
                )
            }
            Op::SYMMETRIC_LAPLACIAN => {
                let root = inverse()?.sqrt()?;
                let values = (self.presence(&degrees)? - (a * by_both(&root)?)?)?;
                (values, [by_node(&root.neg()?)?, by_node(&root)?])
            }
            Op::NORMALISED_ADJACENCY => {
                let root = (&degrees + 1.0)?.powf(-0.5)?;
                (
                    ((a + &self.diagonal)? * by_both(&root)?)?,
                    [by_node(&root)?, by_node(&root)?],
                )
            }
        };
        Ok(with_absent(self.pattern.with_values(&values)?, scales)?)
    }

    /// Computes `diag(d) + Σ_p diag(r_p) A diag(c_p)` for weights of the pairs, which may take
    /// gradients, and factors of the nodes, `[nodes, 1 + 2 · parts]`: d, then r and c of each part.
    /// For operators with a diagonal.
    fn factored_of(&self, weights: &Tensor, factors: &Tensor) -> Result<Operator> {
        let with_zero = Tensor::cat(&[weights, &Tensor::zeros(1, DType::F32, &Device::Cpu)?], 0)?;
        let a = with_zero.index_select(&self.pair_of, 0)?;
        let (_, stride) = factors.dims2()?;
        let at = |column: usize, of: &Tensor| {
            factors
                .narrow(1, column, 1)?
                .flatten_all()?
                .index_select(of, 0)
        };
        let mut values = (at(0, &self.rows)? * &self.diagonal)?;
        for part in 0..stride / 2 {
            let scale = (at(1 + 2 * part, &self.rows)? * at(2 + 2 * part, &self.cols)?)?;
            values = (values + (&a * scale)?)?;
        }
        Ok(self.pattern.with_values(&values)?)
    }

    /// Computes the diagonal: one if a node has edges, zero if it has none, and a share of one in
    /// between.
    fn presence(&self, degrees: &Tensor) -> gnarl_tensor::Result<Tensor> {
        // min(x, 1) = 1 - relu(1 - x)
        let share = ((1.0 - (degrees / (2.0 * self.floor))?)?.relu()?.neg()? + 1.0)?;
        share.index_select(&self.rows, 0)? * &self.diagonal
    }
}

/// Row, column and pair of every entry, sorted by rows and columns, and the offset of each row.
/// Diagonal entries point to the place after the last pair.
struct Entries {
    offsets: Vec<usize>,
    rows: Vec<u32>,
    cols: Vec<u32>,
    pair_of: Vec<u32>,
}

impl Entries {
    /// Sorts by counting: block-coordinate attacks sample new pairs many times.
    fn new(n: usize, pairs: &[Pair], has_diagonal: bool) -> Self {
        // Entries before the diagonal of a row are the pairs whose larger end it is; entries after
        // it are those whose smaller end it is.
        let (mut smaller, mut larger) = (vec![0usize; n + 1], vec![0usize; n + 1]);
        for &(u, v) in pairs {
            smaller[u as usize + 1] += 1;
            larger[v as usize + 1] += 1;
        }
        for u in 0..n {
            smaller[u + 1] += smaller[u];
            larger[u + 1] += larger[u];
        }
        let own = usize::from(has_diagonal);
        let offsets: Vec<usize> = (0..=n).map(|u| smaller[u] + larger[u] + u * own).collect();
        let by_larger = placed(0..pairs.len() as u32, &larger, |pair| {
            pairs[pair as usize].1
        });
        let in_order = placed(by_larger.into_iter(), &smaller, |pair| {
            pairs[pair as usize].0
        });

        let count = offsets[n];
        let (mut rows, mut cols, mut pair_of) = (
            vec![0; count],
            vec![0; count],
            vec![pairs.len() as u32; count],
        );
        for u in 0..n {
            rows[offsets[u]..offsets[u + 1]].fill(u as u32);
            if has_diagonal {
                cols[offsets[u] + larger[u + 1] - larger[u]] = u as u32;
            }
        }
        let mut before = offsets.clone();
        let mut after: Vec<usize> = (0..n)
            .map(|u| offsets[u] + larger[u + 1] - larger[u] + own)
            .collect();
        for pair in in_order {
            let (u, v) = pairs[pair as usize];
            for (place, col) in [(&mut after[u as usize], v), (&mut before[v as usize], u)] {
                (cols[*place], pair_of[*place]) = (col, pair);
                *place += 1;
            }
        }
        Self {
            offsets,
            rows,
            cols,
            pair_of,
        }
    }
}

/// Sorts numbers by their keys, stably; `begins` has the offset of each key's numbers.
fn placed(
    numbers: impl ExactSizeIterator<Item = u32>,
    begins: &[usize],
    key: impl Fn(u32) -> u32,
) -> Vec<u32> {
    let mut next = begins.to_vec();
    let mut out = vec![0; numbers.len()];
    for number in numbers {
        let place = &mut next[key(number) as usize];
        out[*place] = number;
        *place += 1;
    }
    out
}

/// Network behind a defence, for attacks that differentiate with respect to edges.
#[derive(Clone, Copy)]
pub struct AttackPath<'a> {
    /// Network that predicts.
    pub network: &'a WhiteBox,
    /// Defence before the network that changes the edges.
    pub defense: Option<&'a dyn Differentiable>,
}

impl<'a> AttackPath<'a> {
    /// Returns the map from pair weights of a relaxation to the network's propagation.
    pub fn filter(&self, graph: &'a Graph, relaxed: &Relaxed) -> Result<Filter<'a>> {
        match self.defense {
            Some(defense) => defense.ready(graph, relaxed),
            None => Ok(Box::new(|relaxed, weights| {
                Ok(Propagation::from(relaxed.operator_of(weights)?))
            })),
        }
    }
}

/// Defence that gradients pass through, exactly or by a surrogate for a step without gradient.
pub trait Differentiable {
    /// Prepares the defence for the edges of a graph and the candidates of a relaxation. Integer
    /// weights must give the propagation of the defended network on the graph of those edges, or
    /// nearly.
    fn ready<'a>(&'a self, graph: &'a Graph, relaxed: &Relaxed) -> Result<Filter<'a>>;

    /// Returns a short description of the gradient path, for reports.
    fn how(&self) -> &'static str;
}

/// Network with a learned operator under edge changes: centralities are constant at their clean
/// values, so that only the changed arcs have gradients.
impl Differentiable for WhiteBox {
    fn ready<'a>(&'a self, graph: &'a Graph, relaxed: &Relaxed) -> Result<Filter<'a>> {
        let pairs = Relaxed::new(
            graph,
            Op::NORMALISED_ADJACENCY,
            &relaxed.pairs()[relaxed.num_edges()..],
        )?;
        let learned = self.learned_operator(graph)?;
        let Some(factors) = learned.factors().map(Tensor::detach) else {
            let what = "an operator that is not learned has no centralities to keep";
            return Err(gnarl_graph::Error::argument("operator", what));
        };
        Ok(Box::new(move |_, weights| {
            let operator = pairs.factored_of(weights, &factors)?;
            Ok(Propagation {
                learnable: Some(Arc::new(Given(operator.clone()))),
                ..operator.into()
            })
        }))
    }

    fn how(&self) -> &'static str {
        "by an approximation: the centralities of its operator stay those of the clean graph"
    }
}

/// Operator in place of the one computed from a network's scalars.
#[derive(Debug)]
struct Given(Operator);

impl LearnableOperator for Given {
    fn scalars(&self) -> Vec<OperatorScalar> {
        Vec::new()
    }

    fn operators(&self, _: &[&Tensor]) -> gnarl_tensor::Result<Vec<Operator>> {
        Ok(vec![self.0.clone()])
    }

    fn restricted(
        &self,
        _: &[u32],
        _: &[usize],
    ) -> gnarl_tensor::Result<Arc<dyn LearnableOperator>> {
        gnarl_tensor::bail!("an operator of half-edges is asked for whole")
    }
}

/// Map from weights of a relaxation's pairs, which may take gradients, to the propagation.
pub type Filter<'a> = Box<dyn Fn(&Relaxed, &Tensor) -> Result<Propagation> + 'a>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perturb::flipped;
    use gnarl_graph::random::stream;
    use gnarl_nn::networks::layer::classical;
    use gnarl_nn::testing::assert_close;
    use gnarl_tensor::Var;
    use gnarl_tensor::testing::{check_gradients, random};
    use rand::RngExt;

    /// Eight nodes, one of them isolated, and pairs to add.
    fn graph() -> (Graph, Vec<Pair>) {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (4, 5), (5, 6)];
        (
            Graph::from_edges(8, edges).unwrap().0,
            vec![(0, 7), (1, 4), (4, 6), (6, 7), (3, 5)],
        )
    }

    fn dense(operator: &Operator) -> Vec<f32> {
        let eye = Tensor::eye(operator.num_cols(), DType::F32, &Device::Cpu).unwrap();
        operator
            .apply(&eye)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1()
            .unwrap()
    }

    #[test]
    fn whole_flips_give_the_operator_of_the_flipped_graph() {
        let (graph, candidates) = graph();
        let weighted = Graph::from_weighted_edges(
            8,
            graph
                .edges()
                .enumerate()
                .map(|(i, (u, v))| (u, v, 0.2 + i as f64)),
        )
        .unwrap()
        .0;
        for graph in [graph, weighted] {
            for kind in Op::ALL {
                let relaxed = Relaxed::new(&graph, kind, &candidates).unwrap();
                assert_eq!((relaxed.num_edges(), relaxed.pairs().len()), (7, 12));
                let rng = &mut stream(2, "relaxed test", 0);
                for round in 0..40 {
                    // Nothing, everything, then anything.
                    let share = [0.0, 1.0, 0.3, 0.8][round.min(2 + round % 2)];
                    let flips: Vec<bool> = (0..12).map(|_| rng.random_bool(share)).collect();
                    let chosen: Vec<Pair> = (0..12)
                        .filter(|&i| flips[i])
                        .map(|i| relaxed.pairs()[i])
                        .collect();
                    let values: Vec<f32> =
                        flips.iter().map(|&f| if f { 1.0 } else { 0.0 }).collect();
                    let p = Tensor::from_vec(values, 12, &Device::Cpu).unwrap();
                    let expected =
                        dense(&classical(&flipped(&graph, &chosen).unwrap(), kind).unwrap());
                    let got = dense(&relaxed.operator(&p).unwrap());
                    assert_close(&got, &expected, 1e-5, &format!("{kind} with {chosen:?}"));
                }
            }
        }
    }

    #[test]
    fn entries_stand_by_rows_and_columns() {
        let pairs = [(1, 3), (0, 2), (2, 3), (0, 3), (1, 2), (0, 1)];
        for has_diagonal in [false, true] {
            let Entries {
                offsets,
                rows,
                cols,
                pair_of,
            } = Entries::new(5, &pairs, has_diagonal);
            let mut expected: Vec<(u32, u32, u32)> = Vec::new();
            for (i, &(u, v)) in pairs.iter().enumerate() {
                expected.extend([(u, v, i as u32), (v, u, i as u32)]);
            }
            if has_diagonal {
                expected.extend((0..5).map(|u| (u, u, 6)));
            }
            expected.sort_unstable();
            let got: Vec<_> = (0..rows.len())
                .map(|k| (rows[k], cols[k], pair_of[k]))
                .collect();
            assert_eq!(got, expected);
            assert!((0..5).all(|u| {
                rows[offsets[u]..offsets[u + 1]]
                    .iter()
                    .all(|&row| row == u as u32)
            }));
        }
    }

    /// Absent pairs have the gradients of pairs with a variable at zero, and leave the gradients of
    /// others unchanged.
    #[test]
    fn absent_pairs_have_the_slopes_of_pairs_at_zero() {
        let (graph, candidates) = graph();
        let x = random(&[8, 3], 4);
        let (present, absent) = (&candidates[..2], &candidates[2..]);
        let pairs = Pairs::new(8, absent.to_vec()).unwrap();
        for kind in Op::ALL {
            let p = ((random(&[9], 5) * 0.15).unwrap() + 0.2).unwrap();
            let none = Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap();
            let slopes = |operator: &dyn Fn(&Tensor, &Tensor) -> Operator| {
                let [p, none] = [&p, &none].map(|t| Var::from_tensor(t).unwrap());
                let y = operator(p.as_tensor(), none.as_tensor()).apply(&x).unwrap();
                let grads = (&y * random(&[8, 3], 6))
                    .unwrap()
                    .sum_all()
                    .unwrap()
                    .backward()
                    .unwrap();
                let of = |v: &Var| grads.get(v).unwrap().to_vec1::<f32>().unwrap();
                [
                    y.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
                    of(&p),
                    of(&none),
                ]
            };
            let whole = Relaxed::new(&graph, kind, &candidates).unwrap();
            let expected = slopes(&|p, none| {
                whole
                    .operator(&Tensor::cat(&[p, none], 0).unwrap())
                    .unwrap()
            });
            let part = Relaxed::new(&graph, kind, present).unwrap();
            let got = slopes(&|p, none| {
                part.operator_with_absent(&part.weights(p).unwrap(), &pairs, none)
                    .unwrap()
            });
            for (got, expected) in got.iter().zip(&expected) {
                assert_close(got, expected, 1e-5, &kind.to_string());
            }
        }
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let (graph, candidates) = graph();
        let x = random(&[8, 3], 4);
        for kind in Op::ALL {
            let relaxed = Relaxed::new(&graph, kind, &candidates).unwrap();
            // Away from 0 and 1, with degrees above the floor or, for the isolated node, clearly
            // below.
            let p = ((random(&[12], 5) * 0.15).unwrap() + 0.2).unwrap();
            check_gradients(&[p], |v| {
                relaxed
                    .operator(&v[0])
                    .map_err(|e| gnarl_tensor::Error::msg(e.to_string()))?
                    .apply(&x)
            });
        }
    }
}
