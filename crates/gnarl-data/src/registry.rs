//! The dataset registry: names, citations, addresses, checksums, sizes and split protocols.
//!
//! A new dataset is one more [`Entry`] in [`DATASETS`]; `gnarl data`, download and loading find it
//! there.
//!
//! Sizes are those of the undirected simple graph. Published tables differ in places: some say
//! 5,208 edges for Cora (5,278 is correct). Some count arcs or the file's lines for Photo,
//! Computers, Physics, Chameleon, Squirrel, the WebKB graphs, PolBlogs, ogbn-arxiv, Penn94 and
//! deezer-europe.
//!
//! A checksum is given only if the bytes at the address are known: it equals one published
//! elsewhere, or the file agrees in length and ending with a public copy. Files without a checksum
//! rely on the checks of their format.

use gnarl_graph::error::{Error, Result};

gnarl_graph::named! {
    /// The prediction task: a class per node of one graph, or per graph of a set.
    pub enum Task as "task" {
        /// Node classification.
        Node = "node",
        /// Graph classification.
        Graph = "graph",
    }
}

gnarl_graph::named! {
    /// The file format, which selects the loader.
    pub enum Format as "format" {
        /// `planetoid/ind.NAME.*`
        Planetoid = "planetoid",
        /// `geom-gcn/NAME/out1_*.txt` and `geom-gcn/splits/NAME_split_0.6_0.2_K.npz`
        GeomGcn = "geom-gcn",
        /// `npz/NAME.npz`
        Npz = "npz",
        /// `tu/NAME/NAME_*.txt` and `tu/splits/`
        Tu = "tu",
        /// `ogb/arxiv/`, classes as published.
        Ogb = "ogb",
        /// `ogb/arxiv/`, classes by year.
        OgbYear = "ogb-year",
        /// `linkx/NAME.npz`
        Linkx = "linkx",
        /// `linkx/NAME.npz` with Facebook100's table of user properties.
        Facebook100 = "facebook100",
        /// `attacked/`: the graphs of [`attacked`](super::attacked).
        Attacked = "attacked",
    }
}

impl Format {
    /// Returns the folder of its files in the data folder.
    pub fn folder(self) -> &'static str {
        match self {
            Format::OgbYear => Format::Ogb.name(),
            Format::Facebook100 => Format::Linkx.name(),
            other => other.name(),
        }
    }
}

/// Default split of a dataset into training, validation and test parts.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The split that comes with the Planetoid files.
    PlanetoidPublic,
    /// The ten splits that come with the Geom-GCN files.
    GeomGcnTen,
    /// This many random training nodes of each class, then random validation and test nodes.
    PerClass {
        /// Number of training nodes of each class.
        train: usize,
        /// Number of validation nodes.
        val: usize,
        /// Number of test nodes.
        test: usize,
    },
    /// Random shares of the largest component's nodes, with the rest for testing: the split of
    /// structural attacks.
    LargestComponentFractions {
        /// Training share.
        train: f64,
        /// Validation share.
        val: f64,
    },
    /// The split that its literature shares and publishes with the dataset.
    Published,
    /// The split by year of publication that comes with the OGB files.
    OgbTime,
    /// Five random splits of 50 / 25 / 25 % ([Lim et al. 2021](https://arxiv.org/abs/2110.14446)).
    LinkxHalfQuarter,
    /// Stratified cross-validation with this many folds.
    Folds(usize),
}

/// Citation of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Citation {
    /// Authors.
    pub authors: &'static str,
    /// Title.
    pub title: &'static str,
    /// Journal or conference.
    pub venue: &'static str,
    /// Year of publication.
    pub year: u16,
}

impl std::fmt::Display for Citation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: {}. {}, {}",
            self.authors, self.title, self.venue, self.year
        )
    }
}

/// A file to download.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct RemoteFile {
    /// Address; always HTTPS.
    pub url: &'static str,
    /// Target, relative to the data folder: a file, or the folder that an archive becomes.
    pub path: &'static str,
    /// SHA-256 of the download in lower-case hex, if it is known.
    pub sha256: Option<&'static str>,
    /// Step after the download.
    pub unpack: Option<Unpack>,
}

