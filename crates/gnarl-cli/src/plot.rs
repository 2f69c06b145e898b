//! Figures for files: heat maps, and line charts with bands, plotted once for SVG and once for PNG.
//!
//! Text is drawn with a font embedded in the program, so a picture is the same on every machine and
//! needs no font there. Charts inside pages are [`page`](crate::page)'s.

use std::path::{Path, PathBuf};
use std::sync::Once;

use anyhow::anyhow;
use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::html;
use crate::output::{self, real};

/// Pixels of a PNG for one unit of the figure.
const PNG_SCALE: u32 = 2;
/// Height of the letters in units.
const LETTERS: u32 = 13;
const FONT: &str = "sans-serif";

/// Figure that can be drawn at any scale.
pub trait Figure {
    /// Returns width and height in units.
    fn size(&self) -> (u32, u32);

    /// Draws the figure with `scale` pixels to the unit.
    fn draw<B: DrawingBackend>(&self, area: &Canvas<B>, scale: u32) -> Drawn<B>;
}

type Canvas<B> = DrawingArea<B, Shift>;
type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// Returns the file with that ending next to others of one stem; dots of the stem are kept.
fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_os_string();
    name.push(ending);
    PathBuf::from(name)
}

/// Returns the file of the vector picture of a stem.
pub fn picture(stem: &Path) -> PathBuf {
    with_ending(stem, ".svg")
}

/// Writes the numbers as `stem.csv` and the figure next to them, and returns the names of all three
/// files.
pub fn write_with_table(
    figure: &impl Figure,
    csv: String,
    stem: &Path,
) -> anyhow::Result<Vec<String>> {
    let table = with_ending(stem, ".csv");
    output::write_whole(&table, csv)?;
    let drawn = write(figure, stem)?;
    Ok(std::iter::once(table)
        .chain(drawn)
        .map(|file| file.display().to_string())
        .collect())
}

/// Writes `stem.svg` and `stem.png` and returns their names.
pub fn write(figure: &impl Figure, stem: &Path) -> anyhow::Result<[PathBuf; 2]> {
    let files = [picture(stem), with_ending(stem, ".png")];
    output::write_whole(&files[0], svg(figure)?)?;
    output::write_whole(&files[1], png(figure)?)?;
    Ok(files)
}

/// Renders the figure as SVG.
pub fn svg(figure: &impl Figure) -> anyhow::Result<String> {
    let mut text = String::new();
    paint(figure, SVGBackend::with_string(&mut text, figure.size()), 1)?;
    Ok(text)
}

/// Renders the figure as a compressed PNG.
pub fn png(figure: &impl Figure) -> anyhow::Result<Vec<u8>> {
    let (width, height) = (figure.size().0 * PNG_SCALE, figure.size().1 * PNG_SCALE);
    let mut pixels = vec![0; width as usize * height as usize * 3];
    paint(
        figure,
        BitMapBackend::with_buffer(&mut pixels, (width, height)),
        PNG_SCALE,
    )?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(file)
}

fn paint<B: DrawingBackend>(figure: &impl Figure, backend: B, scale: u32) -> anyhow::Result<()> {
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        // The font is embedded in the program: it was readable when this was tested.
        let _ = plotters::style::register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
    });
    let area = backend.into_drawing_area();
    let draw = || -> Drawn<B> {
        area.fill(&WHITE)?;
        figure.draw(&area, scale)?;
        area.present()
    };
    draw().map_err(|e| anyhow!("drawing failed: {e}"))
}

/// Returns the text style of the default size.
fn letters(scale: u32) -> TextStyle<'static> {
    (FONT, LETTERS * scale)
        .into_text_style(&(1, 1))
        .color(&BLACK)
}

/// Values on a grid: columns to the right, rows upwards, both ascending and evenly spaced.
pub struct HeatMap {
    /// Title above the map.
    pub title: String,
    /// Positions of the columns.
    pub x: Vec<f64>,
    /// Positions of the rows.
    pub y: Vec<f64>,
    /// Values row by row, from below.
    pub values: Vec<f64>,
}

