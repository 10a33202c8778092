"""The page in a real browser: every page, every action, live updates, keys of the keyboard, and what may not happen."""

import hashlib
import json
import os
import re
import signal
import subprocess
import time
import unittest
from contextlib import ExitStack
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import expect

from stage import SCRIPT, Stage, browser, fill, free_port

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
WIDTHS = (360, 768, 1440)
RULES = {"policies": [{"id": "each", "key": ["caller"], "tiers": [{"kind": "gate", "period": "1h"}]}]}
JSON = {"content-type": "application/json"}

expect.set_options(timeout=30_000)


def setUpModule():
    global chromium, leave
    leave = browser()
    chromium = leave.__enter__()


def tearDownModule():
    leave.__exit__(None, None, None)


class Watched:
    """A tab; at its end it has said nothing wrong and asked nobody else."""

    def __init__(self, stage, **options):
        self.stage, self.wrong = stage, []
        self.context = chromium.new_context(**options)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.note(message) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.own(request.url))

    def note(self, message):
        # The browser says of each answer that is no success what the test expects of it, or not.
        if "the server responded with a status of" not in message.text and "ERR_" not in message.text:
            self.wrong.append(message.text)

    def own(self, url):
        if not url.startswith((self.stage.address, "data:", "blob:")):
            self.wrong.append(f"a request to {url}")

    def __enter__(self):
        return self.page

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None:
            assert not self.wrong, self.wrong


def accessible(page, what):
    """What is wrong at each width, in the order of the page."""
    wrong = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        wide = page.evaluate("document.documentElement.scrollWidth")
        wrong += [f"{what} at {width}: {wide}"] if wide > width else []
        # By the protocol of the tools, which the page's policy doesn't concern.
        page.evaluate(AXE)
        for one in page.evaluate("axe.run().then(({ violations }) => violations)"):
            wrong.append(f"{what} at {width}: {one['id']}: {[node['html'] for node in one['nodes']]}")
    return wrong


def live(page):
    page.wait_for_selector('#live[data-state="live"]')


def hide(page, hidden):
    page.evaluate(
        """(hidden) => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange')); }""",
        hidden,
    )


def section_of_key(name, scopes):
    return f'[[keys]]\nid = "{name}"\nsha256 = "{hashlib.sha256(name.encode()).hexdigest()}"\nscopes = {scopes}\n'


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stage = cls.enterClassContext(Stage())
        fill(cls.stage)
        cls.stage.call("PUT", "/v1/services/shop/rules", RULES, JSON)
        cls.letter = cls.stage.submit("broken", 1, SCRIPT)[0]
        cls.stage.until_state("broken", lambda state: state["dead"] == 5)
        cls.waiting = cls.stage.submit("throttled", 1, {"order": 17, "note": SCRIPT}, delay="10m")[0]

    def paths(self):
        return [
            "/",
            "/buckets/demo",
            "/buckets/throttled",
            "/buckets/demo/change?capacity=7",
            "/buckets/demo/jobs",
            "/buckets/empty/jobs",
            "/buckets/demo/jobs?state=waiting&caller=nobody&older_than=1s",
            f"/buckets/throttled/jobs/{self.waiting}",
            f"/buckets/broken/jobs/{self.letter}",
            "/buckets/broken/dead",
            f"/buckets/broken/dead/{self.letter}",
            "/services",
            "/redis?bucket=demo",
            "/audit",
            "/audit?bucket=demo",
            "/audit?service=shop",
            "/buckets/nope",
        ]

    def test_every_page_is_accessible_in_light_and_dark_and_fits(self):
        wrong = []
        for scheme in ("light", "dark"):
            with Watched(self.stage, color_scheme=scheme, reduced_motion="reduce") as page:
                for path in self.paths():
                    page.goto(self.stage.address + path)
                    if page.locator("body[data-live]").count():
                        live(page)
                    wrong += accessible(page, f"{path} {scheme}")
        self.assertEqual(wrong, [])

    def test_a_stored_script_is_text(self):
        with Watched(self.stage) as page:
            page.goto(f"{self.stage.address}/buckets/broken/dead/{self.letter}")
            expect(page.locator("pre.payload").first).to_contain_text(SCRIPT)
            page.goto(f"{self.stage.address}/buckets/throttled/jobs/{self.waiting}")
            expect(page.locator("pre.payload").first).to_contain_text(SCRIPT)
            self.assertIsNone(page.evaluate("window.pwned ?? null"))

    def test_it_is_readable_without_script(self):
        with Watched(self.stage, java_script_enabled=False) as page:
            for path in self.paths():
                page.goto(self.stage.address + path)
                expect(page.locator("main h1")).to_be_visible()

    def test_what_needs_a_person_comes_first(self):
        with Watched(self.stage) as page:
            page.goto(self.stage.address)
            first = page.locator("main > h1 ~ *").first
            expect(first).to_have_id("attention")
            expect(first).to_contain_text("throttled by the upstream for another")
            # The first two minutes they count as new.
            expect(first).to_contain_text(re.compile("5 dead letters|dead letters are rising: .*, 5 in all"))
            # Which a screen reader announces.
            expect(first.get_by_role("status")).to_have_text(re.compile(r"\d warnings$"))

    def test_a_frame_shifts_nothing(self):
        with Watched(self.stage) as page:
            # While one is nearly full a notice says so.
            self.stage.until_state("demo", lambda state: state["level"] < 80)
            self.stage.until_state("orders", lambda state: state["level"] < 17)
            job = f"/buckets/throttled/jobs/{self.waiting}"
            for path in ("/", "/buckets/demo", "/buckets/broken/dead", job, "/services"):
                page.goto(self.stage.address + path)
                live(page)
                page.evaluate(
                    """() => { window.shift = 0; const add = (entry) => { window.shift += entry.value; };
                    const seen = new PerformanceObserver((list) => list.getEntries().forEach(add));
                    seen.observe({ type: "layout-shift" }); }"""
                )
                for _ in range(3):
                    page.evaluate("new Promise((seen) => document.addEventListener('frame', seen, { once: true }))")
                self.assertLess(page.evaluate("window.shift"), 0.01, path)

    def test_the_buttons_of_a_group_stay_beside_each_other(self):
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/broken/dead")
            live(page)
            for width in range(360, 1440, 24):
                page.set_viewport_size({"width": width, "height": 800})
                buttons = page.locator(".groups li").first.locator("button:visible, summary")
                self.assertEqual(len({box.bounding_box()["y"] for box in buttons.all()}), 1, width)

    def test_times_have_a_zone(self):
        with Watched(self.stage, timezone_id="Asia/Tokyo") as page:
            page.goto(self.stage.address + "/buckets/demo")
            time = page.locator(".axis time").first
            expect(time).to_have_attribute("title", re.compile(r"\d Asia/Tokyo$|[AP]M Asia/Tokyo$"))
            page.get_by_role("button", name="show times in UTC").click()
            expect(time).to_have_text(re.compile(" UTC$"))
            expect(time).to_have_attribute("title", re.compile(" UTC$"))

    def test_a_time_of_yesterday_has_its_date(self):
        with Watched(self.stage, timezone_id="Europe/Berlin") as page:
            page.goto(self.stage.address + "/buckets/empty/jobs")
            shown = page.evaluate(
                """() => import("/assets/times.js").then(({ clock, syncClock }) => {
                syncClock("2026-11-22T23:10:00Z");
                return ["22:59:59", "23:00:00"].map((time) => clock(new Date(`2026-11-22T${time}Z`))); })"""
            )
            shown = [text.replace("\u202f", " ") for text in shown]
            self.assertEqual(shown, ["Nov 22, 2026, 11:59:59 PM", "12:00:00 AM"])

    def test_a_wrong_clock_of_the_browser_changes_no_time_ago(self):
        for ahead_ms in (-600_000, 600_000):
            with Watched(self.stage, timezone_id="Asia/Tokyo") as page:
                page.add_init_script(
                    f"""const Right = Date; globalThis.Date = class extends Right {{
                    constructor(...at) {{ super(...(at.length ? at : [Date.now()])); }}
                    static now() {{ return Right.now() + {ahead_ms}; }} }};"""
                )
                page.goto(f"{self.stage.address}/buckets/broken/dead/{self.letter}")
                died = page.locator(".note time")
                # Then the script has shown it.
                expect(died).to_have_attribute("title", re.compile(" Asia/Tokyo$"))
                expect(died).to_have_text(re.compile(r"^(now|\d+ s ago|[1-8] min ago)$"))

    def test_one_cursor_reads_all_strips(self):
        # The slot of 15 minutes in which the job is counted stays the newest one.
        self.stage.until(lambda: time.time() % 900 < 860, "a new slot begins")
        self.stage.submit("demo")
        address = "/buckets/demo/history?window=24h"
        slots = lambda: json.loads(self.stage.call("GET", "/v1" + address)[1])["slots"]
        self.stage.until(lambda: any(slot["accepted"] for slot in slots()[-1:]), "the job isn't in the history")
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/demo?window=24h")
            readouts = page.locator(".strip .readout")
            page.get_by_label("Moment that is shown").focus()
            page.keyboard.press("Home")
            expect(readouts.filter(has_text="no activity")).to_have_count(7)
            slider = page.get_by_label("Moment that is shown")
            expect(slider).to_have_attribute("aria-valuetext", re.compile(r"\d.*: no activity$"))
            page.keyboard.press("End")
            # As the strip, and the count of the slot.
            expect(readouts.nth(1)).to_contain_text(re.compile(r"accepted [\d.]+/s \([\d,]+\), refused"))
            expect(slider).to_have_attribute("aria-valuetext", re.compile(r"\d.*: .*accepted \d"))
            expect(page.locator('.strip .cursor[d^="M"]')).to_have_count(7)
            page.locator(".strip svg").nth(3).hover(position={"x": 2, "y": 2})
            expect(readouts.filter(has_text="no activity")).to_have_count(7)
            page.locator("h1").hover()
            expect(page.locator('.strip .cursor[d^="M"]')).to_have_count(0)