/// Conversion of a download to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unpack {
    /// Unpacks a zip: its content, without its one top folder, becomes the folder
    /// [`RemoteFile::path`].
    Zip {
        /// Files that must be in that folder, relative to it.
        members: &'static [&'static str],
    },
}

/// Sizes expected after loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Expected {
    /// Number of nodes, of all graphs together.
    pub nodes: usize,
    /// Number of undirected edges without self-loops and duplicates, of all graphs together; `None`
    /// if not known for sure.
    pub undirected_edges: Option<usize>,
    /// Number of features per node, or of distinct node labels in a graph set; `None` if the files
    /// have none.
    pub features: Option<usize>,
    /// Number of classes.
    pub classes: usize,
    /// Number of graphs, in a graph set.
    pub graphs: Option<usize>,
}

/// A dataset of the registry.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Entry {
    /// The name, as in the data files.
    pub name: &'static str,
    /// Aliases.
    pub aliases: &'static [&'static str],
    /// One-line description.
    pub title: &'static str,
    /// Prediction task.
    pub task: Task,
    /// File format, which selects the loader.
    pub format: Format,
    /// Citation.
    pub citation: Citation,
    /// Files to download.
    pub files: &'static [RemoteFile],
    /// Expected sizes.
    pub expected: Expected,
    /// Default split.
    pub protocol: Protocol,
    /// True if feature values become 0 or 1 on load.
    pub binarise: bool,
    /// Terms of use, as far as stated.
    pub licence: &'static str,
    /// Note for the user, such as a step after the download.
    pub note: Option<&'static str>,
}

impl Entry {
    /// Returns the files its loader reads, relative to the data folder. Files of an archive may
    /// also be present without `.gz`.
    pub fn required(&self) -> Vec<String> {
        match self.format {
            Format::Linkx | Format::Facebook100 => vec![format!("linkx/{}.npz", self.name)],
            // Published folds and splits are optional: a graph loads without them.
            Format::Tu => self.files[..1]
                .iter()
                .flat_map(RemoteFile::provides)
                .collect(),
            Format::GeomGcn => self.files[..2]
                .iter()
                .flat_map(RemoteFile::provides)
                .collect(),
            _ => self.files.iter().flat_map(RemoteFile::provides).collect(),
        }
    }

    /// Returns the first missing file that loading needs.
    pub fn first_missing(&self, data_dir: &std::path::Path) -> Option<String> {
        self.required().into_iter().find(|f| !is_there(data_dir, f))
    }

    /// Returns true if any of the files that loading reads is present.
    pub fn has_any(&self, data_dir: &std::path::Path) -> bool {
        self.required().iter().any(|f| is_there(data_dir, f))
    }
}

impl RemoteFile {
    /// Returns the files that are present after the download, relative to the data folder.
    pub fn provides(&self) -> Vec<String> {
        match self.unpack {
            None => vec![self.path.to_string()],
            Some(Unpack::Zip { members }) => members
                .iter()
                .map(|m| format!("{}/{m}", self.path))
                .collect(),
        }
    }
}

/// Returns true if a file is present, compressed or not.
fn is_there(data_dir: &std::path::Path, file: &str) -> bool {
    data_dir.join(file).is_file() || data_dir.join(plain(file)).is_file()
}

/// Returns the name of a file without its compression extension.
fn plain(file: &str) -> &str {
    file.strip_suffix(".gz").unwrap_or(file)
}

/// Finds the dataset of that name or alias, ignoring case; `_` and `-` are equivalent.
///
/// ```
/// use gnarl_data::registry;
/// assert_eq!(registry::find("Photo")?.name, "amazon_electronics_photo");
/// assert!(registry::find("photos").unwrap_err().to_string().contains("did you mean photo"));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn find(name: &str) -> Result<&'static Entry> {
    get(name).ok_or_else(|| Error::unknown("dataset", name, names()))
}

/// Finds a dataset like [`find`], `None` for an unknown name.
pub fn get(name: &str) -> Option<&'static Entry> {
    let wanted = key(name);
    all().find(|e| key(e.name) == wanted || e.aliases.iter().any(|a| key(a) == wanted))
}

/// Returns every dataset: the registry, and the attacked graphs.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    DATASETS
        .iter()
        .chain(super::attacked::FAMILIES.iter().flatten())
}

