connector_sdk::connector! {
    connector x "X";
}

fn main() {}
