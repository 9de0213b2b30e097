// Ways in which Rust programs panic: rustc crash.rs && ./crash NAME
use std::collections::HashMap;

fn shape(names: &HashMap<String, Vec<usize>>, name: &str) -> usize {
    names.get(name).unwrap_or_else(|| panic!("no tensor {name:?} among {} of 'model-00001.safetensors'", names.len()))[0]
}

fn at(values: &[usize], index: usize) -> usize {
    values[index]
}

fn main() {
    let name = std::env::args().nth(1).unwrap();
    let names: HashMap<String, Vec<usize>> = HashMap::from([("wq".to_string(), vec![4096])]);
    match name.as_str() {
        "panic" => println!("{}", shape(&names, "wk")),
        "index" => println!("{}", at(&[1, 2, 3], name.len())),
        "unwrap" => println!("{}", "x1".parse::<usize>().unwrap()),
        _ => {}
    }
}
