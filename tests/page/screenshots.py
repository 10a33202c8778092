"""A picture of each page and state, light and dark, at three widths: to look at."""

import hashlib
import os
import signal
import sys
from pathlib import Path

from stage import BUCKETS, Stage, browser, fill

WIDTHS = {360: 780, 768: 1024, 1440: 900}
NEXT_FRAME = "new Promise((seen) => document.addEventListener('frame', seen, { once: true }))"
WIDE = {"width": 1440, "height": 900}
MORE_BUCKETS = """
[buckets.retried]
upstream = "{echo}?status=503"
retry = { first = "1h", max = "1h" }
"""
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
JSON = {"content-type": "application/json"}
NIGHTLY = {"cron": "0 3 * * *", "zone": "Europe/Berlin", "job": {"body": {"order": 17}}}
RULES = {"policies": [{"id": "each", "key": ["caller"], "tiers": [{"kind": "bucket", "rate": "1/s", "burst": 5}]}]}


def pages(retried, letter):
    yield "buckets", "/"
    yield "bucket", "/buckets/demo"
    yield "bucket-empty", "/buckets/empty"
    yield "bucket-throttled", "/buckets/throttled"
    yield "bucket-paused", "/buckets/orders"
    yield "change", "/buckets/demo/change?leak.rate=10/s&capacity=20"
    yield "change-refused", "/buckets/demo/change?leak.rate=fast"
    yield "jobs", "/buckets/demo/jobs"
    yield "jobs-empty", "/buckets/empty/jobs"
    yield "jobs-none", "/buckets/demo/jobs?caller=nobody"
    yield "job", f"/buckets/broken/jobs/{letter}"
    yield "job-parked", f"/buckets/retried/jobs/{retried}"
    yield "dead", "/buckets/broken/dead"
    yield "dead-empty", "/buckets/empty/dead"
    yield "letter", f"/buckets/broken/dead/{letter}"
    yield "services", "/services"
    yield "redis", "/redis?bucket=demo"
    yield "audit", "/audit"
    yield "audit-empty", "/audit?bucket=demo"
    yield "audit-service", "/audit?service=shop"
    yield "missing", "/buckets/nope"


def shoot(page, folder, name, full=True):
    page.mouse.move(0, 0)
    page.screenshot(path=folder / f"{name}.png", full_page=full)


def wait_for(page, state):
    page.wait_for_selector(f'#live[data-state="{state}"]')


def open_live(page, address):
    page.goto(address)
    if page.locator("#live").count():
        wait_for(page, "live")


def in_all_sizes(chromium, address, folder, paths, wanted=()):
    for scheme in ("light", "dark"):
        for width, height in WIDTHS.items():
            page = chromium.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
            for name, path in paths:
                if not wanted or name in wanted:
                    open_live(page, address + path)
                    shoot(page, folder, f"{name}-{width}-{scheme}")
            page.close()


def all_pages(stage, chromium, folder, wanted):
    if not wanted:
        in_all_sizes(chromium, stage.address, folder, [("services-empty", "/services")])
    fill(stage)
    stage.call("PUT", "/v1/services/shop/rules", RULES, JSON)
    for _ in range(8):
        stage.call("POST", "/v1/services/shop/check", {"caller": "alice"}, JSON)
    stage.call("POST", "/v1/buckets/orders/pause")
    stage.call("PATCH", "/v1/buckets/orders", {"leak": {"rate": "2/s"}})
    stage.call("PUT", "/v1/buckets/orders/schedules/nightly", NIGHTLY, JSON)
    retried = stage.submit("retried", 1, {"order": 19})[0]
    stage.until_state("retried", lambda state: state["parked"] == 1)
    letter = stage.submit("broken", 1, {"order": 18})[0]
    stage.until_state("broken", lambda state: state["dead"] == 5)
    in_all_sizes(chromium, stage.address, folder, list(pages(retried, letter)), wanted)


def opened(stage, chromium, folder):
    """What is seen after a click."""
    page = chromium.new_page(viewport=WIDE)
    open_live(page, stage.address + "/buckets/orders")
    page.get_by_label("Moment that is shown").focus()
    shoot(page, folder, "opened-cursor")
    page.locator("summary", has_text="Purge").click()
    page.locator("summary", has_text="Edit limits").click()
    shoot(page, folder, "opened-settings")
    open_live(page, stage.address + "/buckets/broken/dead")
    page.locator("tbody a").first.click()
    for summary in ("As a tree", "As bytes", "Edit and replay"):
        page.locator("summary", has_text=summary).first.click()
    shoot(page, folder, "opened-letter")
    open_live(page, stage.address + "/buckets/broken/dead")
    page.get_by_label("rate, such as 10/s").fill("1/h")
    page.get_by_role("button", name="Replay all").click()
    page.get_by_text("1 of 5").wait_for()
    shoot(page, folder, "opened-replay")
    page.goto(stage.address + "/services")
    page.get_by_role("button", name="Try a request").click()
    page.locator(".note").wait_for()
    shoot(page, folder, "opened-try")
    page.close()