/// Heat maps side by side with one colour scale.
pub struct HeatMaps {
    /// Title above all maps.
    pub title: String,
    /// Label below each map.
    pub x_label: String,
    /// Label left of each map.
    pub y_label: String,
    /// Label above the colour scale.
    pub value_label: String,
    /// True if the largest value of each map is framed.
    pub framed: bool,
    /// Maps from left to right.
    pub maps: Vec<HeatMap>,
}

impl HeatMaps {
    const MAP: (u32, u32) = (330, 340);
    const TITLE: u32 = 30;
    const SCALE: u32 = 90;

    /// Returns the smallest and the largest value of all maps.
    fn range(&self) -> (f64, f64) {
        spread(
            self.maps
                .iter()
                .flat_map(|map| map.values.iter().copied().filter(|v| v.is_finite())),
        )
    }

    fn draw_map<B: DrawingBackend>(&self, map: &HeatMap, area: &Canvas<B>, scale: u32) -> Drawn<B> {
        let (low, high) = self.range();
        let half = |at: &[f64]| {
            if at.len() > 1 {
                (at[1] - at[0]) / 2.0
            } else {
                0.5
            }
        };
        let (dx, dy) = (half(&map.x), half(&map.y));
        let ends = |at: &[f64], d: f64| {
            at.first().map_or(0.0, |x| x - d)..at.last().map_or(1.0, |x| x + d)
        };
        let mut chart = ChartBuilder::on(area)
            .margin(6 * scale)
            .caption(&map.title, letters(scale))
            .x_label_area_size(34 * scale)
            .y_label_area_size(50 * scale)
            .build_cartesian_2d(ends(&map.x, dx), ends(&map.y, dy))?;
        let cells = || {
            map.y
                .iter()
                .flat_map(|y| map.x.iter().map(move |x| (*x, *y)))
                .zip(&map.values)
        };
        let square = |(x, y): (f64, f64)| [(x - dx, y - dy), (x + dx, y + dy)];
        chart.draw_series(cells().map(|(at, &value)| {
            let colour = if value.is_finite() {
                viridis((value - low) / (high - low))
            } else {
                RGBColor(200, 200, 200)
            };
            Rectangle::new(square(at), colour.filled())
        }))?;
        let best = cells().filter(|(_, v)| v.is_finite()).fold(
            None,
            |best: Option<((f64, f64), f64)>, (at, &v)| {
                if best.is_none_or(|b| v > b.1) {
                    Some((at, v))
                } else {
                    best
                }
            },
        );
        chart.draw_series(
            best.filter(|_| self.framed)
                .map(|(at, _)| Rectangle::new(square(at), RED.stroke_width(2 * scale))),
        )?;
        axes(
            &mut chart.configure_mesh(),
            &self.x_label,
            &self.y_label,
            scale,
        )
        .disable_mesh()
        .draw()
    }

    /// Draws the colour scale, from the smallest value, below, to the largest.
    fn draw_scale<B: DrawingBackend>(&self, area: &Canvas<B>, scale: u32) -> Drawn<B> {
        const STEPS: i32 = 64;
        let (low, high) = self.range();
        let unit = scale as i32;
        let (left, right, top, bottom) = (
            8 * unit,
            24 * unit,
            26 * unit,
            (Self::MAP.1 as i32 - 42) * unit,
        );
        let y = |share: f64| bottom - ((bottom - top) as f64 * share).round() as i32;
        for step in 0..STEPS {
            let share = |step: i32| f64::from(step) / f64::from(STEPS);
            let colour = viridis((f64::from(step) + 0.5) / f64::from(STEPS));
            area.draw(&Rectangle::new(
                [(left, y(share(step + 1))), (right, y(share(step)))],
                colour.filled(),
            ))?;
        }
        for tick in 0..=4 {
            let share = f64::from(tick) / 4.0;
            let style = letters(scale).pos(Pos::new(HPos::Left, VPos::Center));
            let value = low + (high - low) * share;
            let shown = if high - low >= 1.0 {
                format!("{value:.1}")
            } else {
                real(value)
            };
            area.draw(&Text::new(shown, (right + 4 * unit, y(share)), style))?;
        }
        area.draw(&Text::new(
            self.value_label.clone(),
            (left, 6 * unit),
            letters(scale),
        ))
    }
}

