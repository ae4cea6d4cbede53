use std::sync::atomic::Ordering::Relaxed;
use waits::*;
#[test]
fn exp() {
    let os = os::linux::start();
    let session = os.adopt("x", SessionKind::Foreground);
    for kind in 0..3 {
        let disk = os::linux::disk();
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("exp");
        let _ = std::fs::remove_file(&path);
        let opts = os::FileOptions { direct: kind == 1, write_through: false };
        let file = disk.create(&path, 4 << 20, opts, &session).unwrap();
        let mut buf = os::IoBuf::zeroed(8192);
        for _ in 0..4 {
            for x in &os::X {
                x.store(0, Relaxed);
            }
            let r = session.reading();
            let mut n = 0u64;
            while session.now().since(r.0) < Nanos::from_millis(700) {
                n += 1;
                match kind {
                    0 => session
                        .pause(Nanos::from_micros(20), session.waiting(WaitEvent::PlSqlLockTimer)),
                    _ => file
                        .read_at(
                            (n * 7919) % 512 * 8192,
                            &mut buf,
                            session.waiting(WaitEvent::PlSqlLockTimer),
                        )
                        .unwrap(),
                }
            }
            let a = session.time_account_since(&r);
            let c = session.account().totals().since(&r.2);
            let waits = a.waits[0].count as f64;
            let xs: Vec<f64> = os::X.iter().map(|x| x.load(Relaxed) as f64).collect();
            println!(
                "kind {kind} waits {waits} wall/wait {:.0} cpu/wait {:.0} raw {:.0}  unacc/wait {:.0} ns  ({:+.2}%) rq {:.2}% reading0 {:.0} reading1 {:.0} samples {} gap/wait {:.0}",
                a.waits[0].total.0 as f64 / waits,
                a.waits[0].of_which_cpu.0 as f64 / waits,
                xs[3] / xs[2],
                a.unaccounted_ns as f64 / waits,
                a.unaccounted_ns as f64 / a.elapsed.0 as f64 * 100.0,
                a.run_queue_ns as f64 / a.elapsed.0 as f64 * 100.0,
                xs[0] / xs[2],
                xs[1] / xs[2],
                xs[2],
                (a.elapsed.0 - a.waits[0].total.0) as f64 / waits
            );
            let _ = c;
        }
    }
}
