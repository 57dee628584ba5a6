//! Converts the gateway's metrics for the collector. They are read from the text of `/metrics`,
//! so that both show the same values.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::common::v1::KeyValue as Attribute;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum,
};
use opentelemetry_proto::transform::common::tonic::Attributes;

use metrics::Metrics;

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// Returns the present values, which are counted since `began`.
pub(super) fn read_metrics(metrics: &Metrics, began: SystemTime) -> Vec<Metric> {
    // The gateway's metrics can always be encoded.
    let text = metrics.encode().unwrap_or_default();
    parse_exposition(&text, nanoseconds(began), nanoseconds(clock::now()))
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads the text of OpenMetrics 1.0, as the crate `prometheus-client` writes it: all lines of a
/// metric follow one another, and the buckets of a histogram have the order of their bounds.
fn parse_exposition(text: &str, began: u64, now: u64) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, description) = rest.split_once(' ').unwrap_or((rest, ""));
            let unit = match name {
                name if name.ends_with("_seconds") => "s",
                name if name.ends_with("_bytes") => "By",
                _ => "",
            };
            metrics.push(Metric {
                name: name.to_owned(),
                description: description.to_owned(),
                unit: unit.to_owned(),
                ..Metric::default()
            });
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            if let Some(metric) = metrics.last_mut() {
                metric.data = data(rest.rsplit(' ').next().unwrap_or_default());
            }
        } else if let (Some(metric), Some(sample)) = (metrics.last_mut(), Sample::parse(line)) {
            add(metric, sample, began, now);
        }
    }
    metrics.retain(|metric| !is_empty(metric));
    metrics
}

fn data(kind: &str) -> Option<Data> {
    match kind {
        "counter" => Some(Data::Sum(Sum { aggregation_temporality: CUMULATIVE, is_monotonic: true, ..Sum::default() })),
        "gauge" => Some(Data::Gauge(Gauge::default())),
        "histogram" => Some(Data::Histogram(Histogram { aggregation_temporality: CUMULATIVE, ..Histogram::default() })),
        _ => None,
    }
}

fn is_empty(metric: &Metric) -> bool {
    match &metric.data {
        Some(Data::Sum(sum)) => sum.data_points.is_empty(),
        Some(Data::Gauge(gauge)) => gauge.data_points.is_empty(),
        Some(Data::Histogram(histogram)) => histogram.data_points.is_empty(),
        _ => true,
    }
}

/// A line with a value.
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
}

impl<'a> Sample<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (series, value) = line.rsplit_once(' ')?;
        let value = value.parse().ok()?;
        let Some((name, rest)) = series.split_once('{') else {
            return Some(Self { name: series, labels: Vec::new(), value });
        };
        Some(Self { name, labels: labels(rest)?, value })
    }
}

