//! The update of [`Crf`] with less work, for a network whose first maps are linear and narrow
//! ([`Reduced`](crate::classifier::Reduced)).
//!
//! Around features, a neighbour is sampled in the span of the network's first maps: a few
//! coordinates for each node, and only the norm of the rest of a row. The similarity needs one more
//! coordinate. With `x = x_span + x_rest`, the product of x and a step z is that of the coordinates
//! in the span plus `|x_rest|` times z's coordinate along `x_rest`. That coordinate is Gaussian
//! like the others, whatever the direction, and it is so again around the neighbour. The
//! distribution of everything in the update is exact. Around a structure, the coordinates are
//! computed once for all graphs.

use gnarl_graph::random::Rng;
use gnarl_graph::{DenseMatrix, Graph};

use super::balls::Similarity;
use super::crf::{Crf, NeighbourSampler, Neighbourhood, Tree};
use super::{PerturbationTarget, SamplingRegion};
use crate::classifier::{Reduced, WhiteBox, to_matrix};
use crate::perturb::ReducedBall;
use gnarl_graph::Result;
use gnarl_nn::networks::{Input, Propagation};
use gnarl_tensor::{Device, Tensor};

/// Returns the prediction by the shortcut; `None` if there is no shortcut.
pub(super) fn predict(
    crf: &Crf,
    model: &WhiteBox,
    region: &SamplingRegion<'_>,
    graph: &Graph,
    seed: u64,
) -> Result<Option<DenseMatrix<f32>>> {
    let Some(reduced) = model.reduced()? else {
        return Ok(None);
    };
    let input = model.input(graph)?;
    let coordinates = reduced.coordinates(&input)?;
    let prediction = match region {
        SamplingRegion::Features(ball) if ball.radius > 0.0 => {
            let similarity = ball.similarity;
            let ball = ReducedBall::new(ball.radius, input.dim(), reduced.dim())?;
            let tree = InSpan {
                crf,
                model,
                reduced,
                propagation: model.propagation(graph)?,
                ball,
                similarity,
            };
            let centre = Point::new(&input, &coordinates)?;
            let own = tree.evaluate(&centre)?;
            crf.update(&tree, &centre, own, crf.iterations, seed)?
        }
        _ if region.part() == PerturbationTarget::Structure => {
            let tree = Rewired {
                crf,
                model,
                reduced,
                coordinates,
                neighbourhood: region.neighbourhood(),
            };
            let own = tree.evaluate(graph)?;
            crf.update(&tree, graph, own, crf.iterations, seed)?
        }
        _ => return Ok(None),
    };
    Ok(Some(prediction))
}

/// Features in the span of the first maps.
struct Point {
    /// `[nodes, width]`
    span: Vec<f32>,
    /// The norm of the part outside the span, for each node.
    rest: Vec<f64>,
    /// The squared norm of the whole matrix.
    squared_norm: f64,
}

impl Point {
    fn new(input: &Input, coordinates: &Tensor) -> Result<Self> {
        let span = coordinates.flatten_all()?.to_vec1::<f32>()?;
        let squares = row_squares(input)?;
        let width = coordinates.dims()[1];
        let inside = span.chunks_exact(width.max(1)).map(squared);
        let rest = squares
            .iter()
            .zip(inside)
            .map(|(all, inside)| (all - inside).max(0.0).sqrt())
            .collect();
        Ok(Self {
            span,
            rest,
            squared_norm: squares.iter().sum(),
        })
    }
}

fn squared(row: &[f32]) -> f64 {
    row.iter().map(|&x| f64::from(x) * f64::from(x)).sum()
}

/// Returns the squared norm of every row.
fn row_squares(input: &Input) -> Result<Vec<f64>> {
    Ok(match input {
        Input::Dense(x) => {
            let width = x.dims()[1];
            x.flatten_all()?
                .to_vec1::<f32>()?
                .chunks_exact(width.max(1))
                .map(squared)
                .collect()
        }
        Input::Sparse(x) => {
            let values = x.values()?.to_vec1::<f32>()?;
            (0..x.num_rows())
                .map(|i| squared(&values[x.pattern().row(i)]))
                .collect()
        }
    })
}