impl Figure for HeatMaps {
    fn size(&self) -> (u32, u32) {
        (
            Self::MAP.0 * self.maps.len().max(1) as u32 + Self::SCALE,
            Self::MAP.1 + Self::TITLE,
        )
    }

    fn draw<B: DrawingBackend>(&self, area: &Canvas<B>, scale: u32) -> Drawn<B> {
        let area = area
            .margin(6 * scale, 0, 0, 0)
            .titled(&self.title, (FONT, (LETTERS + 3) * scale))?;
        let (maps, key) =
            area.split_horizontally(Self::MAP.0 * self.maps.len().max(1) as u32 * scale);
        for (map, area) in self
            .maps
            .iter()
            .zip(maps.split_evenly((1, self.maps.len().max(1))))
        {
            self.draw_map(map, &area, scale)?;
        }
        self.draw_scale(&key, scale)
    }
}

/// Point of a line, with the ends of its error band if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Horizontal coordinate.
    pub x: f64,
    /// Vertical coordinate.
    pub y: f64,
    /// Lower and upper end of the band.
    pub band: Option<(f64, f64)>,
}

/// Line of a [`LineChart`].
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Points in any order; they are drawn from left to right.
    pub points: Vec<Point>,
}

/// Line chart with error bands and a legend. Points that are not finite are left out.
pub struct LineChart {
    /// Title above the chart.
    pub title: String,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis.
    pub y_label: String,
    /// Lines of the chart.
    pub lines: Vec<Line>,
}

impl Figure for LineChart {
    fn size(&self) -> (u32, u32) {
        (720, 420)
    }

    fn draw<B: DrawingBackend>(&self, area: &Canvas<B>, scale: u32) -> Drawn<B> {
        let (area, key) = area.split_horizontally(540 * scale);
        let points = || self.lines.iter().flat_map(finite);
        let x = spread(points().map(|p| p.x));
        let y = spread(points().flat_map(|p| {
            [
                p.y,
                p.band.map_or(p.y, |b| b.0),
                p.band.map_or(p.y, |b| b.1),
            ]
        }));
        let room = (y.1 - y.0) * 0.04;
        let mut chart = ChartBuilder::on(&area)
            .margin(8 * scale)
            .caption(&self.title, (FONT, (LETTERS + 3) * scale))
            .x_label_area_size(36 * scale)
            .y_label_area_size(60 * scale)
            .build_cartesian_2d(x.0..x.1, y.0 - room..y.1 + room)?;
        axes(
            &mut chart.configure_mesh(),
            &self.x_label,
            &self.y_label,
            scale,
        )
        .light_line_style(TRANSPARENT)
        .draw()?;
        for (i, line) in self.lines.iter().enumerate() {
            let colour = colour(i);
            let (lower, upper): (Vec<_>, Vec<_>) = finite(line)
                .filter_map(|p| p.band.map(|(low, high)| ((p.x, low), (p.x, high))))
                .unzip();
            // The band of a single point is a stroke, and a line of a single point a dot.
            if let ([low], [high]) = (&lower[..], &upper[..]) {
                chart.draw_series([PathElement::new(
                    [*low, *high],
                    colour.mix(0.5).stroke_width(2 * scale),
                )])?;
            }
            let outline: Vec<(f64, f64)> =
                lower.into_iter().chain(upper.into_iter().rev()).collect();
            if outline.len() > 2 {
                chart.draw_series([Polygon::new(outline, colour.mix(0.2).filled())])?;
            }
            let points: Vec<(f64, f64)> = finite(line).map(|p| (p.x, p.y)).collect();
            if let [alone] = points[..] {
                chart.draw_series([Circle::new(alone, 4 * scale, colour.filled())])?;
            }
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2 * scale)))?;
            let (unit, at) = (scale as i32, (40 + 20 * i as i32) * scale as i32);
            key.draw(&PathElement::new(
                [(0, at), (18 * unit, at)],
                colour.stroke_width(2 * scale),
            ))?;
            let style = letters(scale).pos(Pos::new(HPos::Left, VPos::Center));
            key.draw(&Text::new(line.name.clone(), (24 * unit, at), style))?;
        }
        Ok(())
    }
}

