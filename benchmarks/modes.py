"""CPU time of the mode releases in the plane: H and B beside a binned KDE without privacy and scikit-learn's MeanShift with bin seeding.

usage: python benchmarks/modes.py      writes nbs/results/modes_bench.csv and modes_bench.json (about one CPU minute)
"""
import csv, datetime, hashlib, json, os, platform, sys, time
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
from importlib.metadata import version
from pathlib import Path
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from dplit.density import FOUR_CORNERS, four_corners, grid_density
from dplit.metrics import matched_mode_error
from dplit.mode_clustering import ModeClustering
from dplit.modes import persistent_peaks

CONFIG = {"sizes": [5_000, 50_000, 100_000, 1_000_000], "meanshift_up_to": 50_000, "bounds": [-8, 8], "epsilon": 1, "repeats": 5, "seed": 0}
RESULT = ROOT/"nbs"/"results"/"modes_bench"


def timed(run, repeats):
    "Answer and median CPU seconds; the first call warms the tables up."
    answer, spent = run(), []
    for _ in range(repeats):
        began = time.process_time()
        run()
        spent.append(time.process_time() - began)
    return answer, float(np.median(spent))


def binned(X):
    "Modes of a binned kernel density estimate. NOT private."
    lo, hi = (np.full(2, float(b)) for b in CONFIG["bounds"])
    shape, h = (100, 100), 1.2*3.2*len(X)**(-1/6)
    f = grid_density(X, lo, hi, shape, h)
    top = persistent_peaks(f)[0][:4]
    return np.stack([np.linspace(l, u, m)[i] for l, u, m, i in zip(lo, hi, shape, np.unravel_index(top, shape))], 1)


def meanshift(X):
    "scikit-learn's MeanShift. NOT private."
    from sklearn.cluster import MeanShift
    return MeanShift(bandwidth=1.2*3.2*len(X)**(-1/6), bin_seeding=True).fit(X).cluster_centers_


def main():
    rows, private = [], dict(epsilon=CONFIG["epsilon"], bounds=CONFIG["bounds"])
    for n in CONFIG["sizes"]:
        X = four_corners(n, np.random.default_rng(CONFIG["seed"]))
        runs = {"H": lambda: ModeClustering(4, **private).fit(X).modes_,
                "B": lambda: ModeClustering(4, method="gaussian-process", **private).fit(X).modes_,
                "binned KDE": lambda: binned(X)}
        if n <= CONFIG["meanshift_up_to"]: runs["MeanShift (bin seeding)"] = lambda: meanshift(X)
        for name, run in runs.items():
            modes, cpu = timed(run, 1 if name.startswith("Mean") else CONFIG["repeats"])
            rows.append({"method": name, "n": n, "cpu": cpu, "error": matched_mode_error(modes, FOUR_CORNERS)})
        base = {r["method"]: r["cpu"] for r in rows if r["n"] == n}
        for r in rows:
            if r["n"] == n: r["times_binned"] = r["cpu"]/max(base["binned KDE"], 1e-9); print("n={n:>9,} {method:24} {cpu:8.4f} s = {times_binned:8.2f} x binned KDE, error {error:.5f}".format(**r), flush=True)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    with open(RESULT.with_suffix(".csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows([{k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows])
    manifest = {"config": CONFIG, "hash": hashlib.sha256(json.dumps(CONFIG, sort_keys=True).encode()).hexdigest()[:16],
                "versions": {p: version(p) for p in ("numpy", "scipy", "scikit-learn")}, "python": platform.python_version(),
                "machine": platform.machine(), "threads": 1, "date": datetime.date.today().isoformat()}
    RESULT.with_suffix(".json").write_text(json.dumps(manifest, indent=1) + "\n")
    slowest = max(r["cpu"] for r in rows if r["n"] == 1_000_000 and r["method"] in "HB")
    print(f"a million records: {slowest:.2f} s for the slower of H and B")


if __name__ == "__main__": main()