struct InSpan<'a> {
    crf: &'a Crf,
    model: &'a WhiteBox,
    reduced: &'a Reduced,
    propagation: Propagation,
    ball: ReducedBall,
    similarity: Similarity,
}

impl Tree for InSpan<'_> {
    type Input = Point;

    fn evaluate(&self, point: &Point) -> Result<DenseMatrix<f32>> {
        let shape = (point.rest.len(), self.reduced.dim());
        let coordinates = Tensor::from_slice(&point.span, shape, &Device::Cpu)?;
        self.crf.output(to_matrix(&self.model.forward_reduced(
            self.reduced,
            &self.propagation,
            &coordinates,
        )?)?)
    }

    fn sampler<'a>(
        &'a self,
        centre: &'a Point,
        _: &'a DenseMatrix<f32>,
    ) -> Result<NeighbourSampler<'a, Point>> {
        Ok(Box::new(move |rng| Ok(Some(self.sample(centre, rng)))))
    }
}

impl InSpan<'_> {
    fn sample(&self, centre: &Point, rng: &mut Rng) -> (Point, f64) {
        let width = self.reduced.dim();
        let mut span = vec![0f32; centre.span.len()];
        let beyond = self.ball.rows_and_beyond(&mut span, rng);
        let mut rest = Vec::with_capacity(centre.rest.len());
        let (mut product, mut length) = (0.0, 0.0);
        let rows = span
            .chunks_exact_mut(width)
            .zip(centre.span.chunks_exact(width));
        for ((step, row), (&outside, beyond)) in rows.zip(centre.rest.iter().zip(&beyond)) {
            let along_span: f32 = step.iter().zip(row).map(|(z, x)| z * x).sum();
            let step_span: f32 = step.iter().map(|z| z * z).sum();
            step.iter_mut().zip(row).for_each(|(z, x)| *z += x);
            product += f64::from(along_span) + outside * beyond.along;
            length += beyond.squared_norm;
            let step_rest = beyond.squared_norm - f64::from(step_span);
            rest.push(
                (outside * outside + 2.0 * outside * beyond.along + step_rest)
                    .max(0.0)
                    .sqrt(),
            );
        }
        let own = centre.squared_norm;
        let other = own + 2.0 * product + length;
        let alike = self.similarity.of(own + product, own, other);
        (
            Point {
                span,
                rest,
                squared_norm: other,
            },
            alike,
        )
    }
}

struct Rewired<'a> {
    crf: &'a Crf,
    model: &'a WhiteBox,
    reduced: &'a Reduced,
    coordinates: Tensor,
    neighbourhood: &'a dyn Neighbourhood,
}