/// Returns the finite points, from left to right.
fn finite(line: &Line) -> impl Iterator<Item = Point> + '_ {
    let finite = line
        .points
        .iter()
        .copied()
        .filter(|p| p.x.is_finite() && p.y.is_finite());
    let mut points: Vec<Point> = finite
        .map(|p| Point {
            band: p
                .band
                .filter(|(low, high)| low.is_finite() && high.is_finite()),
            ..p
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points.into_iter()
}

/// Returns the range of some values, never empty even if all values are equal or there are none.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match (low.is_finite(), low < high) {
        (true, true) => (low, high),
        (true, false) => (low - 0.5, low + 0.5),
        (false, _) => (0.0, 1.0),
    }
}

type Mesh<'a, 'b, B> = MeshStyle<'a, 'b, Numbers, Numbers, B>;
type Numbers = plotters::coord::types::RangedCoordf64;

/// Draws the axes that all charts have.
fn axes<'m, 'a, 'b, B: DrawingBackend>(
    mesh: &'m mut Mesh<'a, 'b, B>,
    x_label: &str,
    y_label: &str,
    scale: u32,
) -> &'m mut Mesh<'a, 'b, B> {
    mesh.x_desc(x_label)
        .y_desc(y_label)
        .label_style((FONT, (LETTERS - 1) * scale))
        .axis_desc_style((FONT, LETTERS * scale))
        .x_labels(7)
        .y_labels(7)
        .x_label_formatter(&|x| tick(*x))
        .y_label_formatter(&|y| tick(*y))
}

