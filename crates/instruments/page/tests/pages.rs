//! Whole pages: well-formed, without anything from outside, the same on every run, whatever names
//! and figures they are made of.

#[path = "../examples/gallery/figures.rs"]
mod figures;

use page::{
    Axis, BarGroup, Bars, Chart, Covariate, Curve, Densities, Density, Estimate, Figure, Fit,
    IntervalRow, Intervals, LevelSeries, Levels, Mark, OverTime, Page, Part, Point, Running,
    RunningPoint, Side, Table, Waterfall,
};
use roxmltree::{Document, Node, ParsingOptions};

fn parsed(html: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(html, options).expect("a page is well-formed")
}

/// A chart of each kind, of these figures, with this name wherever a name is.
fn charts(figures: &[f64], name: &str) -> Vec<Chart> {
    let axis = || Axis::new(name, name);
    let name = || name.to_owned();
    let points =
        || -> Vec<Point> { figures.iter().map(|&figure| Point { x: figure, y: figure }).collect() };
    let estimates =
        || figures.iter().map(|figure| Estimate::new(*figure, figure - 1.0, figure + 1.0));
    let rows = estimates().map(|estimate| IntervalRow { name: name(), estimate, text: None });
    let parts = estimates().map(|difference| Part { name: name(), difference, is_certain: false });
    let running = estimates().map(|estimate| RunningPoint { at: estimate.value, estimate });
    let density = Density {
        name: name(),
        curve: points(),
        median: figures.first().copied(),
        strokes: figures.to_vec(),
    };
    let groups = estimates().map(|bar| BarGroup { name: name(), bars: vec![Some(bar), None] });
    vec![
        Chart::Intervals(Intervals { axis: axis(), rows: rows.collect(), indifference: Some(1.0) }),
        Chart::Densities(Densities { axis: axis(), series: vec![density] }),
        Chart::OverTime(OverTime {
            time: axis(),
            axis: axis(),
            sides: vec![Side { name: name(), points: points() }],
            running: vec![Running { name: name(), points: running.collect() }],
            marks: figures.iter().map(|at| Mark { at: *at, label: name() }).collect(),
            covariate: Some(Covariate { axis: axis(), points: points() }),
            indifference: Some(1.0),
        }),
        Chart::Waterfall(Waterfall {
            axis: axis(),
            from_name: name(),
            from: figures.first().copied().unwrap_or(0.0),
            to_name: name(),
            to: figures.last().copied().unwrap_or(0.0),
            parts: parts.collect(),
        }),
        Chart::Bars(Bars { axis: axis(), series: vec![name(), name()], groups: groups.collect() }),
        Chart::Levels(Levels {
            factor: name(),
            levels: figures.iter().map(|_| name()).collect(),
            axis: axis(),
            series: vec![LevelSeries { name: name(), estimates: estimates().map(Some).collect() }],
        }),
        Chart::Curve(Curve {
            x: axis(),
            y: axis(),
            points_name: name(),
            points: points(),
            fit: Some(Fit { name: name(), pieces: vec![points()] }),
        }),
    ]
}

fn page_of(charts: &[Chart], name: &str) -> String {
    let mut page = Page::new(name);
    page.lead(name, name);
    page.answer(name, name, name);
    page.facts([(name, name)]);
    let section = page.section(name);
    section.paragraph(name).warning(name).preformatted(name);
    section.definitions([(name, name)]).folded(name, [(name, name)]);
    let mut table = Table::new(name, [name, name]);
    table.row([name, name]);
    table.total([name, name]);
    section.table(table);
    for chart in charts {
        section.figure(Figure::new(name, name, chart));
    }
    page.foot(name).paragraph(name);
    page.html()
}

/// The corners of what a node draws, in tenths of a pixel.
fn corners(node: Node) -> Vec<(f64, f64)> {
    let number = |name: &str| node.attribute(name).map(|text| text.parse().expect("a number"));
    let pair = |x: &str, y: &str| Some((number(x)?, number(y)?));
    let points = node.attribute("points").unwrap_or_default().split(' ');
    let points = points.filter_map(|point| {
        let (x, y) = point.split_once(',')?;
        Some((x.parse().expect("a number"), y.parse().expect("a number")))
    });
    let ends = [pair("x", "y"), pair("x1", "y1"), pair("x2", "y2"), pair("cx", "cy")];
    points.chain(ends.into_iter().flatten()).collect()
}

