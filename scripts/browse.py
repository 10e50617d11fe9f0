"""Open every page of the built site in headless Chromium, as a reader would, and fail on what a reader would see broken.

usage: browse.py [--shots FOLDER]   (pictures of every page, light, dark and on a phone)
"""
import argparse, json, shutil, subprocess, sys, tempfile, threading, time
from base64 import b64decode
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from websocket import WebSocketTimeoutException, create_connection

HTML = Path(__file__).resolve().parent.parent / "_build/html"
FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
         "--disable-sync --disable-dev-shm-usage --remote-debugging-port=0 --remote-allow-origins=*").split()
# What the reader sees, once MathJax has typeset the page.
LOOK = """(async () => {
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  for (const d of document.querySelectorAll('details')) d.open = true;
  const images = [...document.querySelectorAll('main img')];
  for (const i of images) { i.loading = 'eager'; try { await i.decode(); } catch (e) {} }
  return JSON.stringify({
    formulas: document.querySelectorAll('main .math').length,
    typeset: document.querySelectorAll('main .math mjx-container').length,
    badmath: [...document.querySelectorAll('mjx-merror, [data-mml-node=merror]')].map(e => e.textContent.slice(0, 80)),
    badimages: images.filter(i => !i.complete || i.naturalWidth === 0).map(i => i.src),
    leaks: [...document.querySelectorAll('main p, main li')].map(e => { const c = e.cloneNode(true); c.querySelectorAll('code, pre').forEach(x => x.remove()); return c.textContent; }).filter(t => /\\{#(fig|eq|sec)-|(^|\\s)@(fig|eq|sec)-/.test(t)).slice(0, 3),
    download: !!document.querySelector('.dropdown-download-buttons'),
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  });
})()"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args): pass


class Browser:
    "One Chromium tab, spoken to over its DevTools socket."
    def __init__(self, program):
        self.profile, self.count, self.events = tempfile.mkdtemp(), 0, []
        self.process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = Path(self.profile) / "DevToolsActivePort"
        for _ in range(300):
            if port_file.exists() and "\n" in port_file.read_text(): break
            time.sleep(.1)
        port, path = port_file.read_text().split("\n")[:2]
        self.socket = create_connection(f"ws://127.0.0.1:{port}{path}", timeout=60)
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"): self(f"{domain}.enable")

    session = None

    def __call__(self, method, **params):
        self.count += 1
        message = dict(id=self.count, method=method, params=params) | ({"sessionId": self.session} if self.session else {})
        self.socket.send(json.dumps(message))
        while (answer := json.loads(self.socket.recv())).get("id") != self.count: self.events.append(answer)
        if "error" in answer: raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, url):
        self.events.clear()
        self("Page.navigate", url=url)
        end = time.time() + 60
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            if time.time() > end: raise TimeoutError(url)
            self.events.append(json.loads(self.socket.recv()))

    def run(self, code):
        return self("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)["result"].get("value")

    def size(self, width, height, mobile=False):
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def shot(self, path):
        path.write_bytes(b64decode(self("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.profile, ignore_errors=True)


def complaints(browser, base):
    "Errors of the console, and requests that left the machine, since the page was opened."
    out = []
    for event in browser.events:
        kind, params = event.get("method"), event.get("params", {})
        if kind == "Log.entryAdded" and params["entry"]["level"] == "error": out.append(f"console: {params['entry']['text']} {params['entry'].get('url', '')}")
        if kind == "Runtime.exceptionThrown": out.append(f"exception: {params['exceptionDetails'].get('exception', {}).get('description', '')[:200]}")
        if kind == "Runtime.consoleAPICalled" and params["type"] == "error": out.append(f"console: {params['args'][:1]}")
        if kind == "Network.requestWillBeSent" and not params["request"]["url"].startswith((base, "data:", "blob:")): out.append(f"leaves the site: {params['request']['url']}")
    return out


def inspect(browser, base, page, shots):
    "The problems of one page."
    browser.size(1300, 1000)
    browser.open(f"{base}/{page}")
    seen = json.loads(browser.run(LOOK))
    problems = complaints(browser, base)
    if seen["typeset"] < seen["formulas"]: problems.append(f"{seen['formulas'] - seen['typeset']} of {seen['formulas']} formulas are not typeset")
    problems += [f"formula in error: {text}" for text in seen["badmath"]] + [f"image does not load: {src}" for src in seen["badimages"]]
    problems += [f"raw markup: {text[:120]}" for text in seen["leaks"]]
    if page.startswith("nbs/") and not seen["download"]: problems.append("no download button")
    browser.size(390, 900, mobile=True)
    if (wide := browser.run("document.documentElement.scrollWidth - window.innerWidth")) > 2: problems.append(f"{wide} pixels too wide for a phone")
    if shots:
        name = page[:-5].replace("/", "-")
        browser.shot(shots / f"{name}-phone.png")
        browser.size(1300, 1000)
        for theme in ("light", "dark"):
            browser.run(f"document.documentElement.dataset.theme = '{theme}'")
            browser.shot(shots / f"{name}-{theme}.png")
    return problems


def search(browser, base):
    "The search finds a word of the book."
    browser.open(f"{base}/search.html?q=sensitivity")
    found = browser.run("""new Promise(done => { const start = Date.now(); const look = () => { const n = document.querySelectorAll('#search-results li').length;
        n > 1 || Date.now() - start > 20000 ? done(n) : setTimeout(look, 100); }; look(); })""")
    return [] if found > 1 else ["the search finds nothing for 'sensitivity'"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=Path, help="folder for pictures")
    args = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program: sys.exit("Chromium is not installed")
    if args.shots: args.shots.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=HTML))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base, failed, browser = f"http://127.0.0.1:{server.server_address[1]}", 0, Browser(program)
    try:
        pages = sorted(str(p.relative_to(HTML)) for p in HTML.rglob("*.html") if p.parts[len(HTML.parts)] not in {"_static", "_sources"}
                       and p.name not in {"genindex.html", "search.html"} and str(p.relative_to(HTML)) != "index.html")
        checks = [(page, partial(inspect, browser, base, page, args.shots)) for page in pages] + [("search", partial(search, browser, base))]
        for name, check in checks:
            try: problems = check()
            except (WebSocketTimeoutException, TimeoutError) as error: problems = [f"no answer: {error}"]
            failed += bool(problems)
            if problems: print(f"FAIL {name}", *dict.fromkeys(problems), sep="\n    ", flush=True)
    finally:
        browser.close()
        server.shutdown()
    print(f"pages: {len(checks) - failed} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__": main()