class OtherPages(unittest.TestCase):
    """Those that an installation with buckets, services and no keys doesn't have."""

    def test_every_other_page_is_accessible_in_light_and_dark_and_fits(self):
        buckets = "".join(f'[buckets.b{n:02}]\nupstream = "{{echo}}"\n' for n in range(30))
        keys = section_of_key("reader", '["read"]') + section_of_key("sender", '["submit"]')
        with Stage(keys, buckets=buckets) as many, Stage(buckets="") as none:
            none.call("PUT", "/v1/services/shop/rules", RULES, JSON)
            pages = [
                (many, None, "/sign-in", "Sign in"),
                (many, "sender", "/", "Forbidden"),
                (many, "reader", "/", "Buckets"),
                (many, "reader", "/?q=nothing", "Buckets"),
                (many, "reader", "/buckets/b00", "b00"),
                (many, "reader", "/services", "Services"),
                (none, None, "/", "Buckets"),
                (none, None, "/redis", "Redis"),
            ]
            wrong = []
            for scheme in ("light", "dark"):
                for stage, key, path, heading in pages:
                    with Watched(stage, color_scheme=scheme, reduced_motion="reduce") as page:
                        page.goto(stage.address + path)
                        if key:
                            page.get_by_label("Key", exact=True).fill(key)
                            page.get_by_role("button", name="Sign in").click()
                        expect(page.locator("h1")).to_contain_text(heading)
                        wrong += accessible(page, f"{path} of {key} {scheme}")
            self.assertEqual(wrong, [])

    def test_what_is_opened_on_a_page_is_accessible(self):
        with Stage() as stage:
            letter = stage.submit("broken", 1, {"order": [17]})[0]
            stage.until_state("broken", lambda state: state["dead"] == 1)
            wrong = []
            for path in ("/buckets/demo", "/buckets/broken/dead", f"/buckets/broken/dead/{letter}"):
                with Watched(stage, reduced_motion="reduce") as page:
                    page.goto(stage.address + path)
                    page.evaluate("for (const more of document.querySelectorAll('details')) more.open = true")
                    wrong += accessible(page, f"{path}, opened")
                    page.locator("h1").click()
                    page.keyboard.press("?")
                    expect(page.get_by_role("dialog")).to_be_visible()
                    wrong += accessible(page, f"{path}, keys")
            self.assertEqual(wrong, [])

    def test_an_empty_place_has_a_picture_and_a_command_that_works(self):
        key = section_of_key("all", '["read", "submit", "operate", "inspect"]')
        with Stage(key) as stage, Watched(stage) as page:
            page.goto(stage.address)
            page.get_by_label("Key", exact=True).fill("all")
            page.get_by_role("button", name="Sign in").click()
            for path in ("/audit", "/services", "/buckets/demo/dead", "/buckets/demo/jobs"):
                page.goto(stage.address + path)
                expect(page.locator('.state [data-picture="empty"]')).to_be_visible()
                command = page.locator(".state [data-copy]").get_attribute("data-copy")
                environment = {**os.environ, "KEY": "all"}
                subprocess.run(
                    ["bash", "-c", command.replace("curl", "curl -sSf -o /dev/null", 1)], env=environment, check=True
                )

    def test_thirty_buckets_are_a_table_and_fewer_are_drawn(self):
        for number, drawn in ((29, 29), (30, 0)):
            buckets = "".join(f'[buckets.b{n:02}]\nupstream = "{{echo}}"\n' for n in range(number))
            with Stage(buckets=buckets) as stage, Watched(stage) as page:
                page.goto(stage.address)
                live(page)
                expect(page.locator(".drawing")).to_have_count(drawn)
                expect(page.locator("tbody tr")).to_have_count(number - drawn)
                stage.submit("b07", 3, delay="10m")
                level = page.locator("#bucket-b07").locator(".level strong" if drawn else "td.number")
                expect(level.first).to_have_text("3")


class ManyBuckets(unittest.TestCase):
    def test_the_table_is_live_and_is_searched_and_sorted(self):
        buckets = "".join(f'[buckets.b{n:03}]\nupstream = "{{echo}}"\n' for n in range(60))
        with Stage(buckets=buckets) as stage, Watched(stage) as page:
            page.goto(stage.address)
            live(page)
            rows = page.locator("tbody tr")
            expect(rows).to_have_count(40)
            stage.submit("b007", 3, delay="10m")
            expect(page.locator("#bucket-b007 td.number").first).to_have_text("3")
            # A frame doesn't change the sparkline.
            expect(page.locator("#bucket-b007 spark-line svg")).to_be_attached()
            page.locator("thead").get_by_role("link", name="level").click()
            live(page)
            expect(rows.first).to_have_id("bucket-b007")
            page.keyboard.press("/")
            page.keyboard.type("b05")
            page.keyboard.press("Enter")
            expect(rows).to_have_count(10)
            page.get_by_label("Name").fill("")
            page.keyboard.press("Enter")
            page.get_by_role("link", name="Next").click()
            expect(rows).to_have_count(20)


