//! The page: a title, a verdict, sections, and how to reproduce it; one file that needs no other.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::figure::Figure;
use crate::table::Table;

const STYLE: &str = include_str!("page.css");
/// Pages with fewer sections have no contents.
const CONTENTS_FROM: usize = 4;

/// A page, as it is put together.
pub struct Page {
    title: String,
    lead: Option<Lead>,
    answers: Vec<Answer>,
    facts: Vec<Definition>,
    sections: Vec<Section>,
    foot: Option<Section>,
}

struct Answer {
    question: String,
    answer: String,
    detail: String,
}

struct Lead {
    verdict: String,
    detail: String,
}

/// A heading and what stands below it.
pub struct Section {
    heading: String,
    blocks: Vec<Block>,
}

enum Block {
    Paragraph(String),
    Preformatted(String),
    Warning(String),
    Definitions(Vec<Definition>),
    Folded(String, Vec<Definition>),
    Table(Table),
    Figure(Figure),
}

struct Definition {
    term: String,
    meaning: String,
}

impl Page {
    /// A page without anything but its title.
    pub fn new(title: impl Into<String>) -> Page {
        Page {
            title: title.into(),
            lead: None,
            answers: Vec::new(),
            facts: Vec::new(),
            sections: Vec::new(),
            foot: None,
        }
    }

    /// Sets the verdict, which comes first and large, and the sentences below it (may be empty).
    pub fn lead(&mut self, verdict: impl Into<String>, detail: impl Into<String>) {
        self.lead = Some(Lead { verdict: verdict.into(), detail: detail.into() });
    }

    /// Adds a question with its answer, and the sentences below it (may be empty). Answers come
    /// first and large, beside each other.
    pub fn answer(
        &mut self,
        question: impl Into<String>,
        answer: impl Into<String>,
        detail: impl Into<String>,
    ) {
        let (question, answer, detail) = (question.into(), answer.into(), detail.into());
        self.answers.push(Answer { question, answer, detail });
    }

    /// Sets the list of terms and what they are that stands below the verdict and the answers.
    pub fn facts<T: Into<String>, M: Into<String>>(
        &mut self,
        list: impl IntoIterator<Item = (T, M)>,
    ) {
        self.facts = definitions(list);
    }

    /// Adds a section, and returns it to be filled.
    pub fn section(&mut self, heading: impl Into<String>) -> &mut Section {
        self.sections.push(Section::new(heading));
        self.sections.last_mut().expect("a section was just added")
    }

    /// Sets the foot, which says how to reproduce the page, and returns it to be filled.
    pub fn foot(&mut self, heading: impl Into<String>) -> &mut Section {
        self.foot.insert(Section::new(heading))
    }

