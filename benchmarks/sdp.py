"""CPU time and accuracy of SDP (2): SCS in the document's form and in two scaled forms, and the certified solver;
and the stable SDP end to end (edge count, projection, noise, labels).

usage: python benchmarks/sdp.py [n …]      writes nbs/results/sdp_bench.csv and sdp_bench.json (about ten CPU minutes);
                                           with sizes, their rows replace the stored ones
"""
import csv, datetime, hashlib, json, math, os, platform, sys, time, warnings
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
from importlib.metadata import version
from pathlib import Path
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from dplit.graphs import as_graph, degrees, planted_partition
from dplit.noise import NoisyQueries, noise_source
from dplit.privacy import mu_from_budget
from dplit.stable_sdp import stable_sdp_clustering
from dplit.sdp import certified_sdp, published_projection, normalized_model, scaled_model, sdp2_model, solve_with_scs, SolverFailed

CONFIG = {"p": .5, "q": .05, "clusters": 2, "epsilon": 1, "b": .5, "seed": 0, "sizes": [100, 200, 400], "sizes_ours": [100, 200, 400, 800, 1600, 2000, 3000]}


def instance(n):
    "The graph, lambda of Theorem 1 and the published sensitivity."
    A = as_graph(planted_partition(n, CONFIG["clusters"], CONFIG["p"], CONFIG["q"], CONFIG["seed"])[0])[1]
    m, delta = A.sum()/2, 1/n**2
    lam = math.sqrt(m*CONFIG["epsilon"]**2/(n*math.log(2/delta)))
    return A, lam, math.sqrt(24*(lam + 3)*m)


def timed(run, repeats=1):
    "Answer, and mean CPU seconds."
    began = time.process_time()
    for _ in range(repeats): answer = run()
    return answer, (time.process_time() - began)/repeats


def main():
    import cvxpy # not timed, nor is the first call of anything
    A, lam, _ = instance(30)
    certified_sdp(A, lam, CONFIG["b"])
    stable_sdp_clustering(A, 2, 1., NoisyQueries(noise_source(0)), noise_source(0))
    results, b, chosen = ROOT/"nbs"/"results", CONFIG["b"], list(map(int, sys.argv[1:])) or CONFIG["sizes_ours"]
    stored = list(csv.DictReader(open(results/"sdp_bench.csv"))) if sys.argv[1:] and (results/"sdp_bench.csv").exists() else []
    rows = [{k: v if k == "solver" else int(v) if k == "n" else float(v) for k, v in row.items()} for row in stored if int(row["n"]) not in chosen]
    for n in chosen:
        A, lam, sensitivity = instance(n)
        d = degrees(A)
        repeats = max(1, 1000//n)
        answers = {} # from n = 1600 on the share 1e-3 lies below the floating-point floor; beyond, no reference
        for name, share, largest in (("certified 1e-2", 1e-2, 10**9), ("certified 1e-3", 1e-3, 800), ("reference", 1e-4, 1600)):
            if n <= largest: answers[name] = timed(lambda: certified_sdp(A, lam, b, share=share)[0], repeats)
        reference = answers.pop("reference", (None,))[0]
        def record(solver, M, cpu, certificate=math.nan):
            error = (math.nan, math.nan) if reference is None or M is None else (np.linalg.norm(M - reference.matrix)/sensitivity, reference.error/sensitivity)
            rows.append({"solver": solver, "n": n, "cpu": cpu, "error": float(error[0]), "certificate": certificate, "reference": float(error[1])})
            print(rows[-1], flush=True)
        mu, source = mu_from_budget(CONFIG["epsilon"], 1/n**2), noise_source(CONFIG["seed"])
        record("stable SDP, end to end", None, timed(lambda: stable_sdp_clustering(A, CONFIG["clusters"], mu, NoisyQueries(source), source), repeats)[1])
        for name, (P, cpu) in answers.items(): record(name, P.matrix, cpu, P.error/sensitivity)
        if n not in CONFIG["sizes"]: continue
        C, block, keep = published_projection(A, lam, b)
        for name, model in (("SCS (M)", scaled_model), ("SCS (scaled M)", normalized_model)):
            try: M, cpu = timed(lambda: solve_with_scs(*model(C, block), eps=1e-4))
            except SolverFailed as error: print(name, n, error, flush=True)
            else: record(name, M*(np.mean(d) if model is normalized_model else 1), cpu)
        X, cpu = timed(lambda: solve_with_scs(*sdp2_model(A, lam, b)))
        record("SCS (document)", n*X*np.sqrt(np.outer(d, d)), cpu)
    rows.sort(key=lambda row: row["n"])
    with open(results/"sdp_bench.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows([{k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows])
    manifest = {"config": CONFIG, "hash": hashlib.sha256(json.dumps(CONFIG, sort_keys=True).encode()).hexdigest()[:16],
                "versions": {p: version(p) for p in ("numpy", "scipy", "cvxpy", "scs")}, "python": platform.python_version(),
                "machine": platform.machine(), "threads": 1, "date": datetime.date.today().isoformat()}
    (results/"sdp_bench.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__": main()
