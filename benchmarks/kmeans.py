"""CPU time, memory and quality of private k-means beside scikit-learn (no privacy), plain DP-Lloyd and diffprivlib; CPU time of imports.

usage: python benchmarks/kmeans.py [--large] [--no-peer] [--imports]    writes nbs/results/kmeans_bench.csv and kmeans_bench.json
                                   --large adds 10 million records, --no-peer leaves diffprivlib out (its environment is made in a temporary folder),
                                   --imports measures the imports only and puts them into the stored manifest
"""
import csv, datetime, hashlib, json, os, platform, resource, subprocess, sys, tempfile, time
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
from importlib.metadata import version
from pathlib import Path
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
RESULT = ROOT/"nbs"/"results"/"kmeans_bench"
CONFIG = {"sizes": [1_000, 10_000, 100_000, 1_000_000], "d": 10, "k": 10, "spread": {"separate": .13, "overlapping": .3}, "epsilon": 1, "delta": 1e-6,
          "bounds": [-1, 1], "seed": 0, "repeats": {"1000": 7, "10000": 5, "100000": 3, "1000000": 2, "10000000": 1}, "peer": ["diffprivlib==0.6.6", "scikit-learn>=1.4,<1.9"]}

PEER = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, sklearn
from diffprivlib.models import KMeans
from importlib.metadata import version
for line in sys.stdin:
    job = json.loads(line); X = np.load(job["file"]); runs = []
    for seed in range(job["repeats"]):
        began = time.process_time()
        model = KMeans(job["k"], epsilon=job["epsilon"], bounds=(job["low"], job["high"]), random_state=seed).fit(X)
        runs.append([time.process_time() - began, np.asarray(model.cluster_centers_).tolist()])
    print(json.dumps({"runs": runs, "versions": {p: version(p) for p in ("diffprivlib", "scikit-learn", "numpy")}}), flush=True)
