//! Lowered modules against the engine's own rules: they validate and survive their JSON form.

mod common;

use birsim_ir::format;
use birsim_ir::validate::validate;
use birsim_klr::ast::Contents;
use birsim_klr::{LowerOptions, lower, read};
use common::samples;

#[test]
fn lowered_samples_validate_and_survive_json() {
    let mut modules = 0;
    for (name, bytes) in samples() {
        let Contents::Program(program) = read(&bytes).expect("reads").contents else { continue };
        let Ok(lowered) = lower(&program, &LowerOptions::default()) else { continue };
        for module in lowered.modules {
            if let Err(errors) = validate(&module) {
                panic!("{name}: {errors:?}");
            }
            let text = format::write(&module);
            let again = format::read(text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
            // Fields that hold their default may be left out, so the texts are compared.
            assert!(format::write(&again) == text, "{name} changes in its JSON form");
            modules += 1;
        }
    }
    assert!(modules > 12, "{modules}");
}
