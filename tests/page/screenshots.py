"""A picture of each page and state, light and dark, at three widths: to look at."""

import hashlib
import os
import sys
from pathlib import Path

from stage import Stage, browser, fill

WIDTHS = {360: 780, 768: 1024, 1440: 900}
NEXT_FRAME = "new Promise((seen) => document.addEventListener('frame', seen, { once: true }))"
README_BUCKETS = """
[buckets.mail]
upstream = "{echo}?delay=200ms"
capacity = 200
leak = { rate = "20/s" }
[buckets.orders]
upstream = "{echo}?delay=900ms"
capacity = 20
leak = { rate = "2/s" }
[buckets.partner]
upstream = "{echo}?status=429&retry_after=2000"
capacity = 50
leak = { rate = "10/s" }
[buckets.reports]
upstream = "{echo}"
capacity = 100
leak = { rate = "1/s" }
[buckets.search]
upstream = "{echo}?delay=500ms"
capacity = 100
leak = { rate = "4/s" }
[buckets.webhooks]
upstream = "{echo}?delay=2s"
capacity = 100
leak = { rate = "8/s" }
"""
KEY = "a key"
RULES = {"policies": [{"id": "each", "key": ["caller"], "tiers": [{"kind": "bucket", "rate": "1/s", "burst": 5}]}]}


def pages(stage, job, letter):
    yield "buckets", "/"
    yield "bucket", "/buckets/demo"
    yield "audit", "/audit"
    yield "bucket-empty", "/buckets/empty"
    yield "bucket-throttled", "/buckets/throttled"
    yield "change", "/buckets/demo/change?leak.rate=10/s&capacity=20"
    yield "jobs", "/buckets/demo/jobs"
    yield "jobs-empty", "/buckets/empty/jobs"
    yield "job", f"/buckets/broken/jobs/{job}"
    yield "dead", "/buckets/broken/dead"
    yield "dead-empty", "/buckets/empty/dead"
    yield "letter", f"/buckets/broken/dead/{letter}"
    yield "services", "/services"
    yield "redis", "/redis?bucket=demo"
    yield "missing", "/buckets/nope"


def shoot(page, folder, name):
    page.mouse.move(0, 0)
    page.screenshot(path=folder / f"{name}.png", full_page=True)


def all_pages(stage, chromium, folder, wanted):
    fill(stage)
    stage.call("PUT", "/v1/services/shop/rules", RULES, {"content-type": "application/json"})
    for _ in range(8):
        stage.call("POST", "/v1/services/shop/check", {"caller": "alice"}, {"content-type": "application/json"})
    letter = stage.submit("broken", 1, {"order": 18})[0]
    stage.until_state("broken", lambda state: state["dead"] == 5)
    for scheme in ("light", "dark"):
        for width, height in WIDTHS.items():
            page = chromium.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
            for name, path in pages(stage, letter, letter):
                if wanted and name not in wanted:
                    continue
                page.goto(stage.address + path)
                if page.locator("#live").count():
                    page.wait_for_selector('#live[data-state="live"]')
                shoot(page, folder, f"{name}-{width}-{scheme}")
            page.close()


def states(stage, chromium, folder):
    """Refusing, and gone."""
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(stage.address)
    page.wait_for_selector('#live[data-state="live"]')
    stage.call("POST", "/v1/buckets/orders/pause")
    stage.submit("orders", 60)
    page.get_by_text("full, and refuses").wait_for()
    shoot(page, folder, "state-overflow")
    page.keyboard.press("?")
    shoot(page, folder, "state-keys")
    page.keyboard.press("Escape")
    stage.process.terminate()
    page.wait_for_selector('#live[data-state="gone"]')
    shoot(page, folder, "state-gone")
    page.close()


def signed_in(chromium, folder):
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    keys = f'[[keys]]\nid = "reader"\nsha256 = "{digest}"\nscopes = ["read"]\n'
    with Stage(keys) as stage:
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.goto(stage.address)
        shoot(page, folder, "sign-in")
        page.get_by_label("Key", exact=True).fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        shoot(page, folder, "sign-in-refused")
        page.get_by_label("Key", exact=True).fill(KEY)
        page.get_by_role("button", name="Sign in").click()
        page.goto(stage.address + "/buckets/demo")
        shoot(page, folder, "reader")
        page.close()


def many(chromium, folder):
    buckets = "".join(f'[buckets.b{n:03}]\nupstream = "{{echo}}"\n' for n in range(60))
    with Stage(buckets=buckets) as stage:
        stage.submit("b007", 200, delay="10m")
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.goto(stage.address)
        page.wait_for_selector('#live[data-state="live"]')
        shoot(page, folder, "many")
        page.close()


def readme(chromium, folder):
    """For the README: copied to crates/dashboard, with fewer colours."""
    each_second = {"mail": 24, "orders": 5, "search": 3, "webhooks": 4}
    with Stage(buckets=README_BUCKETS) as stage:
        stage.submit("partner", 12)
        stage.submit("mail", 90)
        stage.submit("orders", 18)
        stage.submit("search", 40)
        stage.submit("webhooks", 45, delay="10m")
        stage.submit("reports", 30)
        stage.call("POST", "/v1/buckets/reports/pause")
        stage.until_state("partner", lambda state: state["pace"]["reason"] == "held")
        for scheme in ("light", "dark"):
            page = chromium.new_page(color_scheme=scheme, viewport={"width": 1180, "height": 800})
            page.goto(stage.address)
            for _ in range(8):
                for bucket, jobs in each_second.items():
                    stage.submit(bucket, jobs)
                page.evaluate(NEXT_FRAME)
            shoot(page, folder, f"readme-{scheme}")
            page.close()


def main():
    folder = Path(os.environ.get("SCREENSHOTS", "target/screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[1:]
    with browser() as chromium:
        with Stage() as stage:
            all_pages(stage, chromium, folder, wanted)
            if not wanted:
                states(stage, chromium, folder)
        if not wanted:
            signed_in(chromium, folder)
            many(chromium, folder)
        if not wanted or "readme" in wanted:
            readme(chromium, folder)
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")


if __name__ == "__main__":
    main()
