//! Names inside one function: unique, newcomers get a decimal suffix (`machine.md` 10).

use std::collections::HashMap;

/// The names in use.
#[derive(Default)]
pub struct Names {
    used: HashMap<String, u64>,
}

impl Names {
    /// The name itself when it is free, else with the first free suffix.
    pub fn claim(&mut self, wanted: &str) -> String {
        if !self.used.contains_key(wanted) {
            self.used.insert(wanted.to_owned(), 0);
            return wanted.to_owned();
        }
        let mut n = self.used[wanted];
        let name = loop {
            n += 1;
            let name = format!("{wanted}_{n}");
            if !self.used.contains_key(&name) {
                break name;
            }
        };
        self.used.insert(wanted.to_owned(), n);
        self.used.insert(name.clone(), 0);
        name
    }
}