class Actions(unittest.TestCase):
    def setUp(self):
        self.stage = self.enterContext(Stage())

    def test_a_bucket_is_paused_changed_and_purged(self):
        self.stage.submit("orders", 5, delay="10m")
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/orders")
            live(page)
            page.keyboard.press("p")
            expect(page.get_by_role("button", name="Resume")).to_be_visible()
            expect(page.locator("#overview .badge")).to_contain_text("paused")
            page.keyboard.press("p")
            expect(page.get_by_role("button", name="Pause")).to_be_visible()
            page.get_by_label("capacity Maximum number").fill("3")
            page.get_by_role("button", name="Preview").click()
            expect(page.get_by_text("The level is 5")).to_be_visible()
            page.get_by_role("button", name="Apply").click()
            expect(page.locator("#overview")).to_contain_text("5 of 3")
            page.locator("summary", has_text="Purge").click()
            page.get_by_label("Type orders to confirm").fill("orders")
            page.get_by_role("button", name="Purge").click()
            expect(page.get_by_role("status").filter(has_text="Cancelled 5 jobs")).to_be_visible()

    def test_a_preview_is_reloaded_and_gone_back_to(self):
        with Stage() as stage, Watched(stage) as page:
            page.goto(stage.address + "/buckets/demo")
            page.get_by_label("leak.rate").fill("7/s")
            page.get_by_role("button", name="Preview").click()
            new = page.locator("tbody strong")
            expect(new).to_have_text("7/s")
            expect(page).to_have_url(re.compile(r"/change\?leak\.rate=7%2Fs&shown%3Aleak\.rate=%225%2Fs%22$"))
            page.reload()
            expect(new).to_have_text("7/s")
            page.get_by_role("link", name="Cancel").click()
            expect(page).to_have_url(stage.address + "/buckets/demo")
            page.go_back()
            expect(new).to_have_text("7/s")
            page.get_by_role("button", name="Apply").click()
            expect(page.locator(".done")).to_contain_text("Changed")

    def test_a_preview_refuses_what_a_change_would(self):
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/orders")
            live(page)
            page.get_by_label("capacity Maximum number").fill("many")
            page.get_by_role("button", name="Preview").click()
            expect(page.get_by_role("alert")).to_contain_text("capacity")
            expect(page.get_by_role("button", name="Apply")).to_have_count(0)
            capacity = page.get_by_label("capacity Maximum number")
            expect(capacity).to_have_value("many")
            page.goto(self.stage.address + "/buckets/orders/change?leak.rate=fast")
            expect(page.get_by_role("alert").locator("code")).to_have_text("fast")
            page.go_back()
            capacity.fill("7")
            page.get_by_role("button", name="Preview").click()
            page.get_by_role("button", name="Apply").click()
            expect(page.locator("#overview")).to_contain_text("0 of 7")

    def test_a_change_by_somebody_else_is_seen_before_it_is_replaced(self):
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/orders")
            live(page)
            capacity = page.get_by_label("capacity Maximum number")
            capacity.fill("3")
            self.stage.call("PATCH", "/v1/buckets/orders", {"capacity": 9})
            expect(page.locator("#settings-note")).to_contain_text("Settings were changed")
            expect(capacity).to_have_value("3")
            page.get_by_role("button", name="Preview").click()
            expect(page.get_by_role("alert")).to_contain_text("Changed meanwhile: capacity")
            expect(page.locator("tbody")).to_contain_text("9")
            page.get_by_role("button", name="Apply").click()
            expect(page.locator("#overview")).to_contain_text("0 of 3")
            expect(page.locator("#settings-note")).to_be_empty()

    def test_dead_letters_are_shown_replayed_and_deleted(self):
        self.stage.submit("broken", 3)
        self.stage.until_state("broken", lambda state: state["dead"] == 3)
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/broken/dead")
            page.locator("tbody a").first.click()
            page.get_by_role("button", name="Replay").click()
            expect(page.get_by_text("Replayed 1")).to_be_visible()
            self.stage.until_state("broken", lambda state: state["dead"] == 3)
            page.goto(self.stage.address + "/buckets/broken/dead")
            expect(page.locator("ul.groups .count")).to_contain_text("3, the last")
            with page.expect_download() as download:
                page.get_by_text("Export as NDJSON").click()
            self.assertEqual(len(Path(download.value.path()).read_text().splitlines()), 3)
            page.locator("summary", has_text="Delete these").click()
            page.get_by_label("Type delete to confirm").fill("delete")
            page.get_by_role("button", name="Delete these").click()
            expect(page.get_by_text("Deleted 3")).to_be_visible()
            self.assertEqual(self.stage.state("broken")["dead"], 0)

    def test_a_refused_action_stays_where_it_was_typed(self):
        letters = self.stage.submit("broken", 3)
        self.stage.until_state("broken", lambda state: state["dead"] == 3)
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/broken/dead")
            live(page)
            rate = page.get_by_label("rate, such as 10/s")
            rate.fill("fast")
            page.get_by_role("button", name="Replay all").click()
            refusal = page.locator("form > .refusal")
            expect(refusal).to_contain_text("fast is not a rate")
            expect(rate).to_have_value("fast")
            # What others do is drawn around it.
            rate.fill("")
            page.locator("h1").click()
            self.stage.submit("broken", 1)
            expect(page.get_by_role("region", name="Dead letters").locator("tbody tr")).to_have_count(4)
            expect(refusal).to_be_visible()
            page.goto(f"{self.stage.address}/buckets/broken/dead/{letters[0]}")
            page.locator("summary", has_text="Edit and replay").click()
            page.get_by_label("Payload").fill('{"order": 18,}')
            page.get_by_role("button", name="Replay with this payload").click()
            expect(page.get_by_role("alert")).to_contain_text("isn't JSON")
            expect(page.get_by_label("Payload")).to_have_value('{"order": 18,}')
            # Somebody else was faster.
            self.stage.call("DELETE", f"/v1/buckets/broken/dead/{letters[0]}")
            page.get_by_role("button", name="Replay", exact=True).click()
            expect(page.get_by_role("alert").first).to_contain_text("no dead letter with this id")
            page.locator("summary", has_text="Delete").click()
            page.get_by_label("Type delete to confirm").fill("delete")
            page.get_by_role("button", name="Delete", exact=True).click()
            expect(page.locator("form.panel > .refusal").last).to_contain_text("no dead letter with this id")

    def test_a_colleague_turns_no_button_round_under_the_pointer(self):
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/orders")
            live(page)
            pause, resume = (page.get_by_role("button", name=name, exact=True) for name in ("Pause", "Resume"))
            pause.hover()
            self.stage.call("POST", "/v1/buckets/orders/pause")
            expect(page.locator("#overview .badge")).to_contain_text("paused")
            expect(pause).to_be_visible()
            page.mouse.move(0, 0)
            expect(resume).to_be_visible()
            # What one does oneself is seen at once.
            resume.click()
            expect(pause).to_be_visible()
            self.assertFalse(self.stage.state("orders")["paused"])

    def test_a_job_that_is_submitted_again_has_the_same_bytes_and_headers(self):
        self.stage.call("POST", "/v1/buckets/orders/pause")
        payload = lambda job: json.loads(
            self.stage.call("GET", f"/v1/buckets/orders/jobs/{job}?payload=true")[1]
        )["payload"]
        headers = {"content-type": "text/plain; charset=utf-8", "Dripfeed-Forward-X-Empty": ""}
        with Watched(self.stage) as page:
            for body in ("--B\r\n\r\n1\r\n--B--\r\n", "a\rb\nc", "\0it's", "$HOME\n`ls`\n"):
                answer = self.stage.call("POST", "/v1/buckets/orders/jobs", body.encode(), headers)[1]
                job = json.loads(answer)["id"]
                page.goto(f"{self.stage.address}/buckets/orders/jobs/{job}")
                command = page.locator("[data-copy]").get_attribute("data-copy")
                answer = subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout
                self.assertEqual(payload(json.loads(answer)["id"]), payload(job))
                self.assertEqual(payload(job)["body"], body)

    def test_only_a_text_that_a_form_returns_is_edited(self):
        bodies = ("a\nb\n", "\r\na\r\n", "\na", "a\rb", "a\nb\r\n", "a\0b")
        send = lambda body: self.stage.call(
            "POST", "/v1/buckets/broken/jobs", body.encode(), {"content-type": "text/plain"}
        )[1]
        letters = [json.loads(send(body))["id"] for body in bodies]
        self.stage.until_state("broken", lambda state: state["dead"] == len(bodies))
        self.stage.call("POST", "/v1/buckets/broken/pause")
        with Watched(self.stage) as page:
            for letter, body in zip(letters, bodies):
                page.goto(f"{self.stage.address}/buckets/broken/dead/{letter}")
                edit = page.locator("summary", has_text="Edit and replay")
                if body in bodies[3:]:
                    expect(edit).to_have_count(0)
                    continue
                edit.click()
                page.get_by_role("button", name="Replay with this payload").click()
                page.wait_for_url("**/jobs/**")
                job = page.url.split("/")[-1].split("?")[0]
                answer = self.stage.call("GET", f"/v1/buckets/broken/jobs/{job}?payload=true")[1]
                self.assertEqual(json.loads(answer)["payload"]["body"], body)

    def test_a_dead_letter_is_edited_and_replayed(self):
        letter = self.stage.submit("broken", 1, {"order": 17})[0]
        self.stage.until_state("broken", lambda state: state["dead"] == 1)
        self.stage.call("POST", "/v1/buckets/broken/pause")
        with Watched(self.stage) as page:
            page.goto(f"{self.stage.address}/buckets/broken/dead/{letter}")
            page.locator("summary", has_text="Edit and replay").click()
            expect(page.get_by_label("Payload")).to_have_value('{"order": 17}')
            page.get_by_label("Payload").fill('{"order":\n18}')
            page.get_by_role("button", name="Replay with this payload").click()
            expect(page.get_by_text("Replayed 1")).to_be_visible()
            expect(page.locator("dl.numbers")).to_contain_text(letter)
            self.stage.call("POST", "/v1/buckets/broken/resume")
            self.stage.until_state("broken", lambda state: state["dead"] == 1)
            page.goto(self.stage.address + "/buckets/broken/dead")
            page.locator("tbody a").first.click()
            expect(page.locator("pre.payload").first).to_contain_text('"order": 18')

    def test_a_replay_shows_its_progress_and_is_stopped(self):
        self.stage.submit("broken", 3)
        self.stage.until_state("broken", lambda state: state["dead"] == 3)
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/broken/dead")
            page.get_by_label("rate, such as 10/s").fill("1/h")
            page.get_by_role("button", name="Replay all").click()
            live(page)
            expect(page.locator("#replays")).to_contain_text("1 of 3")
            page.reload()
            expect(page.locator("#replays")).to_contain_text("1 of 3")
            page.get_by_role("button", name="Stop").click()
            expect(page.get_by_text("The replay has stopped")).to_be_visible()
            expect(page.locator("#replays")).to_contain_text("cancelled")

    def test_a_job_is_found_and_cancelled(self):
        job = self.stage.submit("demo", 1, delay="10m")[0]
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/demo/jobs")
            page.keyboard.press("/")
            page.keyboard.type(job)
            page.keyboard.press("Enter")
            page.get_by_role("button", name="Cancel the job").click()
            expect(page.locator(".timeline")).to_contain_text("cancelled")

    def test_a_schedule_is_paused_resumed_and_run(self):
        definition = {"cron": "0 3 * * *", "zone": "Europe/Berlin", "job": {"body": {"order": 17}}}
        self.stage.call("PUT", "/v1/buckets/orders/schedules/nightly", definition, JSON)
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/orders")
            schedules = page.get_by_role("region", name="Schedules")
            expect(schedules).to_contain_text("0 3 * * * Europe/Berlin")
            schedules.get_by_role("button", name="Pause").click()
            expect(page.get_by_role("status").filter(has_text="Paused the schedule")).to_be_visible()
            expect(schedules).to_contain_text("paused")
            schedules.get_by_role("button", name="Resume").click()
            expect(page.get_by_role("status").filter(has_text="Resumed the schedule")).to_be_visible()
            schedules.get_by_role("button", name="Run now").click()
            expect(page.get_by_role("status").filter(has_text="Submitted the job")).to_be_visible()
            expect(page.locator(".timeline")).to_contain_text("accepted")

    def test_dead_letters_are_found_by_id_caller_and_reason(self):
        letter = self.stage.submit("broken", 2)[0]
        self.stage.until_state("broken", lambda state: state["dead"] == 2)
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/broken/dead")
            page.get_by_label("Reason with").fill("404")
            page.get_by_role("button", name="Find").click()
            expect(page.get_by_role("region", name="Dead letters").locator("tbody tr")).to_have_count(2)
            expect(page.get_by_label("Reason with")).to_have_value("404")
            page.get_by_label("Caller").fill("nobody")
            page.keyboard.press("Enter")
            expect(page.get_by_text("No dead letter matches.")).to_be_visible()
            page.keyboard.press("Escape")
            page.locator("h1").click()
            page.keyboard.press("/")
            page.keyboard.type(letter)
            page.keyboard.press("Enter")
            expect(page.locator("h1")).to_contain_text(letter)
            page.get_by_role("link", name="in its timeline").click()
            expect(page.locator(".timeline")).to_contain_text("dead")

    def test_a_job_is_found_by_its_idempotency_key(self):
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/demo/jobs")
            page.get_by_label("Idempotency key").fill("nothing has this")
            page.get_by_role("button", name="Find").click()
            expect(page.get_by_text("No job has this idempotency key.")).to_be_visible()

    def test_the_payload_of_a_waiting_job_is_shown_in_three_ways(self):
        job = self.stage.submit("demo", 1, {"order": 17}, delay="10m")[0]
        with Watched(self.stage) as page:
            page.goto(f"{self.stage.address}/buckets/demo/jobs/{job}")
            expect(page.locator("pre.payload").first).to_contain_text('"order": 17')
            page.locator("summary", has_text="As a tree").click()
            expect(page.locator("details[open]").first).to_contain_text("order")
            page.locator("summary", has_text="As bytes").click()
            expect(page.get_by_text("00000000  7b 22")).to_be_visible()
            expect(page.locator(".command")).to_contain_text("--data-raw '{\"order\": 17}'")

    def test_jobs_that_match_are_cancelled(self):
        self.stage.submit("orders", 5, delay="10m")
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/orders/jobs")
            page.get_by_label("Older than").fill("1h")
            page.get_by_role("button", name="Find").click()
            expect(page.get_by_text("No job matches: older than 1h.")).to_be_visible()
            page.get_by_label("Older than").fill("0s")
            page.keyboard.press("Enter")
            expect(page.locator("tbody tr")).to_have_count(5)
            page.locator("summary", has_text="Cancel all that match").click()
            expect(page.locator("form.panel")).to_contain_text("older than 0s")
            page.get_by_label("Type orders to confirm").fill("orders")
            page.get_by_role("button", name="Cancel all that match").click()
            note = page.get_by_role("status").filter(has_text="Cancelled 5 jobs: older than 0s")
            expect(note).to_be_visible()
            self.assertEqual(self.stage.state("orders")["level"], 0)

    def test_a_request_is_tried_against_rules(self):
        self.stage.call("PUT", "/v1/services/shop/rules", RULES, JSON)
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/services")
            # A machine so busy that Redis doesn't answer in time decides nothing: then with the next caller.
            for caller in ("alice", "bob", "carol", "dave", "erin"):
                page.get_by_label("caller").fill(caller)
                verdicts = [self.verdict(page) for _ in range(2)]
                expect(page.get_by_label("caller")).to_have_value(caller)
                if None not in verdicts:
                    break
            self.assertEqual(verdicts, ["Allowed", "Refused"])
            page.get_by_label("cost").fill("lots")
            page.get_by_role("button", name="Try a request").click()
            expect(page.get_by_role("alert")).to_contain_text("give a whole number")
            expect(page.get_by_label("cost")).to_have_value("lots")

    def verdict(self, page):
        """Of the request that the form describes; None: there was no decision."""
        with page.expect_navigation():
            page.get_by_role("button", name="Try a request").click()
        expect(page.locator(".note, [role=alert]").first).to_be_visible()
        found = re.search("Allowed|Refused", " ".join(page.locator(".note").all_inner_texts()))
        return found and found.group()

    def test_decisions_of_a_service_are_followed(self):
        self.stage.call("PUT", "/v1/services/shop/rules", RULES, JSON)
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/services")
            live(page)
            for _ in range(3):
                self.stage.call("POST", "/v1/services/shop/check", b'{"caller": "bob"}', JSON)
            decided = re.compile("up to [1-9][0-9]* allowed and [1-9][0-9]* refused a minute")
            expect(page.locator("#decisions-shop")).to_contain_text(decided)
            self.stage.call("PUT", "/v1/services/other/rules", RULES, JSON)
            expect(page.locator("#service-other")).to_be_visible()
            self.stage.call("DELETE", "/v1/services/other/rules")
            expect(page.locator("#service-other")).to_have_count(0)

    def test_what_became_of_an_action_is_said_however_its_form_was_left(self):
        letter = self.stage.submit("broken", 1)[0]
        self.stage.until_state("broken", lambda state: state["dead"] > 0)
        with Watched(self.stage) as page:
            page.goto(f"{self.stage.address}/buckets/broken/dead/{letter}")
            waiting = []
            page.route("**/delete", lambda route: waiting.append(route))
            page.locator("summary", has_text="Delete").click()
            page.get_by_label("Type delete to confirm").fill("delete")
            with page.expect_request("**/delete"):
                page.get_by_role("button", name="Delete", exact=True).click()
            page.keyboard.press("Escape")
            page.locator("summary", has_text="Delete").click()
            expect(page.get_by_label("Type delete to confirm")).not_to_be_visible()
            waiting.pop().abort()
            expect(page.locator("form.panel > .refusal")).to_contain_text("didn't answer")
            expect(page.locator("form.panel > .refusal")).to_be_visible()
            # A frame has taken the form away meanwhile.
            with page.expect_request("**/delete"):
                page.get_by_role("button", name="Delete", exact=True).click()
            page.locator("details.confirm", has_text="Delete").evaluate("confirm => confirm.remove()")
            waiting.pop().abort()
            expect(page.locator("main > .refusal")).to_contain_text("didn't answer")

            # The browser's own way to the next page.
            self.stage.call("PUT", "/v1/services/shop/rules", RULES, JSON)
            page.goto(self.stage.address + "/services")
            page.route("**/try", lambda route: waiting.append(route))
            try_it = page.get_by_role("button", name="Try a request")
            for _ in range(2):
                with page.expect_request("**/try"):
                    try_it.click(no_wait_after=True)
                page.keyboard.press("Escape")
                waiting.pop().abort("aborted")
                expect(page.locator("form.try > .refusal")).to_contain_text("wasn't awaited. Check on this page")

    def test_several_clicks_send_one_form(self):
        self.stage.call("PUT", "/v1/services/shop/rules", RULES, JSON)
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/services")
            prevented = page.evaluate(
                """() => { const prevented = [];
                addEventListener("submit", (event) => prevented.push(event.defaultPrevented));
                for (let n = 0; n < 3; n++) document.querySelector("form.try button").click();
                return prevented; }"""
            )
            self.assertEqual(prevented, [False, True, True])

    def test_a_newcomer_fills_overflows_and_slows_a_bucket(self):
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/orders")
            live(page)
            page.get_by_role("button", name="throttling").click()
            page.get_by_role("button", name="Overflow it").click()
            expect(page.locator("#attention")).to_contain_text("full, and refuses jobs")
            expect(page).to_have_title(re.compile(r"^\(1\) orders"))
            expect(page.locator("#overview .badge")).to_contain_text("throttled")
            page.get_by_role("button", name="normal").click()
            # Its rate was cut meanwhile, and grows back.
            expect(page.locator("#overview .badge")).to_contain_text(re.compile("leaking|slowed"))

    def test_the_keyboard_is_enough(self):
        with Watched(self.stage) as page:
            page.goto(self.stage.address)
            page.keyboard.press("?")
            expect(page.get_by_role("dialog")).to_be_visible()
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_be_hidden()
            page.keyboard.press("/")
            page.keyboard.type("order")
            expect(page.locator(".cards > .card:visible")).to_have_count(1)
            page.keyboard.press("Escape")
            page.goto(self.stage.address + "/buckets/orders")
            live(page)
            page.get_by_label("Moment that is shown").focus()
            expect(page.locator('.strip .cursor[d^="M"]')).to_have_count(7)
            page.keyboard.press("p")
            expect(page.get_by_role("button", name="Resume")).to_be_visible()
            page.goto(self.stage.address + "/redis")
            page.keyboard.press("g")
            page.wait_for_url(self.stage.address + "/")

    def test_a_page_without_a_search_leads_to_the_next_that_has_one(self):
        with Watched(self.stage) as page:
            for path, field in (("/redis", "Search"), ("/audit", "Search"), ("/buckets/orders", "Job id")):
                page.goto(self.stage.address + path)
                page.keyboard.press("/")
                expect(page.get_by_label(field)).to_be_focused()

    def test_each_action_of_a_bucket_is_done_by_keyboard(self):
        """By Tab, Enter and typing alone, from the top of the page."""
        self.stage.submit("orders", 5, delay="10m")
        with Watched(self.stage) as page:
            page.goto(self.stage.address + "/buckets/orders")
            live(page)
            page.keyboard.press("Tab")
            expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
            page.keyboard.press("Enter")
            self.tab_to(page, "Pause")
            page.keyboard.press("Enter")
            expect(page.get_by_role("button", name="Resume")).to_be_focused()
            page.keyboard.press("Enter")
            expect(page.get_by_role("button", name="Pause")).to_be_focused()
            self.tab_to(page, "capacity Maximum number")
            page.keyboard.type("9")
            page.keyboard.press("Enter")
            page.wait_for_url("**/change?**")
            self.tab_to(page, "Apply")
            page.keyboard.press("Enter")
            expect(page.locator("#overview")).to_contain_text("5 of 9")
            self.tab_to(page, "Purge…")
            page.keyboard.press("Enter")
            self.tab_to(page, "Type orders to confirm")
            page.keyboard.type("orders")
            page.keyboard.press("Enter")
            expect(page.get_by_role("status").filter(has_text="Cancelled 5 jobs")).to_be_visible()

    def tab_to(self, page, name):
        """Moves the focus to what a screen reader calls so."""
        for _ in range(100):
            page.keyboard.press("Tab")
            focused = page.evaluate(
                """() => { const { labels, textContent } = document.activeElement;
                return (labels?.[0] ?? document.activeElement).textContent.replace(/\\s+/g, " ").trim(); }"""
            )
            if focused.startswith(name):
                return
        self.fail(f"{name} isn't reached by Tab")


