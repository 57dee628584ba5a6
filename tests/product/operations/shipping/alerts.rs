//! Prometheus takes the alert rules.

use support::{process, programs};

use crate::operations::folder;

#[test]
#[ignore = "make test-shipping"]
fn promtool_takes_the_rules_and_each_alert_fires_in_its_situation() {
    for arguments in [["check", "rules", "gateway.rules.yaml"], ["test", "rules", "gateway.rules.test.yaml"]] {
        let finished = process::run(programs::debian("shipping", "promtool").args(arguments).current_dir(folder()));
        assert_eq!(finished.code, Some(0), "{arguments:?}\n{}{}", finished.stdout, finished.stderr);
    }
}