/// Everything lies on its drawing, and a drawing of that class and size is there for each chart.
fn assert_drawn_inside(html: &str) {
    let document = parsed(html);
    for svg in document
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/1999/xhtml", "svg")))
    {
        let size: Vec<f64> = svg
            .attribute("viewBox")
            .expect("a size")
            .split(' ')
            .map(|n| n.parse().expect("a number"))
            .collect();
        for node in svg.descendants() {
            for (x, y) in corners(node) {
                let inside =
                    (-60.0..=size[2] + 60.0).contains(&x) && (-60.0..=size[3] + 60.0).contains(&y);
                assert!(inside, "{x}, {y} isn't on a drawing of {size:?}: {node:?}");
            }
        }
    }
}

#[test]
fn the_gallery_is_well_formed_and_asks_for_nothing_from_outside() {
    let html = figures::page().html();
    let document = parsed(&html);
    for node in document.descendants() {
        let name = node.tag_name().name();
        assert!(!["script", "link", "img", "iframe", "object", "use", "image"].contains(&name));
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "src", "{name} = {value}");
            assert!(name != "href" || value.starts_with('#'), "{name} = {value}");
        }
    }
    let elsewhere = html.replace("http://www.w3.org/1999/xhtml", "");
    for forbidden in ["://", "url(", "@import"] {
        assert!(!elsewhere.contains(forbidden), "{forbidden} in the page");
    }
    assert_drawn_inside(&html);
}

#[test]
fn each_chart_is_drawn_for_screens_and_for_phones_and_said_in_words() {
    let html = figures::page().html();
    let document = parsed(&html);
    let images: Vec<Node> =
        document.descendants().filter(|n| n.attribute("role") == Some("img")).collect();
    assert_eq!(images.len(), 9);
    for image in images {
        assert!(image.attribute("aria-label").is_some_and(|words| words.len() > 40));
        let classes: Vec<_> = image.children().filter_map(|svg| svg.attribute("class")).collect();
        assert_eq!(classes, ["wide", "narrow"]);
    }
}

#[test]
fn the_same_figures_give_the_same_bytes() {
    assert!(figures::page().html() == figures::page().html());
}

#[test]
fn names_from_others_files_stay_text() {
    let hostile = "</title><script>alert(\"1\")</script> & 'x' <svg onload=a> ]]> --> &amp;";
    let html = page_of(&charts(&[1.0, 2.0], hostile), hostile);
    let document = parsed(&html);
    assert!(document.descendants().all(|node| node.tag_name().name() != "script"));
    let told = document.descendants().filter(|node| node.text() == Some(hostile)).count();
    assert!(told >= 12, "{told}");
    let figure = document.descendants().find(|node| node.attribute("role") == Some("img"));
    let words = figure.and_then(|node| node.attribute("aria-label")).expect("a figure's words");
    assert!(words.starts_with(hostile));
}

#[test]
fn characters_that_no_page_may_have_are_replaced() {
    let html = page_of(&[], "a\u{0}b\u{1b}[31mc\u{202e}d\u{ffff}e\r");
    let title = parsed(&html);
    let title = title
        .descendants()
        .find(|node| node.has_tag_name(("http://www.w3.org/1999/xhtml", "title")));
    assert_eq!(
        title.and_then(|title| title.text()),
        Some("a\u{fffd}b\u{fffd}[31mc\u{fffd}d\u{fffd}e\u{fffd}")
    );
}

#[test]
fn a_per_cent_sign_stays_on_the_line_of_its_number() {
    let mut page = Page::new("t");
    page.lead("B is faster by 12 %.", "");
    page.section("s").preformatted("12 %");
    let html = page.html();
    assert!(html.contains("by 12\u{a0}%.") && html.contains("12 %</pre>"));
}

#[test]
fn long_names_are_cut_in_charts_and_whole_elsewhere() {
    let long = "x".repeat(5_000);
    let html = page_of(&charts(&[1.0, 2.0, 3.0], &long), &long);
    assert_drawn_inside(&html);
    let document = parsed(&html);
    let texts = document.descendants().filter(|node| node.tag_name().name() == "text");
    assert!(texts.filter_map(|text| text.text()).all(|text| text.chars().count() < 120));
    assert!(document.descendants().any(|node| node.text() == Some(&long)));
}

