//! What stands inside of a tag.

use quick_xml::XmlVersion;
use quick_xml::events::BytesStart;

/// More attributes of one element are not looked at.
const MAX_ATTRIBUTES: usize = 64;

/// The namespace that an element declares for a prefix.
pub(super) fn declared_namespace(tag: &BytesStart<'_>, prefix: &str) -> Option<String> {
    match prefix {
        "" => attribute(tag, "xmlns"),
        prefix => attribute(tag, &format!("xmlns:{prefix}")),
    }
}

pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = tag.html_attributes();
    let found = attributes
        .with_checks(false)
        .take(MAX_ATTRIBUTES)
        .flatten()
        .find(|attribute| attribute.key.as_ref() == name)?;
    // A value with a bare ampersand is taken as it is written.
    let value = match found.normalized_value(XmlVersion::Implicit1_0) {
        Ok(value) => value.into_owned(),
        Err(_) => found.value.into_owned(),
    };
    Some(value)
}
