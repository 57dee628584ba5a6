//! Media types as headers give them (RFC 9110, section 8.3.1).

/// A media type without its parameters. Upper and lower case stay as they are.
pub fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

/// Returns `true` if a media type without parameters is JSON: by its name, or by its structured
/// suffix (RFC 6839).
pub fn is_json(essence: &str) -> bool {
    let suffix = essence.len().checked_sub(5).and_then(|start| essence.get(start..));
    ["application/json", "text/json"].iter().any(|name| essence.eq_ignore_ascii_case(name))
        || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("+json"))
}

/// Returns `true` if a parameter is the weight 0: the client does not accept the value that has it
/// (RFC 9110, section 12.4.2).
pub fn is_zero_weight(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, weight)| {
        name.eq_ignore_ascii_case("q") && matches!(weight, "0" | "0." | "0.0" | "0.00" | "0.000")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_left_out() {
        assert_eq!(essence("application/JSON ; charset=utf-8"), "application/JSON");
        assert_eq!(essence(""), "");
    }

    #[test]
    fn a_weight_of_zero_is_recognized_in_every_form() {
        for zero in ["q=0", "q=0.", "q=0.0", "q=0.000", "Q=0"] {
            assert!(is_zero_weight(zero), "{zero}");
        }
        for other in ["q=0.001", "q=1", "q=", "q", "", "level=0", "q=0.0000"] {
            assert!(!is_zero_weight(other), "{other}");
        }
    }

    #[test]
    fn json_is_recognized_by_name_or_suffix_in_any_case() {
        for json in ["application/json", "Application/JSON", "text/json", "application/vnd.example+json", "a/b+JSON"] {
            assert!(is_json(json), "{json}");
        }
        for other in ["text/html", "", "json", "application/jsonp", "é+jso"] {
            assert!(!is_json(other), "{other}");
        }
    }
}
