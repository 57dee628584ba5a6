//! Documents for shaping. They are the same in every run.

use serde_json::Value;

use crate::settings::Outcome;

/// A list of calendar-like events with nested attendees; 2000 of them are about 1 MB.
pub(crate) fn events(count: usize) -> Vec<u8> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let events: Vec<String> = (0..count)
        .map(|index| {
            let attendees: Vec<String> = (0..random.below(4))
                .map(|_| {
                    let answer = ["accepted", "declined", "needsAction", "tentative"][random.below(4)];
                    format!(r#"{{"email":"{}@example.com","responseStatus":"{answer}"}}"#, random.word(9))
                })
                .collect();
            let status = ["confirmed", "tentative", "cancelled"][random.below(3)];
            let (day, hour, minute) = (1 + random.below(28), random.below(23), random.below(60));
            format!(
                concat!(
                    r#"{{"kind":"calendar#event","id":"{id}","status":"{status}","#,
                    r#""htmlLink":"https://calendar.example.com/event?eid={id}","#,
                    r#""summary":"{summary} – Besprechung","sequence":{sequence},"#,
                    r#""organizer":{{"email":"{organizer}@example.com","self":{is_self}}},"#,
                    r#""start":{{"dateTime":"2026-03-{day:02}T{hour:02}:{minute:02}:00Z"}},"#,
                    r#""end":{{"dateTime":"2026-03-{day:02}T{end:02}:{minute:02}:00Z"}},"#,
                    r#""attendees":[{attendees}]}}"#,
                ),
                id = random.word(20),
                status = status,
                summary = random.word(16),
                sequence = index % 7,
                organizer = random.word(7),
                is_self = index % 2 == 0,
                day = day,
                hour = hour,
                minute = minute,
                end = hour + 1,
                attendees = attendees.join(","),
            )
        })
        .collect();
    format!(r#"{{"kind":"calendar#events","timeZone":"UTC","items":[{}]}}"#, events.join(",")).into_bytes()
}

/// The document with indentation, as some providers send it.
pub(crate) fn indented(document: &[u8]) -> Outcome<Vec<u8>> {
    let value: Value = serde_json::from_slice(document)?;
    Ok(serde_json::to_vec_pretty(&value)?)
}

/// Some small fields next to a megabyte of HTML, escaped for JSON.
pub(crate) fn large_text() -> Vec<u8> {
    let mut random = Random(42);
    let paragraphs: Vec<String> = (0..8000)
        .map(|_| {
            format!(
                r#"<p class=\"{}\">{} {} {} {} {}</p>\n"#,
                random.word(6),
                random.word(9),
                random.word(19),
                random.word(24),
                random.word(30),
                random.word(20)
            )
        })
        .collect();
    format!(
        r#"{{"id":"m1","subject":"hello","body":{{"contentType":"html","content":"{}"}},"size":81234}}"#,
        paragraphs.concat()
    )
    .into_bytes()
}

/// Chains of nested objects and lists, of which a path selects the innermost value.
pub(crate) fn nested(count: usize, depth: usize) -> Vec<u8> {
    let mut random = Random(7);
    let chains: Vec<String> = (0..count)
        .map(|_| {
            let mut chain = format!(r#"{{"name":"{}","size":{}}}"#, random.word(8), random.below(100_000));
            for _ in 0..depth {
                chain = format!(r#"{{"id":"{}","child":[{chain}],"revision":{}}}"#, random.word(8), random.below(1000));
            }
            chain
        })
        .collect();
    format!(r#"{{"tree":[{}]}}"#, chains.join(",")).into_bytes()
}

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn word(&mut self, length: usize) -> String {
        (0..length).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }
}
