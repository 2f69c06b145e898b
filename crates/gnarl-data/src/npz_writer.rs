//! Writes graphs as archives for NumPy and SciPy: `scipy.sparse.load_npz` reads the adjacency,
//! `numpy.load` the rest.
//!
//! | member | contents |
//! | --- | --- |
//! | `format`, `shape`, `indptr`, `indices`, `data` | the adjacency, CSR, both arcs of every edge |
//! | `attr_shape`, `attr_indptr`, `attr_indices`, `attr_data` | features, if they are sparse |
//! | `attr_matrix` | features, if they are dense |
//! | `attr_scaling` | scaling of these features, if it differs from their scaling on load: text |
//! | `labels` | the class of each node by its number, -1 for none |

use std::io::{Cursor, Write};
use std::path::Path;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::files::write_atomically;
use gnarl_graph::graph::Graph;
use gnarl_graph::matrix::DenseMatrix;

/// Writes the edges, features and labels of a graph; names and splits are omitted. The file is
/// written completely or not at all.
pub fn save(path: &Path, graph: &Graph) -> Result<()> {
    save_scaled(path, graph, None)
}

/// Writes a graph with a description of its feature scaling.
pub fn save_scaled(path: &Path, graph: &Graph, scaling: Option<&str>) -> Result<()> {
    write_atomically(
        path,
        bytes(graph, scaling).map_err(|e| Error::data(path, "archive", e.to_string()))?,
    )
}

fn bytes(graph: &Graph, scaling: Option<&str>) -> zip::result::ZipResult<Vec<u8>> {
    let n = graph.num_nodes();
    let mut archive = Archive(ZipWriter::new(Cursor::new(Vec::new())));
    archive.member("format", "|S3", "()", b"csr")?;
    archive.shape("shape", n, n)?;
    let arcs = (0..n as u32).flat_map(|u| graph.neighbours(u).iter().copied());
    let mut bounds = vec![0i64];
    bounds.extend((0..n as u32).scan(0i64, |total, u| {
        *total += graph.neighbours(u).len() as i64;
        Some(*total)
    }));
    archive.numbers("indptr", "<i8", bounds.iter().map(|b| b.to_le_bytes()))?;
    archive.numbers("indices", "<i4", arcs.map(|v| (v as i32).to_le_bytes()))?;
    let num_arcs = bounds[n] as usize;
    archive.numbers(
        "data",
        "<f8",
        (0..num_arcs).map(|k| graph.arc_weight(k).to_le_bytes()),
    )?;
    match graph.features() {
        None => {}
        Some(Features::Dense(m)) => {
            let shape = format!("({}, {})", m.num_rows(), m.num_cols());
            let data: Vec<u8> = m.data().iter().flat_map(|x| x.to_le_bytes()).collect();
            archive.member("attr_matrix", "<f4", &shape, &data)?;
        }
        Some(Features::Sparse(m)) => {
            archive.shape("attr_shape", m.num_rows(), m.num_cols())?;
            archive.numbers(
                "attr_indptr",
                "<i8",
                m.offsets().iter().map(|&b| (b as i64).to_le_bytes()),
            )?;
            archive.numbers(
                "attr_indices",
                "<i4",
                m.indices().iter().map(|&c| (c as i32).to_le_bytes()),
            )?;
            archive.numbers(
                "attr_data",
                "<f4",
                m.values().iter().map(|x| x.to_le_bytes()),
            )?;
        }
    }
    if let Some(scaling) = scaling.filter(|_| graph.features().is_some()) {
        archive.member(
            "attr_scaling",
            &format!("|S{}", scaling.len()),
            "()",
            scaling.as_bytes(),
        )?;
    }
    if let Some(labels) = graph.labels() {
        let classes = labels
            .classes()
            .iter()
            .map(|class| class.map_or(-1, i64::from));
        archive.numbers("labels", "<i8", classes.map(i64::to_le_bytes))?;
    }
    Ok(archive.0.finish()?.into_inner())
}

/// Writes a matrix as a single-precision array for `numpy.load`.
pub fn save_matrix(path: &Path, matrix: &DenseMatrix<f32>) -> Result<()> {
    let mut bytes = head(
        "<f4",
        &format!("({}, {})", matrix.num_rows(), matrix.num_cols()),
    );
    bytes.extend(matrix.data().iter().flat_map(|x| x.to_le_bytes()));
    write_atomically(path, bytes)
}