    /// The whole file: HTML in UTF-8, which is well-formed XML too. The same page gives the same
    /// bytes.
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html xmlns="http://www.w3.org/1999/xhtml" lang="en" {
                head {
                    (PreEscaped(r#"<meta charset="utf-8"/>"#))
                    (PreEscaped(r#"<meta name="viewport" content="width=device-width"/>"#))
                    (PreEscaped(r#"<meta name="color-scheme" content="light dark"/>"#))
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body { main { (self.body()) } }
            }
        };
        readable(&page.into_string())
    }

    fn body(&self) -> Markup {
        html! {
            header {
                h1 { (self.title) }
                @if let Some(lead) = &self.lead {
                    p.verdict { (prose(&lead.verdict)) }
                    @if !lead.detail.is_empty() { p.detail { (prose(&lead.detail)) } }
                }
                @if !self.answers.is_empty() {
                    dl.answers {
                        @for answer in &self.answers {
                            div {
                                dt { (answer.question) }
                                dd { (prose(&answer.answer)) }
                                @if !answer.detail.is_empty() {
                                    dd { (prose(&answer.detail)) }
                                }
                            }
                        }
                    }
                }
                @if !self.facts.is_empty() { (definitions_markup(&self.facts)) }
            }
            @if self.sections.len() >= CONTENTS_FROM {
                nav aria-label="Contents" {
                    ul {
                        @for (index, section) in self.sections.iter().enumerate() {
                            li { a href={ "#s" (index + 1) } { (section.heading) } }
                        }
                    }
                }
            }
            @for (index, section) in self.sections.iter().enumerate() {
                section id={ "s" (index + 1) } { (section.markup()) }
            }
            @if let Some(foot) = &self.foot { footer { (foot.markup()) } }
        }
    }
}

impl Section {
    fn new(heading: impl Into<String>) -> Section {
        Section { heading: heading.into(), blocks: Vec::new() }
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: impl Into<String>) -> &mut Section {
        self.add(Block::Paragraph(text.into()))
    }

    /// Adds text whose blanks and line ends are kept, such as a command.
    pub fn preformatted(&mut self, text: impl Into<String>) -> &mut Section {
        self.add(Block::Preformatted(text.into()))
    }

    /// Adds a warning, which stands out.
    pub fn warning(&mut self, text: impl Into<String>) -> &mut Section {
        self.add(Block::Warning(text.into()))
    }

    /// Adds a list of terms and what they are, such as settings and their values.
    pub fn definitions<T: Into<String>, M: Into<String>>(
        &mut self,
        list: impl IntoIterator<Item = (T, M)>,
    ) -> &mut Section {
        self.add(Block::Definitions(definitions(list)))
    }

    /// Adds a long list of terms and what they are, small, which a reader unfolds by `summary`.
    /// Print shows it.
    pub fn folded<T: Into<String>, M: Into<String>>(
        &mut self,
        summary: impl Into<String>,
        list: impl IntoIterator<Item = (T, M)>,
    ) -> &mut Section {
        self.add(Block::Folded(summary.into(), definitions(list)))
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Section {
        self.add(Block::Table(table))
    }

    /// Adds a figure.
    pub fn figure(&mut self, figure: Figure) -> &mut Section {
        self.add(Block::Figure(figure))
    }

    fn add(&mut self, block: Block) -> &mut Section {
        self.blocks.push(block);
        self
    }

    fn markup(&self) -> Markup {
        html! {
            h2 { (self.heading) }
            @for block in &self.blocks { (block.markup()) "\n" }
        }
    }
}

impl Block {
    fn markup(&self) -> Markup {
        match self {
            Block::Paragraph(text) => html! { p { (prose(text)) } },
            Block::Preformatted(text) => html! { pre tabindex="0" { (text) } },
            Block::Warning(text) => html! { p.warning { (prose(text)) } },
            Block::Definitions(list) => definitions_markup(list),
            Block::Folded(summary, list) => html! {
                details { summary { (summary) } (definitions_markup(list)) }
            },
            Block::Table(table) => table.markup(),
            Block::Figure(figure) => figure.markup(),
        }
    }
}

fn definitions<T: Into<String>, M: Into<String>>(
    list: impl IntoIterator<Item = (T, M)>,
) -> Vec<Definition> {
    let list = list.into_iter();
    list.map(|(term, meaning)| Definition { term: term.into(), meaning: meaning.into() }).collect()
}

fn definitions_markup(list: &[Definition]) -> Markup {
    html! {
        dl {
            @for definition in list {
                div { dt { (definition.term) } dd { (prose(&definition.meaning)) } }
            }
        }
    }
}

/// Keeps per cent signs on the line of their number.
pub(crate) fn prose(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

/// Replaces the characters that XML forbids, and those that turn the direction of the text around:
/// names come from others' files.
fn readable(page: &str) -> String {
    let replaced = |letter: char| match letter {
        '\n' | '\t' => letter,
        '\u{FFFE}' | '\u{FFFF}' => char::REPLACEMENT_CHARACTER,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        _ if letter.is_control() => char::REPLACEMENT_CHARACTER,
        _ => letter,
    };
    page.chars().map(replaced).collect()
}
