//! The `WHERE` clause of a list with filters.

use crate::value::Value;

/// The conditions of a list, and the parameters of its statement.
pub struct Conditions {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    /// No conditions. The statement has the parameter `$1`, which is the largest number of rows.
    pub fn with_limit(limit: u32) -> Self {
        Self { conditions: Vec::new(), values: vec![limit.into()] }
    }

    /// Adds a condition without parameters, unless it is empty.
    pub fn add(&mut self, condition: &str) {
        if !condition.is_empty() {
            self.conditions.push(condition.to_owned());
        }
    }

    /// Adds a comparison, such as `at >=`, with a value, if there is one.
    pub fn compare(&mut self, comparison: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            let parameter = self.parameter(value.into());
            self.conditions.push(format!("{comparison} {parameter}"));
        }
    }

    /// Adds equality of a column with a value, if there is one.
    pub fn equal(&mut self, column: &str, value: Option<impl Into<Value>>) {
        self.compare(&format!("{column} ="), value);
    }

    /// Adds a condition with a value, if there is one. Each `?` in the condition stands for the value.
    pub fn with(&mut self, condition: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            let parameter = self.parameter(value.into());
            self.conditions.push(condition.replace('?', &parameter));
        }
    }

    /// Keeps the rows whose column contains this text, which is not empty. Upper and lower case differ
    /// on both databases, other than with `LIKE`.
    pub fn contains(&mut self, column: &str, part: &str) {
        let parameter = self.parameter(part.into());
        self.conditions.push(format!("replace({column}, {parameter}, '') <> {column}"));
    }

    /// Keeps the rows after a place in the descending order of two columns, if there is a place.
    pub fn after(&mut self, columns: &str, place: Option<(impl Into<Value>, impl Into<Value>)>) {
        if let Some((first, second)) = place {
            let (first, second) = (self.parameter(first.into()), self.parameter(second.into()));
            self.conditions.push(format!("({columns}) < ({first}, {second})"));
        }
    }

    /// The clause, and the parameters. The clause is empty if there are no conditions.
    pub fn finish(self) -> (String, Vec<Value>) {
        let clause = match self.conditions.is_empty() {
            true => String::new(),
            false => format!("WHERE {}", self.conditions.join(" AND ")),
        };
        (clause, self.values)
    }

    /// Adds a parameter, and returns its name.
    fn parameter(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Site, on_every_database};

    on_every_database!(a_part_of_a_text_is_found_in_the_case_in_which_it_is_written);

    async fn a_part_of_a_text_is_found_in_the_case_in_which_it_is_written(site: Site) {
        site.execute("INSERT INTO notes VALUES ('team:Blue', 1), ('team:blue', 2), ('100%_a', 3), ('100 a', 4)").await;
        let found = async |part: &str| {
            let mut conditions = Conditions::with_limit(10);
            conditions.contains("id", part);
            let (clause, values) = conditions.finish();
            let list = format!("SELECT number FROM notes {clause} ORDER BY number LIMIT $1");
            site.database.read(move |connection| connection.all::<i64>(&list, &values)).await.unwrap()
        };
        assert_eq!(found(":blue").await, [2]);
        assert_eq!(found("team:").await, [1, 2]);
        assert_eq!(found("%_").await, [3], "no character stands for others");
        assert!(found("red").await.is_empty());
    }
}