/// Returns the header of an array in NumPy's format, version 1, padded to whole blocks of 64 bytes.
fn head(kind: &str, shape: &str) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let padding = 64 - (10 + header.len() + 1) % 64;
    header.extend(std::iter::repeat_n(' ', padding % 64));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes
}

struct Archive(ZipWriter<Cursor<Vec<u8>>>);

impl Archive {
    fn member(
        &mut self,
        name: &str,
        kind: &str,
        shape: &str,
        data: &[u8],
    ) -> zip::result::ZipResult<()> {
        self.0.start_file(
            format!("{name}.npy"),
            SimpleFileOptions::default().large_file(data.len() > (1 << 30)),
        )?;
        self.0.write_all(&head(kind, shape))?;
        self.0.write_all(data)?;
        Ok(())
    }

    fn numbers<const N: usize>(
        &mut self,
        name: &str,
        kind: &str,
        values: impl Iterator<Item = [u8; N]>,
    ) -> zip::result::ZipResult<()> {
        let data: Vec<u8> = values.flatten().collect();
        self.member(name, kind, &format!("({},)", data.len() / N), &data)
    }

    fn shape(&mut self, name: &str, rows: usize, cols: usize) -> zip::result::ZipResult<()> {
        self.numbers(
            name,
            "<i8",
            [rows, cols].into_iter().map(|x| (x as i64).to_le_bytes()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{attacked, scipy};
    use gnarl_graph::labels::Labels;
    use gnarl_graph::matrix::CsrMatrix;

    /// The first bytes of `numpy.save` for a float32 array of two rows and three columns: 128 with
    /// the header.
    #[test]
    fn a_matrix_is_one_array() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.npy");
        save_matrix(
            &file,
            &DenseMatrix::new(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, -0.5]).unwrap(),
        )
        .unwrap();
        let bytes = std::fs::read(&file).unwrap();
        assert_eq!(bytes.len(), 128 + 24);
        let header = std::str::from_utf8(&bytes[10..128]).unwrap();
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(
            header.trim_end(),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
        );
        assert!(header.ends_with('\n') && bytes.ends_with(&(-0.5f32).to_le_bytes()));
    }

    #[test]
    fn written_arrays_round_trip() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("graph.npz");
        let values: Vec<f32> = (0..20)
            .map(|i| {
                if i % 3 == 0 {
                    0.0
                } else {
                    0.1 + i as f32 / 7.0
                }
            })
            .collect();
        let dense = DenseMatrix::new(5, 4, values).unwrap();
        let labels = Labels::new(vec![Some(2), None, Some(0), Some(1), Some(2)], 3).unwrap();
        let plain = Graph::from_edges(5, [(0, 1), (1, 2), (0, 4)])
            .unwrap()
            .0
            .with_labels(labels)
            .unwrap();
        for features in [
            None,
            Some(Features::Sparse(CsrMatrix::from_dense(&dense))),
            Some(Features::Dense(dense)),
        ] {
            let graph = match features {
                Some(features) => plain.clone().with_features(features).unwrap(),
                None => plain.clone(),
            };
            save(&path, &graph).unwrap();
            let back = attacked::read_onto(&Graph::empty(5).unwrap(), &path)
                .unwrap()
                .graph;
            assert_eq!(
                back.edges().collect::<Vec<_>>(),
                graph.edges().collect::<Vec<_>>()
            );
            assert_eq!(back.features(), graph.features());
            let (own, _, sources) = scipy::load(&path).unwrap();
            assert_eq!(
                (own.features(), own.labels()),
                (graph.features(), graph.labels()),
                "as a dataset of its own"
            );
            assert_eq!(
                own.edges().collect::<Vec<_>>(),
                graph.edges().collect::<Vec<_>>()
            );
            assert!(sources.unused.is_empty(), "{sources:?}");
        }
        save(&path, &Graph::empty(0).unwrap()).unwrap();
        assert_eq!(
            attacked::read_onto(&Graph::empty(0).unwrap(), &path)
                .unwrap()
                .graph
                .num_nodes(),
            0
        );
    }
}