"""


def data(n, spread):
    "n records in k groups in [-1, 1]^d."
    rng = np.random.default_rng(CONFIG["seed"])
    c = rng.uniform(-.7, .7, (CONFIG["k"], CONFIG["d"]))
    return np.clip(c[rng.integers(CONFIG["k"], size=n)] + spread*rng.standard_normal((n, CONFIG["d"])), *CONFIG["bounds"])


def fits():
    "Name -> fit(X, seed) -> centers."
    import sklearn.cluster
    from dplit import KMeans
    how = dict(epsilon=CONFIG["epsilon"], bounds=CONFIG["bounds"])
    return {"scikit-learn": lambda X, seed: sklearn.cluster.KMeans(CONFIG["k"], n_init=1, random_state=seed).fit(X).cluster_centers_,
            "certified": lambda X, seed: KMeans(CONFIG["k"], delta=CONFIG["delta"], random_state=seed, **how).fit(X).cluster_centers_,
            "pure": lambda X, seed: KMeans(CONFIG["k"], delta=0, random_state=seed, **how).fit(X).cluster_centers_,
            "plain DP-Lloyd": lambda X, seed: KMeans(CONFIG["k"], delta=0, method="dplloyd", random_state=seed, **how).fit(X).cluster_centers_}


def timed(fit, X, repeats):
    "CPU seconds and centers of several seeds."
    fit(X[:500], 0)  # imports and tables
    runs = []
    for seed in range(repeats):
        began = time.process_time()
        centers = fit(X, seed)
        runs.append((time.process_time() - began, centers))
    return runs


class Peer:
    "diffprivlib in an environment of its own."
    def __init__(self, folder):
        uv, self.folder, env = Path(sys.executable).with_name("uv"), Path(folder), Path(folder)/"env"
        make = [[str(uv), "venv", "-q", "--python", sys.executable, str(env)], [str(uv), "pip", "install", "-q", "--python", str(env/"bin/python"), *CONFIG["peer"]]]
        for command in make: subprocess.run(command, check=True)
        self.process = subprocess.Popen([str(env/"bin/python"), "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = {}
    def __call__(self, X, repeats):
        np.save(self.folder/"X.npy", X)
        low, high = CONFIG["bounds"]
        print(json.dumps({"file": str(self.folder/"X.npy"), "k": CONFIG["k"], "epsilon": CONFIG["epsilon"], "low": low, "high": high, "repeats": repeats}), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        self.versions = answer["versions"]
        return [(cpu, np.array(centers)) for cpu, centers in answer["runs"]]
    def close(self):
        self.process.stdin.close()
        self.process.wait()


def memory(n, spread, name):
    "Peak memory of a fit beyond interpreter and data, in units of the data; in a process of its own."
    code = (f"import sys, resource; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT/'benchmarks')!r}]\nimport kmeans as bench\nfit = bench.fits()[{name!r}]; fit(bench.data(2000, {spread}), 0)\n"
            f"X = bench.data({n}, {spread}); peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss*1024\n"
            "with open('/proc/self/clear_refs', 'w') as f: f.write('5')\n"
            "status = lambda key: next(int(l.split()[1])*1024 for l in open('/proc/self/status') if l.startswith(key))\n"
            "before = status('VmRSS'); fit(X, 0); print((status('VmHWM') - before)/X.nbytes)")
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def children_cpu(command, repeats=5):
    "Median CPU seconds of a command."
    spent = []
    for _ in range(repeats):
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime)
    return float(np.median(spent))


def imports():
    "CPU seconds of imports and of the command's help."
    run = lambda code: [sys.executable, "-c", code]
    commands = {"import sklearn.cluster": run("import sklearn.cluster"), "import dplit": run("import dplit"), "from dplit import KMeans": run("from dplit import KMeans"),
                "dplit --help": [sys.executable, "-c", "import sys; sys.argv = ['dplit', '--help']; from dplit.cli import main; main()"]}
    return {name: round(children_cpu(command), 3) for name, command in commands.items()}


def exponent(rows, name, kind):
    "Slope of log time against log size, from ten thousand records on."
    points = [(r["n"], r["cpu"]) for r in rows if r["method"] == name and r["data"] == kind and r["n"] >= 10_000]
    return float(np.polyfit(*np.log(np.array(points)).T, 1)[0]) if len(points) > 1 else float("nan")


def main():
    if "--imports" in sys.argv:
        manifest = json.loads(RESULT.with_suffix(".json").read_text()) | {"imports": imports()}
        print(manifest["imports"])
        return RESULT.with_suffix(".json").write_text(json.dumps(manifest, indent=1) + "\n")
    from dplit.points import nonprivate_cost
    sizes, rows = CONFIG["sizes"] + [10_000_000]*("--large" in sys.argv), []
    with tempfile.TemporaryDirectory() as folder:
        peer = None if "--no-peer" in sys.argv else Peer(folder)
        for kind, spread in CONFIG["spread"].items():
            for n in sizes:
                X, repeats = data(n, spread), CONFIG["repeats"][str(n)]
                found = {name: timed(fit, X, repeats) for name, fit in fits().items()}
                if peer: found["diffprivlib"] = peer(X, min(repeats, 5) if n <= 1_000_000 else 1)
                cost = {name: [nonprivate_cost(X, c) for _, c in runs] for name, runs in found.items()}
                best, base = min(cost["scikit-learn"]), float(np.median([cpu for cpu, _ in found["scikit-learn"]]))
                for name, runs in found.items():
                    cpu = float(np.median([t for t, _ in runs]))
                    rows.append({"data": kind, "n": n, "method": name, "cpu": cpu, "times_sklearn": cpu/base, "cost_ratio": float(np.median(cost[name])/best), "worst_ratio": max(cost[name])/best})
                    print("{data:12} n {n:9,} {method:15} {cpu:8.3f} s = {times_sklearn:6.2f} x scikit-learn   cost ratio {cost_ratio:6.3f} (worst {worst_ratio:.3f})".format(**rows[-1]), flush=True)
        if peer: peer.close()
    peaks = {name: round(memory(sizes[-1], CONFIG["spread"]["separate"], name), 2) for name in fits()}
    print("peak memory beyond the data, in units of the data:", peaks)
    spent = imports()
    print("CPU seconds:", spent)
    slopes = {f"{name}, {kind}": round(exponent(rows, name, kind), 2) for name in {r["method"]: 0 for r in rows} for kind in CONFIG["spread"]}
    print("exponents:", slopes)
    with open(RESULT.with_suffix(".csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows([{key: float(f"{v:.5g}") if isinstance(v, float) else v for key, v in row.items()} for row in rows])
    manifest = {"config": CONFIG, "hash": hashlib.sha256(json.dumps(CONFIG, sort_keys=True).encode()).hexdigest()[:16], "exponents": slopes, "memory": peaks, "memory_n": sizes[-1], "imports": spent,
                "versions": {p: version(p) for p in ("numpy", "scipy", "scikit-learn")}, "peer_versions": peer.versions if peer else {},
                "python": platform.python_version(), "machine": platform.machine(), "threads": 1, "date": datetime.date.today().isoformat()}
    RESULT.with_suffix(".json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__": main()
