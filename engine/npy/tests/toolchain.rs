//! What a build of birsim needs besides Rust: nothing.

#[test]
fn the_locked_crates_need_no_c_compiler() {
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    let lock = std::fs::read_to_string(lock).unwrap();
    assert!(lock.contains("name = \"npyz\""), "this is the lock file of the workspace");
    for package in ["cc", "cmake", "psm", "bindgen"] {
        assert!(!lock.contains(&format!("name = \"{package}\"\n")), "{package} compiles or binds C");
    }
}
