//! The element names that mean something to the scanner.

/// An element's name. All names nobody asks about are `Unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    A,
    Area,
    Audio,
    Base,
    /// Starts a new line of text and ends foreign content, and nothing else.
    Block,
    /// Ends foreign content, and nothing else.
    Breakout,
    Desc,
    Embed,
    ForeignObject,
    Frame,
    Html,
    Iframe,
    /// `image`: an `img` in HTML, an element of its own in SVG.
    Image,
    Img,
    Input,
    /// Starts a new line of text, and nothing else.
    Line,
    Link,
    Math,
    Meta,
    Mi,
    Mn,
    Mo,
    Ms,
    Mtext,
    NoEmbed,
    NoFrames,
    Object,
    PlainText,
    Script,
    Source,
    Style,
    Svg,
    Template,
    TextArea,
    Title,
    Track,
    Unknown,
    Video,
    Xmp,
}

/// Longer names are unknown.
const LONGEST: usize = 13;

impl Name {
    pub(crate) fn of(raw: &[u8]) -> Name {
        if raw.len() > LONGEST {
            return Name::Unknown;
        }
        let mut lower = [0; LONGEST];
        for (to, from) in lower.iter_mut().zip(raw) {
            *to = from.to_ascii_lowercase();
        }
        match &lower[..raw.len()] {
            b"a" => Name::A,
            b"area" => Name::Area,
            b"audio" => Name::Audio,
            b"base" => Name::Base,
            b"desc" => Name::Desc,
            b"embed" => Name::Embed,
            b"foreignobject" => Name::ForeignObject,
            b"frame" => Name::Frame,
            b"html" => Name::Html,
            b"iframe" => Name::Iframe,
            b"image" => Name::Image,
            b"img" => Name::Img,
            b"input" => Name::Input,
            b"link" => Name::Link,
            b"math" => Name::Math,
            b"meta" => Name::Meta,
            b"mi" => Name::Mi,
            b"mn" => Name::Mn,
            b"mo" => Name::Mo,
            b"ms" => Name::Ms,
            b"mtext" => Name::Mtext,
            b"noembed" => Name::NoEmbed,
            b"noframes" => Name::NoFrames,
            b"object" => Name::Object,
            b"plaintext" => Name::PlainText,
            b"script" => Name::Script,
            b"source" => Name::Source,
            b"style" => Name::Style,
            b"svg" => Name::Svg,
            b"template" => Name::Template,
            b"textarea" => Name::TextArea,
            b"title" => Name::Title,
            b"track" => Name::Track,
            b"video" => Name::Video,
            b"xmp" => Name::Xmp,
            b"p" | b"div" | b"li" | b"br" | b"ul" | b"ol" | b"dl" | b"dt" | b"dd" | b"h1"
            | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"table" | b"blockquote" | b"body"
            | b"center" | b"head" | b"hr" | b"listing" | b"menu" | b"pre" => Name::Block,
            b"tr" | b"td" | b"th" | b"tbody" | b"thead" | b"tfoot" | b"caption" | b"section"
            | b"article" | b"header" | b"footer" | b"nav" | b"aside" | b"main" | b"form"
            | b"fieldset" | b"legend" | b"option" | b"optgroup" | b"select" | b"button"
            | b"figure" | b"figcaption" | b"address" | b"details" | b"summary" | b"dialog"
            | b"hgroup" | b"noscript" | b"frameset" | b"search" => Name::Line,
            b"b" | b"big" | b"code" | b"em" | b"i" | b"nobr" | b"ruby" | b"s" | b"small"
            | b"span" | b"strong" | b"strike" | b"sub" | b"sup" | b"tt" | b"u" | b"var" => {
                Name::Breakout
            }
            _ => Name::Unknown,
        }
    }

    /// Whether text before and after a tag of this name belongs to different
    /// lines.
    pub(crate) fn breaks_line(self) -> bool {
        matches!(self, Name::Block | Name::Line)
    }

    /// Whether a start tag of this name cannot be inside SVG or MathML and so
    /// ends it.
    pub(crate) fn breaks_out(self) -> bool {
        matches!(
            self,
            Name::Block | Name::Breakout | Name::Embed | Name::Meta | Name::Img
        )
    }

    /// Whether the content of this element is HTML again inside SVG.
    pub(crate) fn holds_html_in_svg(self) -> bool {
        matches!(self, Name::ForeignObject | Name::Desc | Name::Title)
    }

    /// Whether the content of this element is HTML again inside MathML.
    pub(crate) fn holds_html_in_math(self) -> bool {
        matches!(
            self,
            Name::Mi | Name::Mn | Name::Mo | Name::Ms | Name::Mtext
        )
    }

    /// The end tag that ends this element's content, if the content is not
    /// markup.
    pub(crate) fn raw_end(self) -> Option<&'static [u8]> {
        Some(match self {
            Name::Iframe => b"iframe",
            Name::NoEmbed => b"noembed",
            Name::NoFrames => b"noframes",
            Name::PlainText => b"",
            Name::Script => b"script",
            Name::Style => b"style",
            Name::TextArea => b"textarea",
            Name::Title => b"title",
            Name::Xmp => b"xmp",
            _ => return None,
        })
    }
}
