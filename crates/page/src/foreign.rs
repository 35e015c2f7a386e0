//! Where the document is inside SVG or MathML.
//!
//! There `style` and `title` are ordinary elements, a tag can close itself and
//! CDATA exists: a `<style/>` in a picture must not swallow the page. This
//! follows the tree construction's rules for foreign content as far as can be
//! done without a tree.

use crate::names::Name;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Svg,
    Math,
    /// HTML inside SVG or MathML, until this element ends.
    Html(Name),
}

/// Nesting beyond this is not followed.
const DEEPEST: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Foreign {
    open: Vec<Place>,
}

impl Foreign {
    pub(crate) fn inside(&self) -> bool {
        matches!(self.open.last(), Some(Place::Svg | Place::Math))
    }

    pub(crate) fn inside_svg(&self) -> bool {
        self.open.last() == Some(&Place::Svg)
    }

    /// A start tag. Returns whether the element is a foreign one.
    pub(crate) fn start(&mut self, name: Name, self_closing: bool) -> bool {
        if !self.inside() {
            match name {
                Name::Svg => self.push(Place::Svg, self_closing),
                Name::Math => self.push(Place::Math, self_closing),
                _ => return false,
            }
            return true;
        }
        if name.breaks_out() {
            self.break_out();
            return false;
        }
        match (self.inside_svg(), name) {
            (true, Name::Svg) => self.push(Place::Svg, self_closing),
            (false, Name::Math) => self.push(Place::Math, self_closing),
            (true, name) if name.holds_html_in_svg() => {
                self.push(Place::Html(name), self_closing);
            }
            (false, name) if name.holds_html_in_math() => {
                self.push(Place::Html(name), self_closing);
            }
            _ => {}
        }
        true
    }

    pub(crate) fn end(&mut self, name: Name) {
        let Some(innermost) = self.open.last() else {
            return;
        };
        let ended = match name {
            Name::Svg => Place::Svg,
            Name::Math => Place::Math,
            _ => Place::Html(name),
        };
        match innermost {
            Place::Html(_) if *innermost == ended => {
                self.open.pop();
            }
            Place::Html(_) => {}
            Place::Svg | Place::Math => {
                if let Some(at) = self.open.iter().rposition(|place| *place == ended) {
                    self.open.truncate(at);
                }
            }
        }
    }

    fn push(&mut self, place: Place, self_closing: bool) {
        if !self_closing && self.open.len() < DEEPEST {
            self.open.push(place);
        }
    }

    fn break_out(&mut self) {
        while self.inside() {
            self.open.pop();
        }
    }
}
