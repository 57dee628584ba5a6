//! The chart: the schemas of Kubernetes take what it renders, and the settings of its pods exist.

use std::process::Command;

use serde_json::{Value, json};
use support::{Gateway, Setup, module, process, programs, wait_for};

use super::place;

/// Values that every installation sets.
const REQUIRED: &str = "masterKey=a2V5,databaseUrlSecret=database";

/// The version of Kubernetes whose schemas are used.
const KUBERNETES: &str = "1.35";

fn helm(arguments: &[&str]) -> process::Finished {
    process::run(Command::new(module::root().join("target/helm/helm")).args(arguments))
}

/// The objects that the chart renders with these values.
fn rendered(values: &str) -> Vec<Value> {
    let chart = place("chart");
    let version = format!("{KUBERNETES}.0");
    let chart = chart.to_str().unwrap();
    let finished =
        helm(&["template", "one", chart, "--namespace", "gateways", "--kube-version", &version, "--set", values]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let check = format!(
        "import json, sys, yaml, kubernetes_validate\n\
         objects = [object for object in yaml.safe_load_all(sys.argv[1]) if object]\n\
         for object in objects:\n    kubernetes_validate.validate(object, '{KUBERNETES}', strict=True)\n\
         print(json.dumps(objects))"
    );
    let mut python = programs::python("shipping");
    python.args(["-c", &check, &finished.stdout]);
    let checked = process::run(&mut python);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    serde_json::from_str(&checked.stdout).unwrap()
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

fn kinds(objects: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds
}

#[test]
#[ignore = "make test-shipping"]
fn the_schemas_of_kubernetes_take_the_chart() {
    let chart = place("chart");
    let lint = helm(&["lint", "--strict", chart.to_str().unwrap(), "--set", REQUIRED]);
    assert_eq!(lint.code, Some(0), "{}{}", lint.stdout, lint.stderr);
    let fixed = rendered(REQUIRED);
    let all = [
        "ConfigMap",
        "Deployment",
        "HorizontalPodAutoscaler",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Secret",
        "Service",
        "Service",
    ];
    assert_eq!(
        kinds(&fixed),
        all.iter().copied().filter(|kind| *kind != "HorizontalPodAutoscaler").collect::<Vec<_>>()
    );
    assert_eq!(of_kind(&fixed, "Deployment")[0]["spec"]["replicas"], 3);
    let scaled = rendered(&format!("{REQUIRED},autoscaling.enabled=true"));
    assert_eq!(kinds(&scaled), all);
    assert!(of_kind(&scaled, "Deployment")[0]["spec"].get("replicas").is_none(), "the autoscaler sets the number");
    let metric = &of_kind(&scaled, "HorizontalPodAutoscaler")[0]["spec"]["metrics"][0];
    assert_eq!(metric["pods"]["metric"]["name"], "gateway_calls_per_second");
    let own = rendered("masterKeySecret=mine,databaseUrlSecret=database");
    assert!(of_kind(&own, "Secret").is_empty(), "the chart does not make a second key");
}

#[test]
#[ignore = "make test-shipping"]
fn a_chart_without_a_master_key_or_a_database_is_refused_with_the_name_of_the_value() {
    for (values, named) in [
        ("databaseUrlSecret=a", "masterKey"),
        ("masterKey=a", "databaseUrlSecret"),
        ("masterKey=a,masterKeySecret=b,databaseUrlSecret=c", "not both"),
    ] {
        let chart = place("chart");
        let finished = helm(&["template", "one", chart.to_str().unwrap(), "--set", values]);
        assert!(finished.code == Some(1) && finished.stderr.contains(named), "{values}: {}", finished.stderr);
    }
}

#[test]
#[ignore = "make test-shipping"]
fn the_pods_are_confined_and_have_time_to_drain() {
    let objects = rendered(REQUIRED);
    let pod = &of_kind(&objects, "Deployment")[0]["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    for container in pod["initContainers"].as_array().unwrap().iter().chain(pod["containers"].as_array().unwrap()) {
        let context = &container["securityContext"];
        assert_eq!(
            (&context["readOnlyRootFilesystem"], &context["allowPrivilegeEscalation"]),
            (&json!(true), &json!(false))
        );
        assert_eq!(context["capabilities"]["drop"], json!(["ALL"]));
    }
    let container = &pod["containers"][0];
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        assert!(container[probe]["httpGet"]["path"].is_string(), "{probe}");
    }
    let pause: u64 = container["lifecycle"]["preStop"]["exec"]["command"][1].as_str().unwrap().parse().unwrap();
    let drain: u64 = variable(container, "GATEWAY__DRAIN_S").parse().unwrap();
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(pause + drain < grace, "{pause} + {drain} < {grace}");
    // The write of a rotated key must fail, because the volume ends with the pod.
    let mounts = container["volumeMounts"].as_array().unwrap();
    assert!(mounts.iter().any(|mount| mount["name"] == "key" && mount["readOnly"] == true), "{mounts:?}");
    assert_eq!(of_kind(&objects, "PodDisruptionBudget")[0]["spec"]["maxUnavailable"], 1);
}

/// The value of an environment variable of a container.
fn variable(container: &Value, name: &str) -> String {
    let all = container["env"].as_array().unwrap();
    all.iter().find(|each| each["name"] == name).unwrap()["value"].as_str().unwrap().to_owned()
}

/// The gateway does not start with an unknown key. Operators reach it by the name of their Service.
#[test]
#[ignore = "make test-shipping"]
fn a_gateway_starts_with_the_settings_of_the_pods() {
    let objects = rendered(REQUIRED);
    let container = &of_kind(&objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0];
    let mut setup = Setup::new();
    for each in container["env"].as_array().unwrap() {
        let name = each["name"].as_str().unwrap();
        // The test has other ports, folders and no database. The name of the pod is not known here.
        let is_of_the_pod = [
            "GATEWAY_CONFIG",
            "GATEWAY__LISTEN",
            "GATEWAY__PUBLIC_URL",
            "GATEWAY__ADMIN_LISTEN",
            "GATEWAY__MASTER_KEY_FILE",
            "GATEWAY__DATABASE_URL",
        ]
        .contains(&name);
        if !is_of_the_pod {
            setup = setup.variable(name, each["value"].as_str().unwrap_or("one"));
        }
    }
    let gateway: Gateway = setup.start();
    let host = "one-connector-gateway-operators.gateways.svc";
    let services = of_kind(&objects, "Service");
    assert!(services.iter().any(|service| service["metadata"]["name"] == host.split('.').next().unwrap()));
    assert_eq!(gateway.client().request("GET", "/metrics").header("host", host).send().status, 200);
    // The first sign of life may come after the gateway is ready.
    let listed = wait_for("the gateway in the list", || {
        let mut listed = gateway.client().get("/admin/gateways").ok();
        listed["gateways"][0].is_object().then(|| listed["gateways"][0].take())
    });
    assert_eq!(listed["name"], "one", "{listed}");
}