/// Formats a number next to an axis: rounding errors of zero are zero, and trailing zeros are
/// dropped.
fn tick(value: f64) -> String {
    let value = if value.abs() < 1e6 {
        (value * 1e9).round() / 1e9
    } else {
        value
    };
    let text = real(value);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// Returns the colour of line `i`.
fn colour(i: usize) -> RGBColor {
    parse(html::COLOURS[i % html::COLOURS.len()])
}

fn parse(hex: &str) -> RGBColor {
    let part = |at: usize| u8::from_str_radix(hex.get(at..at + 2).unwrap_or("00"), 16).unwrap_or(0);
    RGBColor(part(1), part(3), part(5))
}

/// Matplotlib's viridis, whose order is visible to readers with any kind of colour vision and in
/// print: ten of its colours, interpolated linearly.
fn viridis(share: f64) -> RGBColor {
    const ANCHORS: [&str; 10] = [
        "#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58",
        "#b5de2b", "#fde725",
    ];
    let at = share.clamp(0.0, 1.0) * (ANCHORS.len() - 1) as f64;
    let first = (at as usize).min(ANCHORS.len() - 2);
    let (a, b, t) = (
        parse(ANCHORS[first]),
        parse(ANCHORS[first + 1]),
        at - first as f64,
    );
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * t).round() as u8;
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps() -> HeatMaps {
        let map = |title: &str, values: Vec<f64>| HeatMap {
            title: title.into(),
            x: vec![-0.5, 0.0, 0.5],
            y: vec![1.0, 2.0],
            values,
        };
        HeatMaps {
            title: "two <maps>".into(),
            x_label: "e3".into(),
            y_label: "e2".into(),
            value_label: "AMI, %".into(),
            framed: true,
            maps: vec![
                map("a", vec![0.0, 1.0, 2.0, 3.0, 4.0, 10.0]),
                map("b", vec![f64::NAN; 6]),
            ],
        }
    }

    fn lines() -> LineChart {
        let point = |x: f64, y: f64| Point {
            x,
            y,
            band: Some((y - 1.0, y + 1.0)),
        };
        let line = |name: &str, points| Line {
            name: name.into(),
            points,
        };
        LineChart {
            title: "lines".into(),
            x_label: "depth".into(),
            y_label: "accuracy, %".into(),
            lines: vec![
                line(
                    "one",
                    vec![point(0.0, 3.0), point(1.0, 5.0), point(2.0, 4.0)],
                ),
                line(
                    "two",
                    vec![
                        Point {
                            x: 0.0,
                            y: f64::NAN,
                            band: None,
                        },
                        Point {
                            x: 1.0,
                            y: 2.0,
                            band: None,
                        },
                    ],
                ),
                line("none", vec![]),
            ],
        }
    }

    #[test]
    fn vectors_hold_text_and_every_cell() {
        let drawn = svg(&maps()).unwrap();
        assert!(drawn.starts_with("<svg") && drawn.trim_end().ends_with("</svg>"));
        for text in ["two &lt;maps&gt;", "AMI, %", "e2", "e3", "-0.5", "10.0"] {
            assert!(drawn.contains(text), "{text} in {drawn}");
        }
        assert!(
            drawn.contains("#440154") && drawn.contains("#FDE725"),
            "the ends of the scale are used: {drawn}"
        );
        assert_eq!(
            drawn.matches("#C8C8C8").count(),
            6,
            "what is not a number is grey"
        );
        assert!(!drawn.contains("NaN"));
    }

    #[test]
    fn lines_have_bands_and_names() {
        let drawn = svg(&lines()).unwrap();
        for text in ["depth", "accuracy, %", "one", "two", "none", "#0072B2"] {
            assert!(drawn.contains(text), "{text} in {drawn}");
        }
        assert_eq!(
            drawn.matches("<polygon").count(),
            1,
            "one line has a band: {drawn}"
        );
        assert!(!drawn.contains("NaN"));
        let empty = LineChart {
            lines: vec![],
            ..lines()
        };
        assert!(svg(&empty).unwrap().contains("lines"));
    }

    #[test]
    fn pixels_are_a_picture_with_text_in_it() {
        for file in [png(&maps()).unwrap(), png(&lines()).unwrap()] {
            let mut reader = png::Decoder::new(std::io::Cursor::new(&file))
                .read_info()
                .unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut pixels).unwrap();
            assert!(info.width >= 1400 && info.height >= 700);
            // The title is in the first line of text on white.
            let top = &pixels[..info.width as usize * 3 * 40];
            assert!(
                top.chunks(3).any(|p| p.iter().all(|c| *c < 60)),
                "no dark pixel where the title should be"
            );
        }
    }

    #[test]
    fn numbers_beside_axes_are_short() {
        assert_eq!(
            [-1.5, -0.3, 1e-17, 0.25, 20.0].map(tick),
            ["-1.5", "-0.3", "0", "0.25", "20"]
        );
        assert_eq!(viridis(0.0), RGBColor(0x44, 0x01, 0x54));
        assert_eq!(viridis(2.0), RGBColor(0xfd, 0xe7, 0x25));
        assert_eq!(
            viridis(1.0 / 18.0),
            RGBColor(0x46, 0x15, 0x66),
            "half-way between the first two"
        );
    }

    #[test]
    fn both_files_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let files = write(&lines(), &dir.path().join("a.b")).unwrap();
        assert_eq!(
            files,
            ["a.b.svg", "a.b.png"].map(|name| dir.path().join(name))
        );
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            2,
            "nothing else is left"
        );
        let e = write(&lines(), &dir.path().join("no/such"))
            .unwrap_err()
            .to_string();
        assert!(e.contains("such.svg"), "{e}");
    }
}