impl Tree for Rewired<'_> {
    type Input = Graph;

    fn evaluate(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        let propagation = self.model.propagation(graph)?;
        self.crf.output(to_matrix(&self.model.forward_reduced(
            self.reduced,
            &propagation,
            &self.coordinates,
        )?)?)
    }

    fn sampler<'a>(
        &'a self,
        centre: &'a Graph,
        prediction: &'a DenseMatrix<f32>,
    ) -> Result<NeighbourSampler<'a>> {
        self.neighbourhood.sampler(centre, prediction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::{FeatureBall, StructureBall, balls::FlipDistribution};
    use gnarl_graph::Features;
    use gnarl_graph::random::stream;
    use gnarl_nn::networks::{Backbone, Network, NetworkConfig};
    use gnarl_nn::operator::OperatorChoice;
    use rand::RngExt;

    fn fixture() -> (WhiteBox, Graph) {
        let rng = &mut stream(3, "reduced test", 0);
        let values: Vec<f32> = (0..30 * 40).map(|_| rng.random::<f32>() - 0.4).collect();
        let features = Features::Dense(DenseMatrix::new(30, 40, values).unwrap());
        let graph = gnarl_graph::generate::erdos_renyi(30, 0.15, 3)
            .unwrap()
            .with_features(features)
            .unwrap();
        let config = NetworkConfig {
            hidden: 6,
            ..NetworkConfig::new(Backbone::GCN)
        };
        let network =
            Network::new(&config, &gnarl_nn::networks::Shape::new(40, 3, 1.0), 5).unwrap();
        (
            WhiteBox::new(network, OperatorChoice::Default).unwrap(),
            graph,
        )
    }

    fn furthest(a: &DenseMatrix<f32>, b: &DenseMatrix<f32>) -> f32 {
        a.data()
            .iter()
            .zip(b.data())
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max)
    }

    #[test]
    fn around_a_structure_both_ways_say_the_same() {
        let (model, graph) = fixture();
        let ball = StructureBall {
            share: 0.3,
            flips: FlipDistribution::Binomial,
        };
        let crf = Crf::new(0.2);
        let short = predict(&crf, &model, &SamplingRegion::Structure(ball), &graph, 7)
            .unwrap()
            .unwrap();
        let long = crf.predict(&model, &ball, &graph, 7).unwrap();
        assert!(furthest(&short, &long) < 1e-5);
        let own = crf
            .output(crate::classifier::Classifier::scores(&model, &graph).unwrap())
            .unwrap();
        assert!(
            furthest(&short, &own) > 1e-3,
            "the neighbours changed nothing"
        );
    }

    /// Both ways sample differently from the same distribution: with many neighbours both are close
    /// to the same average.
    #[test]
    fn around_features_both_ways_agree_in_the_mean() {
        let (model, graph) = fixture();
        let ball = FeatureBall {
            radius: 8.0,
            similarity: Similarity::Cosine,
        };
        let crf = Crf {
            samples: 3000,
            iterations: 1,
            ..Crf::new(0.1)
        };
        let short = predict(&crf, &model, &SamplingRegion::Features(ball), &graph, 7)
            .unwrap()
            .unwrap();
        let long = crf.predict(&model, &ball, &graph, 8).unwrap();
        let own = crf
            .output(crate::classifier::Classifier::scores(&model, &graph).unwrap())
            .unwrap();
        let (apart, moved) = (furthest(&short, &long), furthest(&short, &own));
        assert!(
            apart < 0.012 && moved > 0.025,
            "{apart} apart, {moved} from the model's own answer"
        );
    }

    /// Similarities of neighbours, and of neighbours of neighbours, sampled both ways.
    #[test]
    fn neighbours_are_alike_by_the_same_law() {
        let (model, graph) = fixture();
        let (ball, input) = (
            FeatureBall {
                radius: 2.0,
                similarity: Similarity::Cosine,
            },
            model.input(&graph).unwrap(),
        );
        let reduced = model.reduced().unwrap().unwrap();
        let crf = Crf::new(0.5);
        let span_ball = ReducedBall::new(2.0, 40, reduced.dim()).unwrap();
        let tree = InSpan {
            crf: &crf,
            model: &model,
            reduced,
            propagation: model.propagation(&graph).unwrap(),
            ball: span_ball,
            similarity: Similarity::Cosine,
        };
        let centre = Point::new(&input, &reduced.coordinates(&input).unwrap()).unwrap();
        let none = DenseMatrix::zeros(30, 3);
        let rng = &mut stream(1, "alike", 0);
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for _ in 0..600 {
            let (point, first) = tree.sample(&centre, rng);
            short.push([first, tree.sample(&point, rng).1]);
            let (near, first) = ball.sample(&graph, &none, rng).unwrap().unwrap();
            long.push([first, ball.sample(&near, &none, rng).unwrap().unwrap().1]);
        }
        for level in 0..2 {
            let column =
                |all: &[[f64; 2]]| all.iter().map(|both| both[level]).collect::<Vec<f64>>();
            let gap = crate::testing::kolmogorov_two(&column(&short), &column(&long));
            assert!(gap < crate::testing::critical(300), "level {level}: {gap}");
        }
    }
}