#[test]
fn charts_without_figures_or_with_one_can_be_drawn() {
    for chart in charts(&[], "none") {
        let html = page_of(&[chart], "none");
        assert_drawn_inside(&html);
    }
    let html = page_of(&charts(&[], "none"), "none");
    assert_eq!(html.matches(">no figures<").count(), 2 * 6);
    assert_drawn_inside(&page_of(&charts(&[7.0], "one"), "one"));
}

#[test]
fn any_figures_that_are_finite_can_be_drawn() {
    let figures: [&[f64]; 8] = [
        &[0.0, 0.0],
        &[-5.0, -3.0, 8.0],
        &[4e14, -4e14],
        &[1e-300, 2e-300],
        &[5e-324],
        &[1e14, 1e14 + 1.0],
        &[-1e-9, 1e9],
        &[123_456.0, 123_457.5, 123_456.1],
    ];
    for figures in figures {
        assert_drawn_inside(&page_of(&charts(figures, "n"), "n"));
    }
}

#[test]
fn a_logarithmic_axis_shows_any_range() {
    let ranges: [&[f64]; 5] =
        [&[1.0], &[5e-324, 9e14], &[3.1, 3.2], &[0.001, 1e6], &[1e-300, 2e-300]];
    for figures in ranges {
        let axis = Axis::new("n", "us").logarithmic();
        let points: Vec<Point> =
            figures.iter().map(|&figure| Point { x: figure, y: figure }).collect();
        let chart = Curve { x: axis.clone(), y: axis, points_name: "n".into(), points, fit: None };
        assert_drawn_inside(&page_of(&[Chart::Curve(chart)], "n"));
    }
}

#[test]
fn figures_that_cannot_be_drawn_are_refused_by_name() {
    for (figure, said) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (1e16, "10000000000000000")] {
        let points = vec![Point { x: 1.0, y: figure }];
        let (x, y) = (Axis::new("time", "s"), Axis::new("commit", "ms"));
        let chart = Chart::Curve(Curve { x, y, points_name: "p".into(), points, fit: None });
        let drawn = std::panic::catch_unwind(|| Figure::new("t", "", &chart));
        let words = drawn.err().expect("it is refused");
        let words = words.downcast_ref::<String>().expect("a message");
        assert!(words.contains(said) && words.contains("commit, ms"), "{words}");
    }
}

#[test]
#[should_panic(expected = "an interval from 2 to 1 around 1.5")]
fn an_interval_from_high_to_low_is_refused() {
    Estimate::new(1.5, 2.0, 1.0);
}

#[test]
#[should_panic(expected = "a row of 1 cells in a table of 2")]
fn a_row_that_is_too_short_is_refused() {
    Table::new("", ["a", "b"]).row(["1"]);
}

/// On a difference the page is printed: look at it in a browser, and if it is better, put it into
/// the file.
#[test]
fn a_small_page() {
    let mut page = Page::new("A small page");
    page.lead("B is faster.", "By 3 %.");
    let section = page.section("Evidence");
    section.paragraph("Ten pairs.").preformatted("forebay lab run").definitions([("seed", "7")]);
    let mut table = Table::new("Times", ["event", "A", "B"]);
    table.row(["CPU", "10", "9"]);
    table.total(["elapsed", "10", "9"]);
    section.table(table);
    let row = IntervalRow {
        name: "all pairs".into(),
        estimate: Estimate::new(3.0, 2.5, 3.5),
        text: None,
    };
    let chart = Chart::Intervals(Intervals {
        axis: Axis::new("B against A", "%").signed(),
        rows: vec![row],
        indifference: Some(2.0),
    });
    section.figure(Figure::new("Difference", "It matters.", &chart));
    page.foot("Reproduce this").preformatted("forebay lab run --seed 7");
    let html = page.html();
    let (head, style) = html.split_once("<style>").expect("a style");
    let (_, body) = style.split_once("</style>").expect("the style's end");
    let html = format!("{head}{body}\n");
    assert!(html == include_str!("golden/small.html"), "the page has changed:\n<<<<\n{html}>>>>");
}