/// Returns every name and alias.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().flat_map(|e| std::iter::once(e.name).chain(e.aliases.iter().copied()))
}

fn key(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

const fn file(url: &'static str, path: &'static str, sha256: Option<&'static str>) -> RemoteFile {
    RemoteFile {
        url,
        path,
        sha256,
        unpack: None,
    }
}

const fn node_set(
    nodes: usize,
    undirected_edges: usize,
    features: usize,
    classes: usize,
) -> Expected {
    Expected {
        nodes,
        undirected_edges: Some(undirected_edges),
        features: Some(features),
        classes,
        graphs: None,
    }
}

const fn graph_set(
    graphs: usize,
    nodes: usize,
    edges: usize,
    labels: Option<usize>,
    classes: usize,
) -> Expected {
    Expected {
        nodes,
        undirected_edges: Some(edges),
        features: labels,
        classes,
        graphs: Some(graphs),
    }
}

/// 20 / 500 / 1,000 ([Yang et al. 2016](https://arxiv.org/abs/1603.08861); [Shchur et al.
/// 2018](https://arxiv.org/abs/1811.05868)).
const TWENTY_PER_CLASS: Protocol = Protocol::PerClass {
    train: 20,
    val: 500,
    test: 1000,
};

/// 10 / 10 / 80 % of the largest component ([Zügner et al.
/// 2018](https://arxiv.org/abs/1805.07984)).
const TENTHS: Protocol = Protocol::LargestComponentFractions {
    train: 0.1,
    val: 0.1,
};

/// The eight files of a Planetoid dataset, with checksums that others have published for the same
/// addresses.
macro_rules! planetoid {
    ($name:literal, $($part:literal: $sha:literal),+ $(,)?) => {
        &[$(file(
            concat!("https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.", $name, ".", $part),
            concat!("planetoid/ind.", $name, ".", $part),
            Some($sha),
        )),+]
    };
}

/// The two text files and ten splits of a Geom-GCN dataset. The commit is the one PyTorch Geometric
/// reads, and the address is that of its loader. The repository itself is not among the stored
/// copies that were checked.
macro_rules! geom_gcn {
    ($name:literal, edges: $edges:expr, nodes: $nodes:expr) => {
        &[
            file(
                concat!(geom_gcn!(@base), "new_data/", $name, "/out1_graph_edges.txt"),
                concat!("geom-gcn/", $name, "/out1_graph_edges.txt"),
                $edges,
            ),
            file(
                concat!(geom_gcn!(@base), "new_data/", $name, "/out1_node_feature_label.txt"),
                concat!("geom-gcn/", $name, "/out1_node_feature_label.txt"),
                $nodes,
            ),
            geom_gcn!(@split $name, "0"),
            geom_gcn!(@split $name, "1"),
            geom_gcn!(@split $name, "2"),
            geom_gcn!(@split $name, "3"),
            geom_gcn!(@split $name, "4"),
            geom_gcn!(@split $name, "5"),
            geom_gcn!(@split $name, "6"),
            geom_gcn!(@split $name, "7"),
            geom_gcn!(@split $name, "8"),
            geom_gcn!(@split $name, "9"),
        ]
    };
    (@base) => {
        "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/f1fc0d14b3b019c562737240d06ec83b07d16a8f/"
    };
    (@split $name:literal, $k:literal) => {
        file(
            concat!(geom_gcn!(@base), "splits/", $name, "_split_0.6_0.2_", $k, ".npz"),
            concat!("geom-gcn/splits/", $name, "_split_0.6_0.2_", $k, ".npz"),
            None,
        )
    };
}

/// One NumPy zip.
macro_rules! npz {
    ($base:literal, $name:literal) => {
        &[file(
            concat!($base, $name, ".npz"),
            concat!("npz/", $name, ".npz"),
            None,
        )]
    };
}

/// The zip of a TU dataset and, if needed, the folds of [Errica et al.
/// 2020](https://arxiv.org/abs/1912.09893).
macro_rules! tu {
    ($name:literal, [$($kind:literal),+] $(, $folds:literal: $sha:literal)?) => {
        &[
            RemoteFile {
                // An address many public scripts download from; the zips may be repacked, so no
                // checksum.
                url: concat!("https://www.chrsmrrs.com/graphkerneldatasets/", $name, ".zip"),
                path: concat!("tu/", $name),
                sha256: None,
                unpack: Some(Unpack::Zip { members: &[$(concat!($name, "_", $kind, ".txt")),+] }),
            },
            $(file(
                // Verified by a stored copy of the repository.
                concat!(
                    "https://raw.githubusercontent.com/diningphil/gnn-comparison/master/data_splits/CHEMICAL/",
                    $folds
                ),
                concat!("tu/splits/", $folds),
                Some($sha),
            ))?
        ]
    };
}

/// OGB's address and the archive's checksum are published in many places and agree.
const ARXIV: &[RemoteFile] = &[RemoteFile {
    url: "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip",
    path: "ogb/arxiv",
    sha256: Some("49f85c801589ecdcc52cfaca99693aaea7b8af16a9ac3f41dd85a5f3193fe276"),
    unpack: Some(Unpack::Zip {
        members: &[
            "raw/num-node-list.csv.gz",
            "raw/num-edge-list.csv.gz",
            "raw/edge.csv.gz",
            "raw/node-feat.csv.gz",
            "raw/node-label.csv.gz",
            "raw/node_year.csv.gz",
            "split/time/train.csv.gz",
            "split/time/valid.csv.gz",
            "split/time/test.csv.gz",
        ],
    }),
}];

/// The MATLAB file of a LINKX dataset, to be converted. Addresses are those of the authors' and
/// PyTorch Geometric's loaders.
macro_rules! linkx {
    ($remote:literal, $name:literal) => {
        &[file(
            concat!(
                "https://raw.githubusercontent.com/CUAI/Non-Homophily-Large-Scale/master/data/",
                $remote,
                ".mat"
            ),
            concat!("linkx/", $name, ".mat"),
            None,
        )]
    };
}

const SEN: Citation = Citation {
    authors: "P. Sen, G. Namata, M. Bilgic, L. Getoor, B. Galligher, T. Eliassi-Rad",
    title: "Collective Classification in Network Data",
    venue: "AI Magazine 29(3)",
    year: 2008,
};

const SHCHUR: Citation = Citation {
    authors: "O. Shchur, M. Mumme, A. Bojchevski, S. Günnemann",
    title: "Pitfalls of Graph Neural Network Evaluation",
    venue: "Relational Representation Learning Workshop, NeurIPS",
    year: 2018,
};

const ROZEMBERCZKI: Citation = Citation {
    authors: "B. Rozemberczki, C. Allen, R. Sarkar",
    title: "Multi-Scale Attributed Node Embedding",
    venue: "Journal of Complex Networks 9(2)",
    year: 2021,
};

const PEI: Citation = Citation {
    authors: "H. Pei, B. Wei, K. C.-C. Chang, Y. Lei, B. Yang",
    title: "Geom-GCN: Geometric Graph Convolutional Networks",
    venue: "ICLR",
    year: 2020,
};

const YANARDAG: Citation = Citation {
    authors: "P. Yanardag, S. V. N. Vishwanathan",
    title: "Deep Graph Kernels",
    venue: "KDD",
    year: 2015,
};

const NOT_STATED: &str = "not stated";
const TU_LICENCE: &str = "not stated; collected by TUDataset (Morris et al. 2020)";
const CONVERT: &str = "the download is a MATLAB file; convert it to the .npz beside it with scripts/mat_to_npz.py before loading";

/// Every registered dataset apart from attacked graphs.
pub static DATASETS: &[Entry] = &[
    Entry {
        name: "cora",
        aliases: &[],
        title: "Machine-learning papers and their citations, words as features",
        task: Task::Node,
        format: Format::Planetoid,
        citation: SEN,
        files: planetoid!(
            "cora",
            "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
            "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
            "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
            "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
            "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
            "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
            "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
            "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
        ),
        expected: node_set(2708, 5278, 1433, 7),
        protocol: Protocol::PlanetoidPublic,
        binarise: false,
        licence: NOT_STATED,
        note: None,
    },
    Entry {
        name: "citeseer",
        aliases: &[],
        title: "Computer-science papers and their citations, words as features",
        task: Task::Node,
        format: Format::Planetoid,
        citation: SEN,
        files: planetoid!(
            "citeseer",
            "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
            "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
            "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
            "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
            "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
            "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
            "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
            "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        ),
        expected: node_set(3327, 4552, 3703, 6),
        protocol: Protocol::PlanetoidPublic,
        binarise: false,
        licence: NOT_STATED,
        note: Some("15 papers are isolated, without features and without a class"),
    },
    Entry {
        name: "pubmed",
        aliases: &[],
        title: "Papers on diabetes and their citations, TF-IDF features",
        task: Task::Node,
        format: Format::Planetoid,
        citation: Citation {
            authors: "G. Namata, B. London, L. Getoor, B. Huang",
            title: "Query-Driven Active Surveying for Collective Classification",
            venue: "Workshop on Mining and Learning with Graphs",
            year: 2012,
        },
        files: planetoid!(
            "pubmed",
            "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
            "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        ),
        // The often quoted 44,338 counts self-loops and duplicates.
        expected: node_set(19717, 44324, 500, 3),
        protocol: Protocol::PlanetoidPublic,
        binarise: false,
        licence: NOT_STATED,
        note: None,
    },
    Entry {
        name: "ms_academic_cs",
        aliases: &["cs", "coauthor-cs"],
        title: "Computer scientists and who they write with, keywords as features",
        task: Task::Node,
        format: Format::Npz,
        citation: SHCHUR,
        // Verified by public scripts that download from here; the file itself is in no stored copy.
        files: npz!(
            "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz/",
            "ms_academic_cs"
        ),
        expected: node_set(18333, 81894, 6805, 15),
        protocol: TWENTY_PER_CLASS,
        binarise: true,
        licence: "MIT",
        note: None,
    },
    Entry {
        name: "ms_academic_phy",
        aliases: &["physics", "coauthor-physics"],
        title: "Physicists and who they write with, keywords as features",
        task: Task::Node,
        format: Format::Npz,
        citation: SHCHUR,
        files: npz!(
            "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz/",
            "ms_academic_phy"
        ),
        expected: node_set(34493, 247962, 8415, 5),
        protocol: TWENTY_PER_CLASS,
        binarise: true,
        licence: "MIT",
        note: None,
    },
    Entry {
        name: "amazon_electronics_photo",
        aliases: &["photo", "amazon-photo"],
        title: "Photo goods bought together, words of reviews as features",
        task: Task::Node,
        format: Format::Npz,
        citation: SHCHUR,
        files: npz!(
            "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz/",
            "amazon_electronics_photo"
        ),
        expected: node_set(7650, 119081, 745, 8),
        protocol: TWENTY_PER_CLASS,
        binarise: true,
        licence: "MIT",
        note: None,
    },
    Entry {
        name: "amazon_electronics_computers",
        aliases: &["computers", "amazon-computers"],
        title: "Computer goods bought together, words of reviews as features",
        task: Task::Node,
        format: Format::Npz,
        citation: SHCHUR,
        files: npz!(
            "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz/",
            "amazon_electronics_computers"
        ),
        expected: node_set(13752, 245861, 767, 10),
        protocol: TWENTY_PER_CLASS,
        binarise: true,
        licence: "MIT",
        note: None,
    },
    Entry {
        name: "cora_ml",
        aliases: &["coraml"],
        title: "Machine-learning papers of the full Cora collection, words as features",
        task: Task::Node,
        format: Format::Npz,
        citation: Citation {
            authors: "A. Bojchevski, S. Günnemann",
            title: "Deep Gaussian Embedding of Graphs: Unsupervised Inductive Learning via Ranking",
            venue: "ICLR",
            year: 2018,
        },
        // Verified by public scripts that download from here. The 300 features of some tables are a
        // reduction.
        files: npz!(
            "https://raw.githubusercontent.com/abojchevski/graph2gauss/master/data/",
            "cora_ml"
        ),
        expected: node_set(2995, 8158, 2879, 7),
        protocol: TENTHS,
        binarise: false,
        licence: "MIT",
        note: None,
    },
    Entry {
        name: "polblogs",
        aliases: &["political-blogs"],
        title: "Political blogs of the 2004 US election and their links",
        task: Task::Node,
        format: Format::Npz,
        citation: Citation {
            authors: "L. A. Adamic, N. Glance",
            title: "The Political Blogosphere and the 2004 U.S. Election: Divided They Blog",
            venue: "LinkKDD",
            year: 2005,
        },
        // Verified by a stored copy of the repository, which holds the file.
        files: npz!(
            "https://raw.githubusercontent.com/danielzuegner/nettack/master/data/",
            "polblogs"
        ),
        expected: Expected {
            nodes: 1490,
            undirected_edges: Some(16715),
            features: None,
            classes: 2,
            graphs: None,
        },
        protocol: TENTHS,
        binarise: false,
        licence: "MIT",
        note: Some("no node features: models use the identity"),
    },
    Entry {
        name: "chameleon",
        aliases: &[],
        title: "Wikipedia pages about chameleons and their links, classes by traffic",
        task: Task::Node,
        format: Format::GeomGcn,
        citation: ROZEMBERCZKI,
        files: geom_gcn!(
            "chameleon",
            edges: Some("45ac593de9207470090230c8fd76beeb2f60b5371a9be088e8bf31e7f0619a4b"),
            nodes: None
        ),
        expected: node_set(2277, 31371, 2325, 5),
        protocol: Protocol::GeomGcnTen,
        binarise: false,
        licence: NOT_STATED,
        note: None,
    },
    Entry {
        name: "squirrel",
        aliases: &[],
        title: "Wikipedia pages about squirrels and their links, classes by traffic",
        task: Task::Node,
        format: Format::GeomGcn,
        citation: ROZEMBERCZKI,
        files: geom_gcn!(
            "squirrel",
            edges: Some("453d8e96754d68e2ab0a7ebb56f93506b59531d95abaec7a2b46fe1eae7c39cd"),
            nodes: None
        ),
        expected: node_set(5201, 198353, 2089, 5),
        protocol: Protocol::GeomGcnTen,
        binarise: false,
        licence: NOT_STATED,
        note: None,
    },
    Entry {
        name: "cornell",
        aliases: &[],
        title: "Web pages of a computer-science department and their links (WebKB)",
        task: Task::Node,
        format: Format::GeomGcn,
        citation: PEI,
        // Copies of Cornell with another numbering of its nodes exist, hence no checksums.
        files: geom_gcn!("cornell", edges: None, nodes: None),
        expected: node_set(183, 277, 1703, 5),
        protocol: Protocol::GeomGcnTen,
        binarise: false,
        licence: NOT_STATED,
        note: None,
    },
    Entry {
        name: "texas",
        aliases: &[],
        title: "Web pages of a computer-science department and their links (WebKB)",
        task: Task::Node,
        format: Format::GeomGcn,
        citation: PEI,
        files: geom_gcn!(
            "texas",
            edges: Some("0fe85183243a78cbee9b85a684f8240963d04d1020d10e9cd2b8cfb25e33b476"),
            nodes: None
        ),
        expected: node_set(183, 279, 1703, 5),
        protocol: Protocol::GeomGcnTen,
        binarise: false,
        licence: NOT_STATED,
        note: None,
    },
    Entry {
        name: "wisconsin",
        aliases: &[],
        title: "Web pages of a computer-science department and their links (WebKB)",
        task: Task::Node,
        format: Format::GeomGcn,
        citation: PEI,
        files: geom_gcn!(
            "wisconsin",
            edges: Some("ebd213511c88fce1eda450c2f920600c4b8cbb38f02384856bcc47c6ec1807ae"),
            nodes: Some("a32b0aa38d42f0d36841e8a8cb646d197f0ff33a182ac75a2b4476aeed3c7e4b")
        ),
        expected: node_set(251, 450, 1703, 5),
        protocol: Protocol::GeomGcnTen,
        binarise: false,
        licence: NOT_STATED,
        note: None,
    },
    Entry {
        name: "ogbn-arxiv",
        aliases: &["arxiv"],
        title: "Computer-science papers on arXiv and their citations, word embeddings as features",
        task: Task::Node,
        format: Format::Ogb,
        citation: Citation {
            authors: "W. Hu, M. Fey, M. Zitnik, Y. Dong, H. Ren, B. Liu, M. Catasta, J. Leskovec",
            title: "Open Graph Benchmark: Datasets for Machine Learning on Graphs",
            venue: "NeurIPS",
            year: 2020,
        },
        files: ARXIV,
        // 1,166,243 citations without self-loops, 8,444 of them mutual. The 2,315,598 of some
        // tables are arcs; 31,971 nodes are a sample.
        expected: node_set(169_343, 1_157_799, 128, 40),
        protocol: Protocol::OgbTime,
        binarise: false,
        licence: "ODC-BY",
        note: None,
    },
    Entry {
        name: "arxiv-year",
        aliases: &[],
        title: "ogbn-arxiv with five classes by year of publication",
        task: Task::Node,
        format: Format::OgbYear,
        citation: Citation {
            authors: "D. Lim, F. Hohne, X. Li, S. L. Huang, V. Gupta, O. Bhalerao, S.-N. Lim",
            title: "Large Scale Learning on Non-Homophilous Graphs: New Benchmarks and Strong Simple Methods",
            venue: "NeurIPS",
            year: 2021,
        },
        files: ARXIV,
        expected: node_set(169_343, 1_157_799, 128, 5),
        protocol: Protocol::LinkxHalfQuarter,
        binarise: false,
        licence: "ODC-BY",
        note: None,
    },
    Entry {
        name: "penn94",
        aliases: &["fb100-penn94"],
        title: "Facebook friendships at one university in 2005, gender as class",
        task: Task::Node,
        format: Format::Facebook100,
        citation: Citation {
            authors: "A. L. Traud, P. J. Mucha, M. A. Porter",
            title: "Social Structure of Facebook Networks",
            venue: "Physica A 391(16)",
            year: 2012,
        },
        files: linkx!("facebook100/Penn94", "penn94"),
        // The 2,724,458 of some tables are arcs, with nodes of unknown gender as a third class:
        // here they are unlabelled.
        expected: node_set(41_554, 1_362_229, 4814, 2),
        protocol: Protocol::LinkxHalfQuarter,
        binarise: false,
        licence: NOT_STATED,
        note: Some(CONVERT),
    },
    Entry {
        name: "genius",
        aliases: &[],
        title: "Users of a site for song lyrics and who they follow, gone accounts as class",
        task: Task::Node,
        format: Format::Linkx,
        citation: Citation {
            authors: "D. Lim, A. R. Benson",
            title: "Expertise and Dynamics within Crowdsourced Musical Knowledge Curation: A Case Study of the Genius \
                    Platform",
            venue: "ICWSM",
            year: 2021,
        },
        files: linkx!("genius", "genius"),
        // 984,979 is the number of pairs in the file, not of the simple graph's edges.
        expected: Expected {
            nodes: 421_961,
            undirected_edges: None,
            features: Some(12),
            classes: 2,
            graphs: None,
        },
        protocol: Protocol::LinkxHalfQuarter,
        binarise: false,
        licence: NOT_STATED,
        note: Some(CONVERT),
    },
    Entry {
        name: "deezer-europe",
        aliases: &["deezer"],
        title: "Users of a music service and their mutual followers, liked artists as features, gender as class",
        task: Task::Node,
        format: Format::Linkx,
        citation: Citation {
            authors: "B. Rozemberczki, R. Sarkar",
            title: "Characteristic Functions on Graphs: Birds of a Feather, from Statistical Descriptors to Parametric \
                    Models",
            venue: "CIKM",
            year: 2020,
        },
        files: linkx!("deezer-europe", "deezer-europe"),
        // The 185,504 of some tables are arcs.
        expected: node_set(28_281, 92_752, 31_241, 2),
        protocol: Protocol::LinkxHalfQuarter,
        binarise: false,
        licence: NOT_STATED,
        note: Some(CONVERT),
    },
    Entry {
        name: "MUTAG",
        aliases: &[],
        title: "Nitro compounds, mutagenic or not",
        task: Task::Graph,
        format: Format::Tu,
        citation: Citation {
            authors: "A. K. Debnath, R. L. Lopez de Compadre, G. Debnath, A. J. Shusterman, C. Hansch",
            title: "Structure-Activity Relationship of Mutagenic Aromatic and Heteroaromatic Nitro Compounds",
            venue: "Journal of Medicinal Chemistry 34(2)",
            year: 1991,
        },
        files: tu!(
            "MUTAG",
            ["A", "graph_indicator", "graph_labels", "node_labels"]
        ),
        expected: graph_set(188, 3371, 3721, Some(7), 2),
        protocol: Protocol::Folds(10),
        binarise: false,
        licence: TU_LICENCE,
        note: None,
    },
    Entry {
        name: "PROTEINS",
        aliases: &[],
        title: "Proteins, enzymes or not, as graphs of secondary-structure elements",
        task: Task::Graph,
        format: Format::Tu,
        citation: Citation {
            authors: "K. M. Borgwardt, C. S. Ong, S. Schönauer, S. V. N. Vishwanathan, A. J. Smola, H.-P. Kriegel",
            title: "Protein Function Prediction via Graph Kernels",
            venue: "Bioinformatics 21",
            year: 2005,
        },
        files: tu!(
            "PROTEINS",
            ["A", "graph_indicator", "graph_labels", "node_labels"],
            "PROTEINS_full_splits.json": "785c4225474a5467427b704e424602e6a4b88ebd3463cf152d3ec82d2422cd6a"
        ),
        expected: graph_set(1113, 43471, 81044, Some(3), 2),
        protocol: Protocol::Folds(10),
        binarise: false,
        licence: TU_LICENCE,
        note: None,
    },
    Entry {
        name: "IMDB-BINARY",
        aliases: &["imdb-b"],
        title: "Who acted with whom around an actor, by genre",
        task: Task::Graph,
        format: Format::Tu,
        citation: YANARDAG,
        files: tu!("IMDB-BINARY", ["A", "graph_indicator", "graph_labels"]),
        expected: graph_set(1000, 19773, 96531, None, 2),
        protocol: Protocol::Folds(10),
        binarise: false,
        licence: TU_LICENCE,
        note: Some("no node features: models use one-hot degrees"),
    },
    Entry {
        name: "IMDB-MULTI",
        aliases: &["imdb-m"],
        title: "Who acted with whom around an actor, by one of three genres",
        task: Task::Graph,
        format: Format::Tu,
        citation: YANARDAG,
        files: tu!("IMDB-MULTI", ["A", "graph_indicator", "graph_labels"]),
        expected: graph_set(1500, 19502, 98903, None, 3),
        protocol: Protocol::Folds(10),
        binarise: false,
        licence: TU_LICENCE,
        note: Some("no node features: models use one-hot degrees"),
    },
    Entry {
        name: "NCI1",
        aliases: &[],
        title: "Chemical compounds, active against lung cancer cells or not",
        task: Task::Graph,
        format: Format::Tu,
        citation: Citation {
            authors: "N. Wale, I. A. Watson, G. Karypis",
            title: "Comparison of Descriptor Spaces for Chemical Compound Retrieval and Classification",
            venue: "Knowledge and Information Systems 14",
            year: 2008,
        },
        files: tu!(
            "NCI1",
            ["A", "graph_indicator", "graph_labels", "node_labels"],
            "NCI1_splits.json": "1c961b85422fb557edade036f614869bb996323efd21dbfa4b40ff1b80304924"
        ),
        expected: graph_set(4110, 122_747, 132_753, Some(37), 2),
        protocol: Protocol::Folds(10),
        binarise: false,
        licence: TU_LICENCE,
        note: None,
    },
    Entry {
        name: "DD",
        aliases: &["d&d"],
        title: "Proteins, enzymes or not, as graphs of amino acids",
        task: Task::Graph,
        format: Format::Tu,
        citation: Citation {
            authors: "P. D. Dobson, A. J. Doig",
            title: "Distinguishing Enzyme Structures from Non-enzymes Without Alignments",
            venue: "Journal of Molecular Biology 330(4)",
            year: 2003,
        },
        files: tu!(
            "DD",
            ["A", "graph_indicator", "graph_labels", "node_labels"],
            "DD_splits.json": "3acb1dbb1c7d52d019be2996ba52b9e1e7e9410eb5a84aad2eff766392aba8a8"
        ),
        expected: graph_set(1178, 334_925, 843_046, Some(82), 2),
        protocol: Protocol::Folds(10),
        binarise: false,
        licence: TU_LICENCE,
        note: None,
    },
];
