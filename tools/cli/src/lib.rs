//! The command line of birsim, as a library: tensor files, commands, reports. The binaries only call [`main`].

pub mod npy;
