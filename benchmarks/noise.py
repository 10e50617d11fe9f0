"""Draws per second of exact Gaussian and Laplace noise, beside OpenDP (exact too) and numpy (unsafe), by CPU time of one run.

usage: python benchmarks/noise.py      writes nbs/results/noise_bench.csv and noise_bench.json
"""
import csv, datetime, json, os, platform, sys, time
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
from importlib.metadata import version
from pathlib import Path
import numpy as np
import opendp.prelude as dp

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from dplit.rounding import noise_source, rounded_gaussian, rounded_laplace

CONFIG = {"scales": [1e-2, 1e-1, 1e0, 1e1, 1e3, 1e6, 1e9, 2.**50], "seconds": .3, "repeats": 5, "draws": 500_000, "draws_opendp": 5_000}


def rate(draw, n, seconds, repeats):
    "Median over repeats of draws per CPU second; each repeat runs for at least `seconds`."
    draw(n) # tables and imports
    found = []
    for _ in range(repeats):
        began, done = time.process_time(), 0
        while time.process_time() - began < seconds or not done:
            draw(n)
            done += n
        found.append(done/(time.process_time() - began))
    return float(np.median(found))


def main():
    dp.enable_features("contrib")
    integers, unsafe, source = dp.vector_domain(dp.atom_domain(T=int)), np.random.default_rng(), noise_source()
    ours = {"gaussian": rounded_gaussian, "laplace": rounded_laplace}
    theirs = {"gaussian": lambda s: dp.m.make_gaussian(integers, dp.l2_distance(T=float), scale=s),
              "laplace": lambda s: dp.m.make_laplace(integers, dp.l1_distance(T=int), scale=s)}
    numpys = {"gaussian": unsafe.normal, "laplace": unsafe.laplace}
    timing, rows = (CONFIG["seconds"], CONFIG["repeats"]), []
    for law in ours:
        for scale in CONFIG["scales"]:
            oracle = theirs[law](scale)
            row = {"law": law, "scale": scale,
                   "dplit": rate(lambda n: ours[law](scale, n, source), CONFIG["draws"], *timing),
                   "opendp": rate(lambda n: oracle([0]*n), CONFIG["draws_opendp"], *timing),
                   "numpy": rate(lambda n: np.rint(numpys[law](0., scale, n)).astype(np.int64), CONFIG["draws"], *timing)}
            row |= {"times_opendp": row["dplit"]/row["opendp"], "share_of_numpy": row["dplit"]/row["numpy"]}
            rows.append(row)
            print("{law:9} scale {scale:9.3g} steps: {dplit:11,.0f} draws/s = {times_opendp:6.1f} x OpenDP = {share_of_numpy:5.2f} x unsafe numpy".format(**row), flush=True)
    results = ROOT/"nbs"/"results"
    results.mkdir(parents=True, exist_ok=True)
    with open(results/"noise_bench.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows([{k: float(f"{v:.4g}") if isinstance(v, float) and k != "scale" else v for k, v in row.items()} for row in rows])
    manifest = {"config": CONFIG, "versions": {p: version(p) for p in ("numpy", "scipy", "mpmath", "cryptography", "opendp")},
                "python": platform.python_version(), "machine": platform.machine(), "threads": 1,
                "date": datetime.date.today().isoformat()}
    (results/"noise_bench.json").write_text(json.dumps(manifest, indent=1) + "\n")
    slowest = min(row["dplit"] for row in rows if row["law"] == "gaussian")
    print(f"slowest Gaussian scale: {slowest/1e6:.1f} million draws a second; the floor is 1 million")
    return slowest < 1e6


if __name__ == "__main__": sys.exit(main())
