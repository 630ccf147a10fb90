//! How fast is every kernel family beside NumPy and ml_dtypes at the same work?
//!
//! `cargo bench -p birsim-benches --bench kernels_vs_numpy [-- PART_OF_A_NAME ..]` prints the table of ratios. Tensors are
//! 128 x 8192 unless a case says otherwise. Both sides run alternately; the best time of each counts. `PYTHON` names the
//! interpreter, `BIRSIM_BENCH_SECONDS` the time spent on each case. Without NumPy only our own times are printed.

mod cases;

mod tensor;

use birsim_benches::numpy::Numpy;
use cases::{Case, all};
use std::time::{Duration, Instant};

const THREADS: [usize; 2] = [1, 2];
/// Time of one side before the other one has its turn: the system takes some milliseconds to spread threads that slept.
const TURN: f64 = 0.03;
/// Runs in a turn, however long or short they are.
const RUNS: std::ops::RangeInclusive<usize> = 3..=512;
/// Turns that every case gets.
const MIN_TURNS: usize = 4;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let seconds = std::env::var("BIRSIM_BENCH_SECONDS").ok().and_then(|v| v.parse().ok()).unwrap_or(0.15);
    let budget = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let mut sides = Vec::new();
    for threads in THREADS {
        let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else {
            eprintln!("no pool of {threads} threads");
            return;
        };
        sides.push((pool, Numpy::of("kernels_vs_numpy", threads).ok()));
    }
    match sides.iter().find_map(|(_, n)| n.as_ref()) {
        Some(n) => println!("{}; NumPy time / birsim time, best of alternating runs", n.versions),
        None => println!("python3 with numpy and ml_dtypes is not there (pip install numpy ml_dtypes): own times only"),
    }
    println!("{:14} {:26} {:>5} | {:^29} | {:^29}", "", "", "", "1 thread", "2 threads");
    println!(
        "{:14} {:26} {:>5} | {:>9} {:>9}  {:>8} | {:>9} {:>9}  {:>8}",
        "family", "case", "bar", "birsim us", "NumPy us", "ratio", "birsim us", "NumPy us", "ratio"
    );
    let mut below = [0; THREADS.len()];
    for mut case in all() {
        if !wanted.is_empty() && !wanted.iter().any(|w| case.name.contains(w.as_str()) || case.family == w) {
            continue;
        }
        print!("{:14} {:26} {:>5.2}", case.family, case.name, case.bar);
        for ((pool, numpy), below) in sides.iter_mut().zip(&mut below) {
            *below += usize::from(pool.install(|| measure(&mut case, numpy.as_mut(), budget)));
        }
        println!();
    }
    for (threads, below) in THREADS.iter().zip(below) {
        println!("{below} below the bar on {threads} thread(s)");
    }
}

/// Keeps every thread of the pool busy until the system has given each its own core. In a running simulator they are;
/// here they slept while NumPy ran, and the system may wake them all on one core.
fn settle(blas: bool) {
    if rayon::current_num_threads() < 2 {
        return;
    }
    // The threads of OpenBLAS spin for 0.1 s after their work and would hold our second core.
    // All end at the same moment: a thread that waits for another one falls asleep again.
    let end = Instant::now() + Duration::from_millis(if blas { 200 } else { 12 });
    rayon::broadcast(|_| {
        while Instant::now() < end {
            std::hint::spin_loop();
        }
    });
}

/// Runs in a turn of a side that takes `seconds` for one.
fn runs(seconds: f64) -> usize {
    ((TURN / seconds) as usize).clamp(*RUNS.start(), *RUNS.end())
}

/// Prints one cell; true when the ratio is below the bar. Runs inside the pool, as the simulator's loop does.
fn measure(case: &mut Case, numpy: Option<&mut Numpy>, budget: Duration) -> bool {
    let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
    let mut numpy = numpy.and_then(|n| n.has(&case.name).then_some(n));
    let start = Instant::now();
    let mut turns = 0;
    // Slow cases vary less: they get fewer turns.
    while turns < 1 || start.elapsed() < if turns < MIN_TURNS { 4 * budget } else { budget } {
        settle(case.family == "matmul");
        for _ in 0..runs(ours) {
            let start = Instant::now();
            if let Err(e) = (case.run)() {
                print!(" | {e}");
                return true;
            }
            ours = ours.min(start.elapsed().as_secs_f64());
        }
        if let Some(t) = numpy.as_mut().and_then(|n| n.time(runs(theirs)).ok()) {
            theirs = theirs.min(t);
        }
        turns += 1;
    }
    let ratio = theirs / ours;
    if theirs.is_infinite() {
        print!(" | {:9.1} {:>9}  {:>8}", ours * 1e6, "-", "-");
        return false;
    }
    let low = ratio < case.bar;
    print!(" | {:9.1} {:9.1}  {:7.2}{}", ours * 1e6, theirs * 1e6, ratio, if low { '*' } else { ' ' });
    low
}