def states(stage, chromium, folder):
    """Each state of the connection, and of a bucket, that the pages don't have."""
    page = chromium.new_page(viewport=WIDE)
    held = []
    page.route("**/live/**", lambda route: held.append(route))
    page.goto(stage.address)
    shoot(page, folder, "state-loading")
    for route in held:
        route.abort()
    page.unroute("**/live/**")
    open_live(page, stage.address)
    stage.submit("orders", 60)
    page.get_by_text("orders: full, and refuses").wait_for()
    page.evaluate(NEXT_FRAME)
    page.evaluate(NEXT_FRAME)
    shoot(page, folder, "state-overflow")
    page.keyboard.press("?")
    shoot(page, folder, "state-keys", full=False)
    page.keyboard.press("Escape")
    stage.call("PUT", "/v1/dev/upstream", {"mode": "throttling"}, JSON)
    # It has had no call that would outweigh the refused ones.
    stage.submit("empty", 60)
    stage.until_state("empty", lambda state: state["pace"]["reason"] == "held")
    stage.call("PUT", "/v1/dev/upstream", {"mode": "normal"}, JSON)
    stage.until_state("empty", lambda state: state["pace"]["reason"] == "refusals")
    page.get_by_text("Cut to").wait_for()
    shoot(page, folder, "state-slowed")
    with stage.without_redis():
        wait_for(page, "unread")
        shoot(page, folder, "state-unread")
    wait_for(page, "live")
    os.kill(stage.process.pid, signal.SIGSTOP)
    wait_for(page, "stale")
    shoot(page, folder, "state-stale")
    os.kill(stage.process.pid, signal.SIGCONT)
    wait_for(page, "live")
    stage.process.terminate()
    wait_for(page, "gone")
    shoot(page, folder, "state-gone")
    page.close()


def section_of_key(name, scopes):
    return f'[[keys]]\nid = "{name}"\nsha256 = "{hashlib.sha256(name.encode()).hexdigest()}"\nscopes = {scopes}\n'


def sign_in(page, key):
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_role("button", name="Sign in").click()


def signed_in(chromium, folder):
    keys = section_of_key("reader", '["read"]') + section_of_key("sender", '["submit"]')
    with Stage(keys) as stage:
        in_all_sizes(chromium, stage.address, folder, [("sign-in", "/sign-in")])
        page = chromium.new_page(viewport=WIDE)
        page.goto(stage.address)
        sign_in(page, "wrong")
        shoot(page, folder, "sign-in-refused")
        sign_in(page, "sender")
        shoot(page, folder, "state-forbidden")
        page.get_by_role("button", name="Sign out").click()
        sign_in(page, "reader")
        open_live(page, stage.address + "/buckets/demo")
        shoot(page, folder, "reader")
        page.context.clear_cookies()
        page.wait_for_selector('#live[data-state="signed-out"]')
        shoot(page, folder, "state-signed-out")
        page.close()


def many(chromium, folder):
    buckets = "".join(f'[buckets.b{n:03}]\nupstream = "{{echo}}"\n' for n in range(60))
    with Stage(buckets=buckets) as stage:
        stage.submit("b007", 200, delay="10m")
        in_all_sizes(chromium, stage.address, folder, [("many", "/"), ("many-none", "/?q=nothing")])


def without_processor(chromium, folder):
    with Stage(processors=0) as stage:
        stage.submit("demo", 30)
        page = chromium.new_page(viewport=WIDE)
        open_live(page, stage.address)
        shoot(page, folder, "state-no-processor")
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
        with Stage(buckets=BUCKETS + MORE_BUCKETS) as stage:
            all_pages(stage, chromium, folder, wanted)
            if not wanted:
                opened(stage, chromium, folder)
                states(stage, chromium, folder)
        if not wanted:
            signed_in(chromium, folder)
            many(chromium, folder)
            without_processor(chromium, folder)
        if not wanted or "readme" in wanted:
            readme(chromium, folder)
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")


if __name__ == "__main__":
    main()