/// The labels behind an opening brace.
fn labels(mut rest: &str) -> Option<Vec<(&str, String)>> {
    let mut labels = Vec::new();
    while !rest.starts_with('}') {
        let (name, quoted) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        let end = loop {
            match characters.next()? {
                (end, '"') => break end,
                (_, '\\') => match characters.next()?.1 {
                    'n' => value.push('\n'),
                    escaped => value.push(escaped),
                },
                (_, character) => value.push(character),
            }
        };
        labels.push((name, value));
        rest = &quoted[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    Some(labels)
}

fn add(metric: &mut Metric, sample: Sample<'_>, began: u64, now: u64) {
    let Sample { name, mut labels, value } = sample;
    let bound = labels.iter().position(|(name, _)| *name == "le").map(|at| labels.remove(at).1);
    let attributes = attributes(labels);
    let number = |attributes| NumberDataPoint {
        attributes,
        start_time_unix_nano: began,
        time_unix_nano: now,
        value: Some(Value::AsDouble(value)),
        ..NumberDataPoint::default()
    };
    match &mut metric.data {
        Some(Data::Sum(sum)) => sum.data_points.push(number(attributes)),
        Some(Data::Gauge(gauge)) => gauge.data_points.push(number(attributes)),
        Some(Data::Histogram(histogram)) => {
            let points = &mut histogram.data_points;
            if points.last().is_none_or(|last| last.attributes != attributes) {
                points.push(HistogramDataPoint {
                    attributes,
                    start_time_unix_nano: began,
                    time_unix_nano: now,
                    ..HistogramDataPoint::default()
                });
            }
            let Some(point) = points.last_mut() else { return };
            match (name.rsplit('_').next(), bound) {
                (Some("sum"), _) => point.sum = Some(value),
                (Some("count"), _) => point.count = value as u64,
                (Some("bucket"), Some(bound)) => {
                    // Prometheus buckets are cumulative.
                    let smaller: u64 = point.bucket_counts.iter().sum();
                    point.bucket_counts.push((value as u64).saturating_sub(smaller));
                    point.explicit_bounds.extend(bound.parse().ok().filter(|bound: &f64| bound.is_finite()));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn attributes(labels: Vec<(&str, String)>) -> Vec<Attribute> {
    Attributes::from(labels.into_iter().map(|(name, value)| KeyValue::new(name.to_owned(), value))).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::RequestLabels;

    fn metric<'a>(metrics: &'a [Metric], name: &str) -> &'a Metric {
        metrics.iter().find(|metric| metric.name == name).unwrap()
    }

    #[test]
    fn a_counter_is_a_sum_with_its_labels_as_they_were_before_they_were_quoted() {
        let metrics = Metrics::default();
        let odd = "a \"quoted\", {odd}\\ name\nin two lines";
        let labels = RequestLabels { connector: "demo".to_owned(), operation: odd.to_owned(), status: 200 };
        let requests = metrics.requests.get_or_create_owned(&labels);
        for _ in 0..3 {
            requests.inc();
        }
        let all = read_metrics(&metrics, UNIX_EPOCH);
        let Some(Data::Sum(sum)) = &metric(&all, "gateway_requests").data else { panic!("{all:?}") };
        assert!(sum.is_monotonic);
        let [point] = &sum.data_points[..] else { panic!("{sum:?}") };
        assert_eq!(point.value, Some(Value::AsDouble(3.0)));
        let expected = [("connector", "demo"), ("operation", odd), ("status", "200")];
        assert_eq!(point.attributes, attributes(expected.map(|(name, value)| (name, value.to_owned())).to_vec()));
    }

    #[test]
    fn a_histogram_has_the_count_of_each_bucket_without_the_smaller_ones() {
        let metrics = Metrics::default();
        let seconds = &metrics.operation("demo", "run").seconds;
        for time in [0.000_02, 0.000_03, 0.000_04, 3600.0] {
            seconds.observe(time);
        }
        let all = read_metrics(&metrics, UNIX_EPOCH);
        let metric = metric(&all, "gateway_request_seconds");
        assert_eq!(metric.unit, "s");
        let Some(Data::Histogram(histogram)) = &metric.data else { panic!("{metric:?}") };
        let [point] = &histogram.data_points[..] else { panic!("{histogram:?}") };
        assert_eq!((point.count, point.bucket_counts.iter().sum()), (4, 4));
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        assert_eq!((&point.bucket_counts[..2], point.bucket_counts.last()), (&[1, 2][..], Some(&1)));
        assert!((point.sum.unwrap() - 3_600.000_09).abs() < 0.000_1);
    }

    #[test]
    fn a_gauge_is_a_gauge_and_a_metric_without_values_is_left_out() {
        let metrics = Metrics::default();
        metrics.connectors.set(7);
        let all = read_metrics(&metrics, UNIX_EPOCH);
        let Some(Data::Gauge(gauge)) = &metric(&all, "gateway_connectors").data else { panic!("{all:?}") };
        assert_eq!(gauge.data_points[0].value, Some(Value::AsDouble(7.0)));
        assert!(!all.iter().any(|metric| metric.name == "gateway_refreshes"));
    }
}
