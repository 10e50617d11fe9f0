"""Cost of the mode releases in the plane, from a thousand to ten million records: H and B beside one pass of a binned KDE without privacy,
scikit-learn's MeanShift (from every record, and with bin seeding) and the published DP-GRAMS.

usage: python benchmarks/modes.py [--small]      writes nbs/results/modes_bench.csv and modes_bench.json (about one CPU minute); --small up to 10^5, writes nothing
"""
import csv, datetime, hashlib, json, math, os, platform, sys, time, warnings
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
from importlib.metadata import version
from pathlib import Path
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from dplit.density import FOUR_CORNERS, four_corners, grid_density
from dplit.metrics import matched_mode_error, mode_scores
from dplit.mode_clustering import ModeClustering
from dplit.modes import persistent_peaks
from dplit.modes_published import dp_grams
from dplit.noise import NoisyQueries, noise_source

CONFIG = {"version": 3, "sizes": [10**3, 10**4, 10**5, 10**6, 10**7], "design": "four corners", "bounds": [-8, 8], "epsilon": 1, "delta": 1e-6, "modes": 4, "seed": 0,
          "repeats": 5, "up_to": {"MeanShift": 10**3, "MeanShift (bin seeding)": 10**5, "DP-GRAMS": 10**6}}
RESULT = ROOT/"nbs"/"results"/"modes_bench"
PRIVATE = dict(epsilon=CONFIG["epsilon"], bounds=CONFIG["bounds"])


def timed(run, repeats):
    "Answer and median CPU seconds; where calls are cheap enough to repeat, the first one only warms up."
    answer, spent = run() if repeats > 1 else None, []
    for _ in range(repeats):
        began = time.process_time()
        answer = run()
        spent.append(time.process_time() - began)
    return answer, float(np.median(spent))


def bandwidth(n): return 1.2*3.2*n**(-1/6)


def one_pass(X):
    "The density of all records on a grid, by linear binning and a fast Fourier transform: one pass. NOT private."
    return grid_density(X, np.full(2, -8.), np.full(2, 8.), (100, 100), bandwidth(len(X)))


def binned(X):
    "The modes of that density. NOT private."
    top = persistent_peaks(one_pass(X))[0][:4]
    return np.stack([np.linspace(-8, 8, 100)[i] for i in np.unravel_index(top, (100, 100))], 1)


def meanshift(X, seeding):
    "scikit-learn's MeanShift. NOT private."
    from sklearn.cluster import MeanShift
    return MeanShift(bandwidth=bandwidth(len(X)), bin_seeding=seeding).fit(X).cluster_centers_


METHODS = {
    "binned KDE": binned,
    "H": lambda X: ModeClustering(4, **PRIVATE).fit(X).modes_,
    "B": lambda X: ModeClustering(4, method="gaussian-process", **PRIVATE).fit(X).modes_,
    "DP-GRAMS": lambda X: dp_grams(X, (np.full(2, -8.), np.full(2, 8.)), CONFIG["epsilon"], CONFIG["delta"], NoisyQueries(noise_source(CONFIG["seed"])), n_modes=4),
    "MeanShift (bin seeding)": lambda X: meanshift(X, True),
    "MeanShift": lambda X: meanshift(X, False),
}


def exponent(rows, method):
    "Slope of log cost against log size over the two largest decades that the method ran on."
    mine = sorted((r["n"], r["cpu"]) for r in rows if r["method"] == method)[-3:]
    return float(np.polyfit(*np.log(np.array(mine)).T, 1)[0]) if len(mine) > 1 else math.nan


def main(small="--small" in sys.argv):
    rows = []
    for n in [s for s in CONFIG["sizes"] if not small or s <= 10**5]:
        X = four_corners(n, np.random.default_rng(CONFIG["seed"]))
        base = timed(lambda: one_pass(X), CONFIG["repeats"])[1]
        rows.append({"method": "binned KDE, density alone", "n": n, "cpu": base, "error": math.nan, "found": math.nan, "times_one_pass": 1.})
        for name, run in METHODS.items():
            if n > CONFIG["up_to"].get(name, n): continue
            modes, cpu = timed(lambda: run(X), 1 if name.startswith("MeanShift") else 2 if n == 10**7 or name == "DP-GRAMS" else CONFIG["repeats"])
            rows.append({"method": name, "n": n, "cpu": cpu, "error": matched_mode_error(modes, FOUR_CORNERS), "found": mode_scores(modes, FOUR_CORNERS, 1.)["recall"], "times_one_pass": cpu/base})
            print("n={n:>10,} {method:24} {cpu:9.4f} s = {times_one_pass:8.2f} x one pass, error {error:.5f}, modes found {found:.2f}".format(**rows[-1]), flush=True)
    exponents = {name: round(exponent(rows, name), 3) for name in dict.fromkeys(r["method"] for r in rows)}
    print("fitted exponents:", exponents)
    if small: return
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    with open(RESULT.with_suffix(".csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows([{k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows])
    manifest = {"config": CONFIG, "hash": hashlib.sha256(json.dumps(CONFIG, sort_keys=True).encode()).hexdigest()[:16], "exponents": exponents,
                "versions": {p: version(p) for p in ("numpy", "scipy", "scikit-learn")}, "python": platform.python_version(),
                "machine": platform.machine(), "threads": 1, "cost": "CPU seconds of the process", "date": datetime.date.today().isoformat()}
    RESULT.with_suffix(".json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
