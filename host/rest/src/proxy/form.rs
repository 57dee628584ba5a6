//! A body for a service that takes the credential in a form. The gateway reads its fields, and adds
//! one more.

use body::media_type::essence;
use contract_rules::limit::PARTS;
use egress::Body;
use memory::{MemoryBudget, Reservation};
use problem::{Problem, invalid, no_memory};
use url::form_urlencoded;

const FORM: &str = "application/x-www-form-urlencoded";

/// The most fields of a form, as many as a form with files has parts. A short field takes many
/// times its size.
const MAX_FIELDS: usize = PARTS;

/// The memory of a form, as a multiple of its size: its fields, and three times its size when they
/// are encoded again.
const GROWTH: usize = 4;

/// The fields of a form, and the memory that they take until the response arrives.
///
/// # Errors
/// 422 for any other body, and for a form with too many fields. 503 if there is no memory for it.
pub(super) fn read(
    content_type: Option<&str>,
    bytes: &[u8],
    memory: &MemoryBudget,
) -> Result<(Body, Reservation), Problem> {
    let mut held = memory.part_before_admission();
    match content_type {
        None if bytes.is_empty() => Ok((Body::Empty, held)),
        Some(given) if essence(given).eq_ignore_ascii_case(FORM) => {
            // The fields are counted before any is kept.
            if form_urlencoded::parse(bytes).nth(MAX_FIELDS).is_some() {
                return Err(invalid("", format!("A form for this service must have at most {MAX_FIELDS} fields.")));
            }
            held.grow_to(bytes.len().saturating_mul(GROWTH)).map_err(no_memory)?;
            Ok((Body::Form(form_urlencoded::parse(bytes).into_owned().collect()), held))
        }
        _ => Err(invalid(
            "",
            format!("This service takes the credential in a form, so the body must be of type {FORM}."),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_a_limited_number_of_fields_and_holds_its_memory() {
        let memory = MemoryBudget::new(1 << 20);
        let parsed = |text: &str| read(Some(FORM), text.as_bytes(), &memory);
        let fields = |count: usize| vec!["a"; count].join("&");
        assert!(parsed(&fields(MAX_FIELDS + 1)).is_err());
        assert!(parsed(&"a&".repeat(5_000_000)).is_err());
        assert_eq!(memory.held(), 0);
        let Ok((Body::Form(pairs), _)) = parsed(&format!("&&{}&&", fields(MAX_FIELDS))) else {
            panic!("it is a form");
        };
        assert_eq!(pairs.len(), MAX_FIELDS);
        let value = "x".repeat(100_000);
        let kept = parsed(&format!("a={value}"));
        assert!(kept.is_ok() && memory.held() >= 400_000, "{}", memory.held());
        assert!(parsed(&format!("a={value}")).is_err(), "three quarters of the memory have no room for two");
        drop(kept);
        assert_eq!(memory.held(), 0);
    }
}