class Live(unittest.TestCase):
    def test_a_killed_processor_and_a_lost_intake_are_seen(self):
        with Stage(extra=("--set", "processor.lease=3s")) as stage, Watched(stage) as page:
            page.goto(stage.address + "/buckets/orders")
            live(page)
            stage.submit("orders", 10)
            replica = page.locator("#replicas tbody th")
            expect(replica).to_have_count(1)
            before = replica.text_content()
            os.kill(stage.processors_now()[-1], signal.SIGKILL)
            expect(replica.filter(has_not_text=before)).to_have_count(1)
            stage.kill()
            expect(page.locator("#live")).to_have_attribute("data-state", "gone")

    def test_what_happens_is_on_the_page_with_the_second_frame_after_it(self):
        with Stage() as stage, Watched(stage) as page, ExitStack() as started:
            page.goto(stage.address + "/buckets/demo")
            live(page)
            patch = lambda body: stage.call("PATCH", "/v1/buckets/demo", body)
            replicas = lambda number: lambda: stage.until_state("demo", lambda state: len(state["replicas"]) == number)
            others = []
            steps = [
                ("a change", lambda: patch({"capacity": 77}), "#overview .tiles", "of 77,"),
                ("a pause", lambda: stage.call("POST", "/v1/buckets/demo/pause"), "#overview .badge", "paused"),
                ("a resumption", lambda: stage.call("POST", "/v1/buckets/demo/resume"), "#overview", "Pause"),
                ("a change back", lambda: patch({"capacity": None}), "#overview .tiles", "of 100,"),
            ]
            for what, happen, selector, text in steps:
                self.is_seen(page, happen, f"document.querySelector('{selector}').textContent.includes('{text}')", what)

            shown = lambda number: f"document.querySelectorAll('#replicas tbody tr').length === {number}"
            others += [started.enter_context(stage.another_processor()) for _ in range(4)]
            self.is_seen(page, replicas(5), shown(5), "5 processors")
            for processor in others:
                processor.send_signal(signal.SIGTERM)
            self.is_seen(page, replicas(1), shown(1), "1 processor")

    def is_seen(self, page, happen, holds, what):
        """Frames are counted where they come, not the time that they take."""
        page.evaluate(
            f"""() => {{ const watch = {{ frames: 0, first: 0 }}; window.watch = watch;
            document.addEventListener("frame", () => {{ watch.frames += 1;
            if (!watch.first && {holds}) watch.first = watch.frames; }}); }}"""
        )
        happen()
        before = page.evaluate("window.watch.frames")
        first = page.evaluate(
            """(most) => new Promise((seen) => { const look = () => {
            if (watch.first || watch.frames >= most) seen(watch.first);
            else document.addEventListener("frame", look, { once: true }); }; look(); })""",
            before + 10,
        )
        self.assertTrue(0 < first <= before + 2, f"{what}: frame {first}, {before} before it")

    def test_a_tab_in_the_background_opens_no_stream(self):
        with Stage() as stage, Watched(stage) as page:
            streams = []
            page.on("request", lambda request: streams.append(request.url) if "/live/" in request.url else None)
            page.add_init_script("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
            page.goto(stage.address)
            expect(page.locator("#live")).to_have_attribute("data-state", "hidden")
            self.assertEqual(streams, [])
            hide(page, False)
            live(page)

    def test_a_browser_that_stores_nothing_is_enough(self):
        with Stage() as stage, Watched(stage) as page:
            page.add_init_script(
                "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied'); } })"
            )
            page.goto(stage.address)
            live(page)
            page.get_by_role("button", name="show times in UTC").click()
            expect(page.get_by_role("button", name="show local times")).to_be_visible()

    def test_a_hidden_tab_asks_for_nothing(self):
        with Stage() as stage, Watched(stage) as page:
            page.goto(stage.address)
            live(page)
            hide(page, True)
            expect(page.locator("#live")).to_have_attribute("data-state", "hidden")
            hide(page, False)
            live(page)

    def test_a_refused_stream_and_an_action_without_an_answer_are_seen(self):
        with Stage(extra=("--set", "intake.max_event_streams=1")) as stage, Watched(stage) as page:
            page.goto(stage.address + "/buckets/demo")
            live(page)
            other = page.context.new_page()
            other.goto(stage.address + "/buckets/demo")
            expect(other.locator("#live")).to_have_attribute("data-state", "refused")
            expect(other.locator("#live")).to_contain_text("Too many event streams")
            other.close()
            page.route("**/pause", lambda route: route.abort())
            for _ in range(2):
                # The second one, too, before the route changes.
                with page.expect_event("requestfailed"):
                    page.keyboard.press("p")
                expect(page.get_by_role("alert")).to_contain_text("didn't answer")
            page.unroute("**/pause")
            # As a proxy before the intake does.
            proxy = "<body><center><h1>502 Bad Gateway</h1></center></body>"
            page.route("**/pause", lambda route: route.fulfill(status=502, content_type="text/html", body=proxy))
            page.keyboard.press("p")
            expect(page.get_by_role("alert")).to_contain_text("Status 502, without a reason. Check on this page")
            page.unroute("**/pause")
            page.keyboard.press("p")
            expect(page.get_by_role("button", name="Resume")).to_be_visible()
            expect(page.get_by_role("alert")).to_have_count(0)

    def test_a_job_is_followed_to_its_end(self):
        with Stage() as stage, Watched(stage) as page:
            stage.call("POST", "/v1/buckets/orders/pause")
            job = stage.submit("orders", 1, {"order": 17})[0]
            page.goto(f"{stage.address}/buckets/orders/jobs/{job}")
            live(page)
            timeline = page.locator(".timeline")
            expect(timeline).to_contain_text("waiting now")
            page.locator("summary", has_text="As bytes").click()
            stage.call("POST", "/v1/buckets/orders/resume")
            expect(timeline).to_contain_text("in flight at")
            # The payload stays, and what was opened in it.
            expect(page.get_by_text("00000000  7b 22")).to_be_visible()
            expect(timeline).to_contain_text("delivered")
            expect(page.get_by_role("heading", name="Upstream response")).to_be_visible()
            expect(page.get_by_role("button", name="Cancel the job")).to_have_count(0)

    def test_a_job_that_is_tried_again_and_dies_is_followed(self):
        refusing = """[buckets.refusing]
upstream = "{echo}?status=500"
retry = { attempts = 2, first = "2s" }
"""
        with Stage(buckets=refusing) as stage, Watched(stage) as page:
            job = stage.submit("refusing", 1)[0]
            page.goto(f"{stage.address}/buckets/refusing/jobs/{job}")
            live(page)
            timeline = page.locator(".timeline")
            expect(timeline).to_contain_text("attempt 1 failed")
            expect(timeline).to_contain_text("attempt 2 failed")
            page.get_by_role("link", name="Show the dead letter").click()
            expect(page.locator("h1")).to_contain_text("Dead letter")

    def test_lists_follow_their_bucket(self):
        with Stage(section_of_key("shop", '["read", "submit", "operate"]')) as stage, Watched(stage) as page:
            stage.key = "shop"
            page.goto(stage.address + "/buckets/demo/jobs")
            page.get_by_label("Key", exact=True).fill("shop")
            page.get_by_role("button", name="Sign in").click()
            live(page)
            stage.submit("demo", 3, delay="10m")
            expect(page.locator("tbody tr")).to_have_count(3)
            page.goto(stage.address + "/buckets/demo")
            live(page)
            card = page.locator("#callers")
            expect(card.locator("tbody tr").first).to_contain_text("shop")
            stage.submit("demo", 4, delay="10m")
            expect(card.locator("tbody tr").first.locator("td").first).to_have_text("7")
            # The way to what this caller has, which can be cancelled there.
            card.get_by_role("link", name="shop").click()
            page.wait_for_url(stage.address + "/buckets/demo/jobs?caller=shop")
            expect(page.locator("summary", has_text="Cancel all that match")).to_be_visible()
            page.goto(stage.address + "/buckets/broken/dead")
            live(page)
            stage.submit("broken", 2)
            expect(page.get_by_role("region", name="Dead letters").locator("tbody tr")).to_have_count(2)
            expect(page.locator("ul.groups .count")).to_contain_text("2, the last")

    def test_a_list_that_is_in_use_waits(self):
        with Stage() as stage, Watched(stage) as page:
            stage.submit("broken", 1)
            stage.until_state("broken", lambda state: state["dead"] == 1)
            page.goto(stage.address + "/buckets/broken/dead")
            live(page)
            rows = page.get_by_role("region", name="Dead letters").locator("tbody tr")
            expect(rows).to_have_count(1)
            page.locator("summary", has_text="Delete these").click()
            page.get_by_label("Type delete to confirm").fill("del")
            stage.submit("broken", 1)
            stage.until_state("broken", lambda state: state["dead"] == 2)
            self.frames(page, 3)
            expect(rows).to_have_count(1)
            expect(page.get_by_label("Type delete to confirm")).to_have_value("del")
            page.get_by_label("Type delete to confirm").fill("")
            page.locator("summary", has_text="Delete these").click()
            page.locator("h1").click()
            expect(rows).to_have_count(2)
            page.evaluate("getSelection().selectAllChildren(document.querySelector('#letters td'))")
            stage.submit("broken", 1)
            stage.until_state("broken", lambda state: state["dead"] == 3)
            self.frames(page, 3)
            expect(rows).to_have_count(2)
            page.evaluate("getSelection().removeAllRanges()")
            expect(rows).to_have_count(3)

    def frames(self, page, number):
        for _ in range(number):
            page.evaluate("new Promise((seen) => document.addEventListener('frame', seen, { once: true }))")

    def test_a_search_outlasts_frames(self):
        with Stage() as stage, Watched(stage) as page:
            page.goto(stage.address)
            live(page)
            page.keyboard.press("/")
            page.keyboard.type("demo")
            expect(page.locator(".cards > .card:visible")).to_have_count(1)
            stage.submit("orders", 3, delay="10m")
            expect(page.locator("#bucket-orders .level dd")).to_have_text("3 of 20")
            expect(page.locator(".cards > .card:visible")).to_have_count(1)


    def test_a_search_outlasts_a_new_bucket(self):
        define = '[define]\nupstreams = ["http://a.example"]\n'
        with Stage(define) as stage, Watched(stage) as page:
            page.goto(stage.address)
            live(page)
            page.keyboard.press("/")
            page.keyboard.type("dem")
            expect(page.locator(".cards > .card:visible")).to_have_count(1)
            stage.call("PUT", "/v1/buckets/demo-2", {"upstream": "http://a.example/"}, JSON)
            expect(page.locator(".cards > .card:visible")).to_have_count(2)
            page.keyboard.type("o-")
            expect(page.locator(".cards > .card:visible")).to_have_count(1)

    def test_lists_that_cannot_be_read_are_no_live_ones(self):
        with Stage() as stage, Watched(stage) as page:
            stage.submit("broken", 1)
            stage.until_state("broken", lambda state: state["dead"] == 1)
            for path in ("/buckets/broken/dead", "/buckets/broken/jobs", "/buckets/broken", "/"):
                page.goto(stage.address + path)
                live(page)
                with stage.without_redis():
                    expect(page.locator("#live")).to_have_attribute("data-state", "unread")
                    expect(page.locator("#live")).to_contain_text(re.compile("Redis can't be read.*: numbers of"))
                live(page)

    def test_what_is_said_of_a_lost_connection_fits_every_width(self):
        extra = ("--set", "intake.max_event_streams=1")
        with Stage(extra=extra) as stage, Watched(stage) as page, Watched(stage) as refused:
            page.goto(stage.address)
            live(page)
            refused.goto(stage.address)
            expect(refused.locator("#live")).to_have_attribute("data-state", "refused")
            with stage.without_redis():
                expect(page.locator("#live")).to_have_attribute("data-state", "unread")
                for tab, words in ((page, "numbers of"), (refused, "Too many event streams")):
                    expect(tab.locator("#live")).to_contain_text(words)
                    for width in WIDTHS:
                        tab.set_viewport_size({"width": width, "height": 800})
                        # What is beyond the left edge can't be scrolled to.
                        word = tab.locator("#live .word").bounding_box()
                        left, right = word["x"], word["x"] + word["width"]
                        self.assertTrue(0 <= left and right <= width, f"{words} at {width}: {left} to {right}")
                        self.assertLessEqual(tab.evaluate("document.documentElement.scrollWidth"), width)

    def test_an_upstream_that_is_down_is_a_problem_and_is_drawn(self):
        gone = f'[buckets.gone]\nupstream = "http://127.0.0.1:{free_port()}/"\nretry = {{ first = "1h", max = "1h" }}\n'
        with Stage(buckets=gone + '[buckets.b]\nupstream = "{echo}"\n') as stage, Watched(stage) as page:
            stage.submit("gone", 6)
            page.goto(stage.address)
            notice = page.locator("#attention li").first
            expect(notice).to_contain_text("all of the last 6 calls failed, without an answer")
            expect(page.locator("#bucket-gone .badge")).to_contain_text("failing")
            notice.get_by_role("link").click()
            page.wait_for_url(stage.address + "/buckets/gone/jobs?state=parked")
            page.locator("tbody a").first.click()
            expect(page.locator(".timeline")).to_contain_text("Connection refused")
            page.goto(stage.address + "/buckets/gone")
            expect(page.locator(".strip", has_text="Answers").locator("path.unanswered")).to_be_visible()

    def test_the_level_of_a_bucket_in_which_nothing_happens_is_drawn(self):
        with Stage() as stage, Watched(stage) as page:
            stage.call("POST", "/v1/buckets/orders/pause")
            stage.submit("orders", 13)
            # As one of which no history is kept.
            stage.redis("DEL", "dripfeed:{orders}:history")
            page.goto(stage.address + "/buckets/orders")
            level = page.locator(".strip").first
            expect(level.locator("svg")).to_have_attribute("aria-label", re.compile("waiting up to 13"))


class Keys(unittest.TestCase):
    def test_a_reader_signs_in_sees_no_action_and_signs_out(self):
        with Stage(section_of_key("reader", '["read"]')) as stage, Watched(stage) as page:
            page.goto(stage.address + "/buckets/demo")
            page.get_by_label("Key", exact=True).fill("wrong")
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("alert")).to_be_visible()
            page.get_by_label("Key", exact=True).fill("reader")
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(stage.address + "/buckets/demo")
            live(page)
            self.assertEqual(page.locator("main form").count(), 0)
            (cookie,) = page.context.cookies()
            self.assertEqual((cookie["httpOnly"], cookie["sameSite"]), (True, "Strict"))
            self.assertNotIn("reader", cookie["value"])
            page.get_by_role("button", name="Sign out").click()
            page.wait_for_url(stage.address + "/sign-in")
            self.assertEqual(page.context.cookies(), [])

    def test_the_longest_names_fit_a_phone(self):
        bucket, caller = "b" * 64, "k" * 64
        buckets = f'[buckets.{bucket}]\nupstream = "{{echo}}?status=404"\n'
        key = section_of_key(caller, '["submit", "read", "inspect", "operate"]')
        with Stage(key, buckets=buckets) as stage, Watched(stage, viewport={"width": 360, "height": 780}) as page:
            stage.key = caller
            (letter,) = stage.submit(bucket)
            stage.until_state(bucket, lambda state: state["dead"] == 1)
            page.goto(stage.address)
            page.get_by_label("Key", exact=True).fill(caller)
            page.get_by_role("button", name="Sign in").click()
            live(page)
            own = f"/buckets/{bucket}"
            paths = ["/", own, f"{own}/jobs", f"{own}/jobs/{letter}", f"{own}/dead", f"{own}/dead/{letter}"]
            wide = []
            for path in [*paths, f"{own}/change?capacity=7", "/services", f"/redis?bucket={bucket}", "/audit"]:
                page.goto(stage.address + path)
                page.evaluate("for (const more of document.querySelectorAll('details')) more.open = true")
                width = page.evaluate("document.documentElement.scrollWidth")
                wide += [f"{path}: {width}"] if width > 360 else []
            self.assertEqual(wide, [])

    def test_who_paused_a_bucket_is_shown(self):
        with Stage(section_of_key("ops", '["read", "operate"]')) as stage, Watched(stage) as page:
            page.goto(stage.address + "/buckets/demo")
            page.get_by_label("Key", exact=True).fill("ops")
            page.get_by_role("button", name="Sign in").click()
            live(page)
            page.keyboard.press("p")
            expect(page.locator("#overview")).to_contain_text("by key ops")
            other = page.context.new_page()
            other.goto(stage.address)
            expect(other.locator("#bucket-demo .why")).to_contain_text(re.compile(r"Paused .* by key ops\."))
            expect(page.locator("#audit tbody tr")).to_have_count(1)
            page.keyboard.press("p")
            expect(page.locator("#audit tbody tr")).to_have_count(2)
            expect(page.locator("#overview")).not_to_contain_text("by key ops")
            expect(other.locator("#bucket-demo .why")).not_to_contain_text("by key ops")
            stage.key = "ops"
            stage.call("POST", "/v1/buckets/orders/pause")
            expect(other.locator("#bucket-orders .why")).to_contain_text("by key ops")
            other.close()

    def signed_in(self, page, stage, path):
        page.goto(stage.address + path)
        page.get_by_label("Key", exact=True).fill("ops")
        page.get_by_role("button", name="Sign in").click()
        live(page)

    def test_who_is_signed_out_sees_it_and_signs_in_again(self):
        with Stage(section_of_key("ops", '["read", "operate"]')) as stage, Watched(stage) as page:
            self.signed_in(page, stage, "/buckets/demo")
            page.context.clear_cookies()
            # A stream that is open goes on.
            with page.expect_response("**/history*") as history:
                pass
            self.assertEqual(history.value.status, 401)
            expect(page.locator("#history h2")).to_have_text("History")
            hide(page, True)
            hide(page, False)
            expect(page.locator("#live")).to_have_attribute("data-state", "signed-out")
            page.locator("#live").get_by_role("link", name="sign in").click()
            page.wait_for_url(stage.address + "/sign-in?next=%2Fbuckets%2Fdemo")
            self.signed_in(page, stage, "/buckets/demo")
            page.context.clear_cookies()
            page.keyboard.press("p")
            page.wait_for_url(stage.address + "/sign-in?next=%2Fbuckets%2Fdemo")
            stage.key = "ops"
            self.assertFalse(stage.state("demo")["paused"])

    def test_a_tab_sees_that_another_one_signed_out(self):
        with Stage(section_of_key("ops", '["read", "operate"]')) as stage, Watched(stage) as page:
            self.signed_in(page, stage, "/buckets/demo")
            other = page.context.new_page()
            other.goto(stage.address + "/buckets/demo/jobs")
            other.get_by_role("button", name="Sign out").click()
            other.wait_for_url(stage.address + "/sign-in")
            expect(page.locator("#live")).to_have_attribute("data-state", "signed-out", timeout=5_000)
            expect(page.locator("#live").get_by_role("link", name="sign in")).to_be_visible()

    def test_a_page_of_another_site_changes_nothing(self):
        with Stage() as stage, Watched(stage) as page:
            page.goto(stage.address)
            token = page.locator("[name=form_token]").first.get_attribute("value")
            # Another port is another origin, and the same site.
            evil = page.context.new_page()
            evil.goto(f"http://127.0.0.1:{stage.echo_port}/")
            evil.evaluate(
                """([action, token]) => { const form = document.createElement('form'); form.method = 'post';
                form.action = action; form.innerHTML = `<input name="form_token" value="${token}">`;
                document.body.append(form); form.submit(); }""",
                [stage.address + "/buckets/demo/pause", token],
            )
            # A tab that is closed while it loads may never end.
            expect(evil.get_by_role("alert")).to_contain_text("Nothing was changed")
            self.assertFalse(stage.state("demo")["paused"])
            evil.close()


if __name__ == "__main__":
    unittest.main()
